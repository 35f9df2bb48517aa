"""How long the playground takes from a key to the picture with its tokens, in a headless Chromium.

    PYTHONPATH=tests python -m benchmarks.playground TOKENIZER... --text FILE

Characters are typed at the beginning of texts of several sizes, and the page notes when the event began and when the
picture with the new tokens in all panes was drawn. The ids are compared first. There is no peer: tiktokenizer and the
like encode in the browser with other engines.
"""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import urllib.request
from pathlib import Path

from hf_bpe import BPETokenizer
from hf_bpe.playground import Playground
from support.chromium import Chromium

# Frames are drawn after requestAnimationFrame; a task that is queued then runs after the drawing.
MEASURE = """
window.typed = "";
document.addEventListener("keydown", (event) => {
  const began = event.timeStamp, panes = [...document.querySelectorAll(".pane")];
  window.typed += event.key;
  const isShown = (pane) => [...pane.querySelectorAll("bdi")].slice(0, 40).map((each) => each.textContent).join("")
    .startsWith(window.typed);
  const observer = new MutationObserver(() => {
    if (!panes.every(isShown)) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.measured = performance.now() - began; }));
  });
  observer.observe(document.querySelector("#panes"), {childList: true, subtree: true, characterData: true});
}, true);
"""
LETTERS = "tokenizer"  # typed again and again


def check_ids(playground: Playground, tokenizers: dict[str, BPETokenizer], text: str) -> None:
    """Stop if the server's ids are not those of the tokenizers."""
    url = playground.url.partition("#")[0]
    body = json.dumps({"text": text, "special_tokens": True, "add_special_tokens": False, "caret": 0}).encode()
    headers = {"Origin": url[: url.index("/", 7)], "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + "encode", body, headers)) as answer:
        content = answer.read()
    (size,) = struct.unpack_from("<I", content)
    ids = memoryview(content)[4 + size :].cast("I").tolist()
    expected = [each for tokenizer in tokenizers.values() for each in tokenizer.encode(text, add_special_tokens=False)]
    if ids != expected:
        raise SystemExit("the ids of the page are not those of the tokenizers")


def measure(browser: Chromium, text: str, repeats: int) -> list[float]:
    """Return the milliseconds from each key to its picture."""
    browser.evaluate(
        f"{{ const box = document.querySelector('#text'); box.value = {json.dumps(text)};"
        "box.setSelectionRange(0, 0); window.typed = ''; }"
    )
    times = []
    for number in range(repeats + 1):
        browser.evaluate("window.measured = null")
        browser.press(LETTERS[number % len(LETTERS)])
        browser.wait_for("window.measured !== null")
        times.append(browser.evaluate("window.measured"))
        browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    return times[1:]  # the first one makes what is kept


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizers", nargs="+")
    parser.add_argument("--text", required=True)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    tokenizers = {Path(each).name: BPETokenizer.convert_from(each) for each in given.tokenizers}
    source = Path(given.text).read_bytes()
    print(f"milliseconds from a key to its picture, {given.repeats} keys, {len(tokenizers)} panes")
    print(f"{'bytes':>9}  {'median':>8}  {'slowest':>8}")
    with Playground(tokenizers, in_frames=False) as playground, Chromium(1100, 800) as browser:
        browser.open(playground.url)
        browser.wait_for("document.activeElement.id === 'text'")
        browser.evaluate(MEASURE)
        for size in given.sizes:
            text = source[:size].decode("utf-8", "ignore")
            check_ids(playground, tokenizers, text)
            times = measure(browser, text, given.repeats)
            print(f"{size:>9,}  {statistics.median(times):>8.1f}  {max(times):>8.1f}")


if __name__ == "__main__":
    main()
