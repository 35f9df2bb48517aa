"""The page in a browser: what is typed, and what is then seen."""

import contextlib
import http.server
import json
import threading

import pytest

from hf_bpe import train
from hf_bpe.playground import Playground, _server
from support.samples import make_tokenizer

TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|endoftext|>{% endfor %}"
EMPTY = "1.q1YqSa0oUbJSUqoFAA"  # the link of a page without text
READY = "document.activeElement.id === 'text'"
SHOWN = (
    "[...document.querySelectorAll('.pane')].map((pane) => [...pane.querySelectorAll('bdi')].map((b) => b.innerText))"
)
TREE = "document.querySelector('#details .tree')"
TURNS = "document.querySelectorAll('.tokens .turn')"
TEXT = "document.querySelector('#text').value"
PROBLEM = "document.querySelector('#problem').innerText"
COUNTS = "[...document.querySelectorAll('.counts')].map((each) => each.innerText)"
SIGNS = str.maketrans({" ": "·", "\n": "↵"})


@pytest.fixture(scope="module")
def tokenizer():
    tokenizer = make_tokenizer()
    tokenizer.chat_template = TEMPLATE
    return tokenizer


@pytest.fixture(scope="module")
def playground(tokenizer):
    with Playground({"sample": tokenizer, "model": tokenizer.model}, in_frames=False) as playground:
        yield playground


@pytest.fixture
def page(chromium, playground):
    """Return the browser with an empty page, which must end without an error."""
    chromium.open("about:blank")
    chromium.events.clear()
    chromium.open(f"{playground.url}#{EMPTY}")
    chromium.wait_for(READY)
    yield chromium
    assert chromium.problems() == []


def tokens_of(tokenizer, text):
    """Return the tokens as they are shown, for text of printable characters."""
    return [tokenizer.decode([each]).translate(SIGNS) for each in tokenizer.encode(text, add_special_tokens=False)]


def wait_for_tokens(page, expected):
    page.wait_for(f"JSON.stringify({SHOWN}[0]) === JSON.stringify({json.dumps(expected)})")


def test_tokens_of_what_is_typed_are_seen(page, tokenizer):
    page.type("lowest\nnew")
    wait_for_tokens(page, tokens_of(tokenizer, "lowest\nnew"))
    page.press("Backspace")
    page.press("Backspace")
    text = "lowest\nn"
    wait_for_tokens(page, tokens_of(tokenizer, text))
    page.wait_for(f"JSON.stringify({SHOWN}[0]) === JSON.stringify({SHOWN}[1])")
    number = len(tokenizer.encode(text, add_special_tokens=False))
    shown = f"{number} tokens · {len(text)} bytes · {len(text) / number:.2f} bytes per token"
    assert page.evaluate(COUNTS) == [shown, shown]


def test_typing_replaces_the_sample(chromium, playground):
    chromium.open(playground.url)
    chromium.wait_for(f"{READY} && {SHOWN}[0].length > 9")
    chromium.type("low")
    chromium.wait_for(f"{SHOWN}[0].join() === 'low'")


def test_text_is_never_markup(page, tokenizer):
    text = "</textarea></script><img src=x onerror=document.title='broken'><b>low</b>"
    page.insert(text)
    wait_for_tokens(page, tokens_of(tokenizer, text))
    assert page.evaluate("document.querySelectorAll('.tokens img, .tokens b, body > img').length") == 0
    assert page.evaluate("document.title") == "sample, model · Playground"
    for number in range(3):  # details are made of text, too
        page.evaluate(f"document.querySelectorAll('.tokens bdi')[{number}].click()")
        page.wait_for(TREE)
    assert page.evaluate("document.querySelectorAll('#details img').length") == 0


def test_text_of_a_file_that_is_dropped_is_shown(page, tokenizer):
    page.click("input[value=chat] + span")
    drop = """(text) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], "low.txt"));
        document.dispatchEvent(new DragEvent("drop", {dataTransfer}));
    }"""
    page.evaluate(f"({drop})('lowest\\nlow')")
    wait_for_tokens(page, tokens_of(tokenizer, "lowest\nlow"))
    page.evaluate(f"({drop})('low '.repeat(2_500_000))")
    page.wait_for(f"{PROBLEM}.startsWith('This is 9.5 MiB')")
    assert page.evaluate(TEXT) == "lowest\nlow"


def test_a_note_on_all_tokenizers_is_shown_once(chromium):
    model = train(["low"], num_merges=1, normalizer="NFC")
    with Playground({"one": model, "two": model}, text="e\u0301", in_frames=False) as playground:
        chromium.open(playground.url)
        chromium.wait_for("document.querySelector('#note').innerText.startsWith('the tokens decode to another text')")


def test_hidden_characters_are_seen(page):
    page.evaluate(f"{TEXT} = 'a\\u202eb\\0c\\u200bd\\ud800e'")
    page.evaluate("document.querySelector('#text').dispatchEvent(new Event('input'))")
    page.wait_for(f"{SHOWN}[0].length > 9")
    shown = "".join(page.evaluate(SHOWN)[0])
    assert shown == "a<e2><80><ae>b<U+0000>c<e2><80><8b>d<ef><bf><bd>e"


def test_a_token_that_is_pointed_at_is_explained(page):
    page.insert("low lowest")
    page.wait_for(f"{SHOWN}[0].length > 1")
    page.hover(".tokens bdi:nth-of-type(2)")
    page.wait_for(TREE)
    details = page.evaluate("document.querySelector('#details').innerText")
    assert "·low" in details
    assert "20 6c 6f 77" in details
    assert "Ġlow" in details
    assert "merge" in details
    assert page.evaluate("document.querySelectorAll('#details li').length") >= 7  # of a tree with four bytes


def test_a_token_that_is_clicked_is_kept(page):
    page.insert("low lowest")
    page.wait_for(f"{SHOWN}[0].length > 1")
    title = "document.querySelector('#details .title')?.innerText"
    page.click(".tokens bdi:nth-of-type(2)")
    page.wait_for(f"{title} === '·low'")
    page.hover(".tokens bdi:nth-of-type(1)")
    page.hover(".pane:nth-of-type(2) .tokens bdi:nth-of-type(1)")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert page.evaluate(title) == "·low"
    page.press("Escape")
    page.hover(".tokens bdi:nth-of-type(1)")
    page.wait_for(f"{title} === 'low'")


def test_keys_move_through_the_tokens(page, tokenizer):
    page.insert("low lowest\nnewest low")
    wait_for_tokens(page, tokens_of(tokenizer, "low lowest\nnewest low"))
    active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    page.press("Tab")
    page.wait_for(f"{active}?.innerText === 'low'")
    page.press("ArrowRight")
    page.wait_for(f"{active}?.innerText === '·low'")
    assert page.evaluate(f"{active}.getAttribute('aria-posinset')") == "2"
    assert "id " in page.evaluate(f"{active}.getAttribute('aria-label')")
    page.press("ArrowDown")
    page.wait_for(f"{active}?.getBoundingClientRect().top > document.querySelector('.tokens br').offsetTop")
    page.press("End")
    page.wait_for(f"{active}?.innerText === '·low' && {active}.getAttribute('aria-posinset') !== '2'")
    page.press("Enter")
    page.wait_for(TREE)
    page.press("Escape")
    page.wait_for(f"{READY} && !{TREE}")


def test_special_tokens_and_ids_are_switched(page, tokenizer):
    page.insert("low<|endoftext|>")
    page.wait_for("document.querySelector('.tokens .added')?.innerText === '<|endoftext|>'")
    page.click("#recognize")
    page.wait_for("!document.querySelector('.tokens .added')")
    page.click("#ids")
    first = tokenizer.encode("low", add_special_tokens=False)[0]
    page.wait_for(f"document.querySelector('.tokens small')?.innerText === '{first}'")


def test_chats_are_shown_turn_by_turn(page):
    page.click("input[value=chat] + span")
    page.wait_for("document.querySelector('.tokens .turn')?.innerText === '1 · user'")
    page.click("#add-turn")
    page.type("lowest")
    page.wait_for(f"{TURNS}.length === 2")
    page.wait_for(f"{TURNS}[1].innerText === '2 · assistant'")
    page.wait_for(f"{SHOWN}[0].join('') === '<|user|>Hello!<|endoftext|><|assistant|>lowest<|endoftext|>'")
    assert (
        page.evaluate("document.querySelector('#note.error').innerText") == "model: this tokenizer has no chat template"
    )
    page.click("#turns li:nth-child(2) button")
    page.wait_for(f"{TURNS}.length === 1")


def test_a_link_holds_text_and_settings(page, playground):
    page.insert("lowest \u202e\U0001d539")
    page.click("#ids")
    page.click("#copy")
    page.wait_for(f"!['', '#{EMPTY}'].includes(location.hash)")
    link = page.evaluate("location.href")
    assert link.startswith(playground.url)
    page.open("about:blank")
    page.events.clear()
    page.open(link)
    page.wait_for(f"{READY} && document.querySelector('.tokens small')")
    assert page.evaluate(TEXT) == "lowest \u202e\U0001d539"
    requests = [each["params"]["request"] for each in page.events if each.get("method") == "Network.requestWillBeSent"]
    assert len(requests) > 5
    assert all(each["url"].startswith(playground.url) for each in requests)  # `urlFragment` is apart


def test_a_link_of_python_is_read(chromium, tokenizer):
    with Playground({"sample": tokenizer}, text="low é\n𝔹", in_frames=False) as playground:
        chromium.open(playground.url)
        chromium.wait_for(READY)
        assert chromium.evaluate(TEXT) == "low é\n𝔹"


@pytest.mark.parametrize("fragment", ["1.@@", "2.q1YqSa0oUbJSyskvV6oFAA", "1.AAAA", "1.MwQA"])
def test_a_damaged_link_is_named(page, playground, fragment):
    page.open("about:blank")
    page.open(f"{playground.url}#{fragment}")
    page.wait_for(READY)
    assert "damaged" in page.evaluate(PROBLEM)
    page.type("low")
    page.wait_for(f"{SHOWN}[0].length")


def test_long_text_is_drawn_where_it_is_looked_at(page, tokenizer):
    lines = "".join(f"lowest {number}\n" for number in range(60_000))
    page.evaluate(f"{TEXT} = {json.dumps(lines)}")
    page.type("x")  # at the end
    number = len(tokenizer.encode(lines + "x", add_special_tokens=False))
    page.wait_for(f"{COUNTS}[0].startsWith('{number:,} tokens')")
    page.wait_for("document.querySelectorAll('.pane:first-child bdi').length")
    assert page.evaluate("document.querySelectorAll('.pane:first-child bdi').length") < 5_000
    last = "document.querySelector('.tokens').lastChild"
    assert page.evaluate(f"{last}.innerText") == ""
    page.evaluate("document.querySelector('.tokens').scrollTop = 1e9")
    page.wait_for(f"{last}.innerText.endsWith('x')")
    page.wait_for("document.querySelector('.chunk').innerText === ''")  # what is far away is gone
    page.evaluate("document.querySelector('.tokens').scrollTop = 0")
    page.wait_for("document.querySelector('.chunk').innerText.startsWith('lowest')")


def test_too_much_text_is_refused_and_less_is_shown_again(page):
    page.evaluate(f"{TEXT} = 'low '.repeat(2_500_000)")
    page.type("x")
    page.wait_for(PROBLEM)
    assert "9.5 MiB, more than the 4.0 MiB" in page.evaluate(PROBLEM)
    page.evaluate(f"{TEXT} = ''")
    page.type("x")
    page.wait_for(f"!{PROBLEM} && {SHOWN}[0].join() === 'x'")


def test_newest_text_alone_is_encoded_after_a_request(page):
    page.evaluate(
        """(() => {
            const real = window.fetch;
            window.asked = [];
            window.fetch = async (name, options) => {
                if (name === "encode") {
                    window.asked.push(JSON.parse(await options.body.text()).text);
                    if (window.asked.length === 1) await new Promise((done) => window.goOn = done);
                }
                return real(name, options);
            };
        })()"""
    )
    page.type("lowest")
    page.wait_for("window.goOn")
    page.evaluate("window.goOn()")
    page.wait_for(f"{COUNTS}[0].includes('6 bytes')")
    assert page.evaluate("window.asked") == ["l", "lowest"]


def test_a_server_that_has_ended_is_named(chromium, tokenizer):
    with Playground({"sample": tokenizer}, in_frames=False) as playground:
        chromium.open(playground.url)
        chromium.wait_for(READY)
    chromium.type("x")
    chromium.wait_for(f"{PROBLEM}.startsWith('The server does not answer')")


def test_a_phone_needs_no_scrolling_sideways(phone, playground):
    phone.open(playground.url)
    phone.wait_for(READY)
    phone.insert("lowest newest " * 50)
    phone.wait_for(f"{SHOWN}[1].length > 50")
    phone.evaluate("document.querySelector('.tokens bdi').click()")
    phone.wait_for(TREE)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    box = "document.querySelector('#details').getBoundingClientRect()"
    assert phone.evaluate(f"{box}.bottom <= innerHeight && {box}.height < innerHeight / 2 + 1")
    assert phone.problems() == []


def test_a_notebook_on_this_machine_shows_the_page_in_a_frame(chromium, tokenizer, monkeypatch):
    asked, answer = [], _server.answer
    monkeypatch.setattr(_server, "answer", lambda *request: asked.append(request[1]) or answer(*request))
    chromium.events.clear()
    with Playground({"sample": tokenizer}, text="lowest") as playground, notebook(playground) as url:
        chromium.open(url)
        while "encode" not in asked:
            chromium.evaluate("new Promise((done) => setTimeout(done, 10))")
    assert asked == ["describe", "encode"]
    assert chromium.problems() == []


def test_the_page_of_the_command_is_in_no_frame(chromium, tokenizer):
    chromium.events.clear()
    with Playground({"sample": tokenizer}, in_frames=False) as playground, notebook(playground) as url:
        chromium.open(url)
        while not any("frame-ancestors 'none'" in problem for problem in chromium.problems()):
            chromium.evaluate("new Promise((done) => setTimeout(done, 10))")


@contextlib.contextmanager
def notebook(playground):
    """Yield the address of a page of another server on this machine that shows what a notebook does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><link rel=icon href=data:,>" + playground._repr_html_().encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()
        thread.join()
