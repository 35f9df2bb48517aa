"""The server of the page, and attacks on it."""

import contextlib
import http.client
import itertools
import json
import re
import socket
import threading
import zlib
from base64 import urlsafe_b64decode
from urllib.parse import urlsplit

import pytest

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.playground import Playground
from hf_bpe.playground import _chats as chats
from hf_bpe.playground import _server as server
from support.cases import case, check_refusals
from support.samples import make_tokenizer

ENCODE = {"text": "lowest", "special_tokens": True, "add_special_tokens": False, "caret": 0}


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="module")
def playground(tokenizer):
    with Playground({"sample": tokenizer}, in_frames=False) as playground:
        yield playground


def connect(playground):
    port = urlsplit(playground.url).port
    return contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60))


def path_of(playground):
    return urlsplit(playground.url).path


def origin_of(playground):
    return "{0.scheme}://{0.netloc}".format(urlsplit(playground.url))


def get(playground, path="", headers=None):
    with connect(playground) as connection:
        connection.request("GET", path if path.startswith("/") else path_of(playground) + path, headers=headers or {})
        return read(connection)


def read(connection):
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def post(playground, name, request, **changes):
    """Return status and content; a header whose value is None is left out."""
    changed = {name.replace("_", "-"): value for name, value in changes.items()}
    headers = {"Origin": origin_of(playground), "Content-Type": "application/json", **changed}
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    with connect(playground) as connection:
        given = {name: value for name, value in headers.items() if value is not None}
        connection.request("POST", path_of(playground) + name, body, given)
        status, _, content = read(connection)
    return status, content


def unpack(content):
    size = int.from_bytes(content[:4], "little")
    return json.loads(content[4 : 4 + size]), memoryview(content[4 + size :]).cast("I").tolist()


def encode(playground, text):
    status, content = post(playground, "encode", ENCODE | {"text": text})
    assert status == 200
    return unpack(content)


def test_the_page_and_its_files_are_served(playground):
    for name, kind in {
        "": "text/html",
        "playground.css": "text/css",
        "tokens.css": "text/css",
        "icon.svg": "image/svg+xml",
        "playground.js": "text/javascript",
    }.items():
        status, headers, content = get(playground, name)
        assert (status, headers.get_content_type()) == (200, kind)
        assert content
    page = get(playground)[2].decode()
    scripts = {name.decode() for name in re.findall(rb'from "\./(\w+\.js)"', js(playground))}
    linked = {*re.findall(r'(?:href|src)="([\w.]+)"', page), *scripts}
    assert all(get(playground, name)[0] == 200 for name in linked)


def js(playground):
    return b"".join(get(playground, name)[2] for name in server._FILES if name.endswith(".js"))


def test_nothing_else_may_run_or_be_loaded(playground):
    _, headers, page = get(playground)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "trusted-types 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers
    assert not re.search(rb"<script(?! type=\"module\" src=)|<style|\son\w+=|\sstyle=|https?://", page)
    assert not re.search(
        rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", js(playground)
    )


def test_notebooks_may_show_the_page_in_a_frame(tokenizer):
    with Playground({"sample": tokenizer}) as playground:
        policy = get(playground)[1]["Content-Security-Policy"]
        assert "frame-ancestors http://localhost:* http://127.0.0.1:*" in policy
        assert f'src="{playground.url}"' in playground._repr_html_()
        assert repr(playground) == f"<Playground at {playground.url}>"
    assert repr(playground) == "<Playground, closed>"
    assert "iframe" not in playground._repr_html_()


def test_odd_text_is_encoded_as_by_the_tokenizer(playground, tokenizer):
    odd = ["</script><script>alert(1)</script>", "\u202elow\u2066", "\ud800low\udfff", "\0low\0", "\udc80", ""]
    for text in (*odd, "𝔹" * 9):
        (result,), ids = encode(playground, text)
        assert ids == tokenizer.encode(text, add_special_tokens=False)
        assert result["exact"] is True
        status, content = post(playground, "tokens", {"tokenizer": 0, "ids": ids})
        assert status == 200
        tokens = json.loads(content)
        decoded = b"".join(bytes.fromhex(token["bytes"]) for token in tokens).decode()
        assert decoded == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert not re.search("[\0\u202e\u2066]", "".join(piece for token in tokens for piece, _ in token["pieces"]))


# Attacks.


def test_another_host_is_refused(playground):
    port = urlsplit(playground.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"[::1]:{port}", ""):
        with case(host):
            for path in ("", "playground.js"):
                status, _, content = get(playground, path, {"Host": host})
                assert (status, b"Host" in content) == (403, True)
            assert post(playground, "encode", ENCODE, Host=host)[0] == 403


def test_localhost_is_this_machine(playground):
    host = f"localhost:{urlsplit(playground.url).port}"
    assert get(playground, headers={"Host": host})[0] == 200
    assert post(playground, "encode", ENCODE, Host=host, Origin=f"http://{host}")[0] == 200


def test_no_host_and_two_hosts_are_refused(playground):
    port = urlsplit(playground.url).port
    for hosts in ("", f"Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"):
        answer = raw(playground, f"GET {path_of(playground)} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 ")


def test_another_origin_is_refused(playground):
    same = urlsplit(playground.url)
    for origin in (None, "null", "http://evil.example", f"https://127.0.0.1:{same.port}", "http://127.0.0.1:1"):
        status, content = post(playground, "encode", ENCODE, Origin=origin)
        with case(origin):
            assert (status, b"Origin" in content) == (403, True)


def test_requests_that_forms_of_other_sites_make_are_refused(playground):
    assert post(playground, "encode", ENCODE, Sec_Fetch_Site="cross-site")[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        assert post(playground, "encode", ENCODE, Content_Type=kind)[0] == 415
    with connect(playground) as connection:
        connection.request("OPTIONS", path_of(playground) + "encode", headers={"Origin": "http://evil.example"})
        assert read(connection)[0] == 501  # no preflight is answered


def test_the_secret_is_needed(playground):
    secret = path_of(playground).strip("/")
    assert len(secret) == 32
    wrong = [
        *("/", "//", "/playground.js", "/encode", "/favicon.ico", f"/{secret}", f"/{secret[:-1]}/", f"/{secret}x/"),
        *(f"/{secret.swapcase()}/", f"/x/{secret}/", "/%2e%2e/", "/é/".encode().decode("latin-1")),
    ]
    for path in wrong:
        answer = raw(playground, f"GET {path} HTTP/1.1\r\n".encode("latin-1") + host(playground) + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 403 "), path
        assert secret.encode() not in answer
    with Playground({"other": make_tokenizer()}) as other:
        assert path_of(other) != path_of(playground)


def host(playground):
    return f"Host: 127.0.0.1:{urlsplit(playground.url).port}\r\nConnection: close\r\n".encode()


def raw(playground, request):
    """Return all that the server answers to some bytes."""
    with socket.create_connection(("127.0.0.1", urlsplit(playground.url).port), timeout=60) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def test_only_known_files_are_served(playground):
    names = ["../_server.py", "..%2f_server.py", "static/index.html", "/etc/passwd", "index.html", "playground.js/"]
    for name in (*names, "x?y"):
        path = path_of(playground) + name
        answer = raw(playground, f"GET {path} HTTP/1.1\r\n".encode() + host(playground) + b"\r\n")
        with case(name):
            assert answer.startswith(b"HTTP/1.1 404 ")


def max_body(playground):
    return json.loads(post(playground, "describe", {})[1])["max_bytes"]


def test_a_body_that_is_too_large_is_refused(playground):
    status, content = post(playground, "encode", ENCODE | {"text": "low " * 2_500_000})
    assert status == 413
    assert f"the most is {max_body(playground):,} bytes" in json.loads(content)["error"]
    assert post(playground, "encode", ENCODE)[0] == 200


def test_the_largest_body_is_encoded(playground):
    text = "low\n" * ((max_body(playground) - 1000) // 5)  # a newline is two bytes of JSON
    (result,), ids = encode(playground, text)
    assert (result["bytes"], len(ids)) == (len(text), result["tokens"])


def test_a_body_of_unknown_length_is_refused(playground):
    content = b"Content-Type: application/json\r\n" + host(playground) + b"\r\n0\r\n\r\n"
    lengths = ["-1", "x", "9999999999999999", "٣"]
    for header in ("", *(f"Content-Length: {each}\r\n" for each in lengths), "Transfer-Encoding: chunked\r\n"):
        request = f"POST {path_of(playground)}encode HTTP/1.1\r\nOrigin: {origin_of(playground)}\r\n{header}"
        with case(header):
            assert raw(playground, request.encode() + content).startswith(b"HTTP/1.1 411 ")


def test_garbage_ends_one_connection_only(playground):
    port = urlsplit(playground.url).port
    for line in (
        *(b"", b"\0\n", b"GET\r\n\r\n", b"GET /\r\n\r\n", b"G" * 70_000, b"GET / HTTP/9.9\r\n\r\n"),
        b"GET http://evil.example/ HTTP/1.1\r\n\r\n",
    ):
        with case(line[:80]), socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                assert b"200" not in connection.recv(64)
        assert get(playground)[0] == 200


def test_connections_are_limited(playground, monkeypatch):
    port = urlsplit(playground.url).port
    with contextlib.ExitStack() as stack:
        for _ in range(server._MAX_CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            connection.sendall(f"GET {path_of(playground)}icon.svg HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert connection.recv(12) == b"HTTP/1.1 200"
        with (
            socket.create_connection(("127.0.0.1", port), timeout=60) as one_more,
            contextlib.suppress(ConnectionError),
        ):
            assert one_more.recv(1) == b""
    status = None
    while status is None:  # until the connections are noticed to have ended
        with contextlib.suppress(ConnectionError):
            status = get(playground)[0]
    assert status == 200


def test_silent_connections_give_way_to_new_ones(playground):
    address = ("127.0.0.1", urlsplit(playground.url).port)
    with contextlib.ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(address, timeout=10)) for _ in range(server._MAX_CONNECTIONS)
        ]
        assert get(playground)[0] == 200
        assert silent[0].recv(1) == b""


@pytest.mark.parametrize("has_shown_secret", [False, True])
def test_heads_and_bodies_have_a_time_limit(tokenizer, has_shown_secret):
    with Playground({"sample": tokenizer}) as playground:
        times = itertools.chain(iter(lambda: 0 if waits else None, None), itertools.count(step=2 * server._SECONDS))
        waits = True
        playground._server.clock = times.__next__
        head = f"POST {path_of(playground)}encode HTTP/1.1\r\n".encode() + host(playground)
        head += f"Origin: {origin_of(playground)}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n".encode()
        with socket.create_connection(("127.0.0.1", urlsplit(playground.url).port), timeout=10) as connection:
            connection.sendall(head + b"\r\n{" * has_shown_secret)
            while has_shown_secret not in [state.has_shown_secret for state in connections(playground)]:
                pass
            waits = False
            assert connection.recv(1) == b""


def connections(playground):
    return [*playground._server._connections.values()]


def test_answers_at_a_time_are_limited(playground, monkeypatch):
    free = []

    def answer(*request):
        free.append(playground._server.turns._value)
        return server.json_reply({})

    monkeypatch.setattr(server, "answer", answer)
    assert post(playground, "encode", ENCODE)[0] == 200
    assert free == [server._MAX_ANSWERS - 1]


def test_every_method_needs_host_and_secret(playground):
    for method in ("HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "X", "POST"):
        for path, host_line in (("/", host(playground)), (path_of(playground), b"Host: evil.example\r\n")):
            request = f"{method} {path} HTTP/1.1\r\nExpect: 100-continue\r\n".encode()
            assert raw(playground, request + host_line + b"\r\n").startswith(b"HTTP/1.1 403 "), method


def test_an_endless_template_is_ended(tokenizer, monkeypatch):
    monkeypatch.setattr("hf_bpe.playground._chats._MAX_SECONDS", 0)
    endless = make_tokenizer()
    endless.chat_template = "{% for a in range(99999) %}" * 4 + "{% endfor %}" * 4
    request = {"messages": [{"role": "user", "content": "low"}], "add_generation_prompt": False}
    with Playground({"sample": endless}) as playground:
        (result,), _ = unpack(post(playground, "chat", request)[1])
    assert result == {"error": "the chat template does not end with these messages: it takes more than 0 seconds"}


def test_code_is_ended_whose_finalizers_drop_exceptions(monkeypatch):
    monkeypatch.setattr(chats, "_PAUSE", 0.2)
    dropped = []

    def endless():
        with contextlib.suppress(BaseException):  # as Python does in a finalizer
            while True:
                pass
        dropped.append(True)
        for _ in range(10**9):
            pass

    with pytest.raises(TimeoutError):
        chats.call_limited(0.5, endless)
    assert dropped


def test_errors_of_the_engine_are_answers(playground):
    status, content = post(playground, "tree", {"tokenizer": 0, "id": 99_999})
    assert (status, json.loads(content)) == (422, {"error": "there is no token with the id 99999"})
    assert post(playground, "nothing", {})[0] == 404


def test_malformed_requests_are_refused(playground):
    for name, body, message in (
        ("encode", "[", "expected JSON"),
        ("encode", "[" * 100_000, "expected JSON"),
        ("encode", "[]", "expected a JSON object, got list"),
        ("encode", '{"text": 1}', "text: expected str, got int"),
        ("encode", '{"text": "", "special_tokens": 1}', "special_tokens: expected bool, got int"),
        ("tokens", '{"ids": [1.0], "tokenizer": 0}', "ids: expected at most 10,000 whole numbers"),
        ("tokens", '{"ids": [], "tokenizer": 1}', "tokenizer: expected an index below 1, got 1"),
        ("tree", '{"id": true, "tokenizer": 0}', "id: expected int, got bool"),
        ("chat", '{"messages": [1], "add_generation_prompt": true}', "messages: expected objects"),
        ("chat", '{"messages": [{"role": "user"}], "add_generation_prompt": true}', "content: expected str"),
    ):
        status, content = post(playground, name, body.encode())
        with case(name, body[:80]):
            assert (status, message in json.loads(content)["error"]) == (400, True)


def test_the_error_of_one_tokenizer_leaves_the_others(tokenizer):
    lacking = BPETokenizer(model=BPEModel({108: b"l"}, []))
    with Playground({"lacking": lacking, "sample": tokenizer}) as playground:
        (first, second), ids = encode(playground, "low")
    assert "error" in first
    assert len(ids) == second["tokens"]


def test_requests_are_not_logged(playground, capfd):
    assert get(playground)[0] == 200
    assert get(playground, "nothing")[0] == 404
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


# Its life.


def test_it_ends_and_frees_its_port(tokenizer):
    before = threading.active_count()
    with Playground({"sample": tokenizer}) as playground:
        port = urlsplit(playground.url).port
        assert get(playground)[0] == 200
    playground.close()  # again
    with pytest.raises(ConnectionError):
        get(playground)
    with Playground({"sample": tokenizer}, port=port) as again:
        assert urlsplit(again.url).port == port
        with pytest.raises(OSError, match=f"port {port} cannot be listened on: .*; give 0 for a free one"):
            Playground({"sample": tokenizer}, port=port)
    assert threading.active_count() <= before + 2  # threads of connections may still be ending


def test_a_link_begins_with_the_text(tokenizer):
    with Playground({"sample": tokenizer}, text="low \ud800é") as playground:
        page, _, fragment = playground.url.partition("#1.")
        data = urlsafe_b64decode(fragment + "=" * (-len(fragment) % 4))
        assert json.loads(zlib.decompress(data, wbits=-15)) == {"text": "low \ud800é"}
        assert page.endswith("/")


def test_a_tokenizer_serves_itself(tmp_path):
    make_tokenizer().save_pretrained(tmp_path / "mine")
    with BPETokenizer.from_pretrained(tmp_path / "mine").playground("lowest") as playground:
        (info,) = json.loads(post(playground, "describe", {})[1])["tokenizers"]
        assert info["name"] == "mine"


def test_wrong_arguments_are_named(tokenizer):
    rows = [
        ({"tokenizers": {}}, ValueError, "expected at least one"),
        ({"tokenizers": ["x"]}, TypeError, "a dict of name → tokenizer"),
        ({"tokenizers": {"x": "y"}}, TypeError, "expected a BPETokenizer or a BPEModel, got str"),
        ({"port": 70_000}, ValueError, "port"),
        ({"port": "x"}, TypeError, "port"),
        ({"text": b"low"}, TypeError, "text"),
    ]
    check_refusals(rows, lambda arguments: Playground(**{"tokenizers": {"sample": tokenizer}, **arguments}))
