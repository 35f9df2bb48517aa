"""The server of the page: for this machine only, and only for whoever has its whole address.

Other programs and other users of the machine can connect to it, and other sites can make a browser do so. What they
would need is the secret in the path. Beside it, the name of the host is checked, which a site that gives its own name
the address of this machine (DNS rebinding) cannot choose, and so is the origin of a request, which a browser tells. No
answer holds markup made from text, and the page may run no script but the server's own.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import math
import os
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

from hf_bpe._utils.visible import STYLE
from hf_bpe.playground._requests import MAX_BODY, REQUESTS, BadRequest, Reply, answer, json_reply
from hf_bpe.playground._views import View

logger = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"

_HOSTS = (ADDRESS, "localhost")
_MAX_CONNECTIONS = 64
_MAX_DRAINED = 32 << 20  # bytes of a refused body that are read, so that the client reads why
_BLOCK = 1 << 16
_SECONDS = 60  # that a head, a body or the sending of an answer may take as a whole
_MAX_ANSWERS = 4  # at a time, for each takes several times the memory of its text

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES = (
    *("index.html", "playground.css", "icon.svg", "playground.js"),
    *("requests.js", "links.js", "chats.js", "panes.js", "tokens.js", "details.js"),
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors "
)
# Notebooks on this machine, and those of Visual Studio Code.
_FRAMES = "http://localhost:* http://127.0.0.1:* vscode-webview:"


@dataclass
class _Connection:
    """A connection: when it is ended, and if it had the secret, so that it does not give way to new connections."""

    end: float
    has_shown_secret: bool = False


class Server(ThreadingHTTPServer):
    """The server of some tokenizers, see `Playground`; an OSError if the port is in use."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = os.name == "posix"  # on Windows two programs would have the port
    request_queue_size = 64

    def __init__(self, views: Sequence[View], port: int = 0, *, in_frames: bool = False) -> None:
        self.views = views
        self.secret = secrets.token_urlsafe(24)
        self.files = _read_files()
        self.policy = _POLICY + (_FRAMES if in_frames else "'none'")
        self.turns = threading.Semaphore(_MAX_ANSWERS)
        self.clock = time.monotonic
        self._connections: dict[Any, _Connection] = {}
        self._lock = threading.Lock()  # of the connections
        super().__init__((ADDRESS, port), _Handler)
        port = self.server_address[1]
        self.hosts = frozenset(f"{host}:{port}" for host in _HOSTS)
        self.origins = frozenset(f"http://{host}" for host in self.hosts)
        self.url = f"http://{ADDRESS}:{port}/{self.secret}/"

    def server_bind(self) -> None:
        """Bind without looking up the name of the machine, as HTTPServer does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a connection instead of the oldest without the secret if there are too many; or else close it."""
        with self._lock:
            if len(self._connections) >= _MAX_CONNECTIONS:
                strangers = (each for each, state in self._connections.items() if not state.has_shown_secret)
                if (oldest := next(strangers, None)) is not None:
                    del self._connections[oldest]
                    _shut_down(oldest)
            is_free = len(self._connections) < _MAX_CONNECTIONS
            if is_free:
                self._connections[request] = _Connection(self.clock() + _SECONDS)
        if is_free:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def close_request(self, request: Any) -> None:
        """End a connection."""
        with self._lock:
            self._connections.pop(request, None)
        super().close_request(request)

    def limit(self, request: object, seconds: float) -> None:
        """Set the time that a connection may take from now on."""
        with self._lock:
            if request in self._connections:
                self._connections[request].end = self.clock() + seconds

    @contextlib.contextmanager
    def limited(self, request: object) -> Iterator[None]:
        """Limit the time of a block that reads from a connection or writes to it."""
        self.limit(request, _SECONDS)
        yield
        self.limit(request, math.inf)

    def accept_secret(self, request: object) -> None:
        """Let a connection stay, and take as long as its answer needs."""
        with self._lock:
            if request in self._connections:
                self._connections[request] = _Connection(math.inf, has_shown_secret=True)

    def service_actions(self) -> None:
        """End the connections whose time is over; called by `serve_forever` several times a second."""
        with self._lock:
            for each, state in self._connections.items():
                if state.end <= self.clock():
                    _shut_down(each)

    def server_close(self) -> None:
        """Stop listening, and end the connections that browsers keep."""
        super().server_close()
        with self._lock:
            for each in self._connections:
                _shut_down(each)

    def handle_error(self, request: object, client_address: object) -> None:
        """Log the errors of a connection, but not that it has ended."""
        logger.debug("a connection of the playground ended", exc_info=True)


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)


def _read_files() -> Mapping[str, Reply]:
    folder = resources.files("hf_bpe.playground") / "static"
    contents = {name: folder.joinpath(name).read_bytes() for name in _FILES}
    contents["tokens.css"] = STYLE.encode()
    contents[""] = contents.pop("index.html")
    return {
        name: Reply(f"{_TYPES[name.rpartition('.')[2] or 'html']}; charset=utf-8", content)
        for name, content in contents.items()
    }


class _StatusError(Exception):
    """A status and a message instead of an answer."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "hf-bpe", ""
    timeout = _SECONDS
    disable_nagle_algorithm = True  # or a small answer waits for an acknowledgment
    wbufsize = _BLOCK  # head and content in one packet; BaseHTTPRequestHandler flushes after each answer

    def handle_one_request(self) -> None:
        """Answer a request, whose head may take as long as a connection may be silent."""
        self.server.limit(self.request, _SECONDS)
        super().handle_one_request()

    def handle_expect_100(self) -> bool:
        """Answer nothing before the checks; a client that asks whether to send a body does so after a while."""
        return True

    def parse_request(self) -> bool:
        """Read the head of a request, and refuse it without the right host and secret, whatever its method."""
        if not super().parse_request():
            return False
        try:
            self._check_host()
            self._name = self._check_secret()
            self.server.accept_secret(self.request)
            if self.command not in ("GET", "POST"):
                raise _StatusError(HTTPStatus.NOT_IMPLEMENTED, "expected GET or POST")
        except _StatusError as refusal:
            self.close_connection = True  # a body that was not read is no request
            self._send(refusal.status, json_reply({"error": str(refusal)}))
            return False
        return True

    def do_GET(self) -> None:
        self._respond(self._file)

    def do_POST(self) -> None:
        with self.server.turns:
            self._respond(self._answer)

    def _respond(self, find: Callable[[str], Reply]) -> None:
        status, close = HTTPStatus.OK, self.command == "POST"
        try:
            reply = find(self._name)
            close = False
        except _StatusError as refusal:
            status, reply = refusal.status, json_reply({"error": str(refusal)})
        except BadRequest as error:
            status, reply = HTTPStatus.BAD_REQUEST, json_reply({"error": str(error)})
        except ValueError as error:
            status, reply = HTTPStatus.UNPROCESSABLE_ENTITY, json_reply({"error": str(error)})
        except OSError:
            raise  # the connection has ended
        except Exception as error:
            logger.exception("the playground failed to answer %s", self.command)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            reply = json_reply({"error": f"{type(error).__name__}: {error}"})
        self.close_connection = self.close_connection or close  # a body that was not read is no request
        self._send(status, reply)

    def _check_host(self) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise _StatusError(HTTPStatus.FORBIDDEN, "expected the Host that this server's address has")

    def _check_secret(self) -> str:
        """Return what follows the secret in the path."""
        empty, secret, *path = [*self.path.split("/", 2), ""]
        is_right = hmac.compare_digest(secret.encode("latin-1", "replace"), self.server.secret.encode())
        if not is_right or empty or len(path) < 2:
            message = "expected the secret part of the address; open the address that was printed as a whole"
            raise _StatusError(HTTPStatus.FORBIDDEN, message)
        return path[0]

    def _file(self, name: str) -> Reply:
        if name not in self.server.files:
            raise _StatusError(HTTPStatus.NOT_FOUND, "there is no such page")
        return self.server.files[name]

    def _answer(self, name: str) -> Reply:
        if self.headers.get("Origin") not in self.server.origins:
            raise _StatusError(HTTPStatus.FORBIDDEN, "expected the Origin of this server's own page")
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise _StatusError(HTTPStatus.FORBIDDEN, "expected a request of this server's own page")
        if self.headers.get_content_type() != "application/json":
            raise _StatusError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        if name not in REQUESTS:
            raise _StatusError(HTTPStatus.NOT_FOUND, "there is no such request")
        return answer(self.server.views, name, self._body())

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit() and len(length) < 16):
            raise _StatusError(HTTPStatus.LENGTH_REQUIRED, "expected a Content-Length")
        size = int(length)
        with self.server.limited(self.request):
            if size > MAX_BODY:
                for start in range(0, min(size, _MAX_DRAINED), _BLOCK):
                    self.rfile.read(min(_BLOCK, size - start))
                raise _StatusError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{size:,} bytes are too many; the most is {MAX_BODY:,} bytes"
                )
            body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionError("the connection ended within a request")
        return body

    def _send(self, status: HTTPStatus, reply: Reply) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": reply.content_type,
            "Content-Length": str(len(reply.content)),
            "Content-Security-Policy": self.server.policy,
            "Cache-Control": "no-store",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        with self.server.limited(self.request):
            self.end_headers()
            self.wfile.write(reply.content)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests: they hold the secret."""
