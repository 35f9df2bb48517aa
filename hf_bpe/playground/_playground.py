"""The playground: a server of the page that runs in a thread until it is closed."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from hf_bpe._utils.arguments import check_int, check_str, wrong_type
from hf_bpe.playground._server import Server
from hf_bpe.playground._views import View

if TYPE_CHECKING:
    from typing_extensions import Self

    from hf_bpe.analysis._tokenizers import AnyTokenizer

_MAX_PORT = 65535
_POLL = 0.2  # seconds until the server notices that it is closed


class Playground:
    """A page on this machine where one types and sees the tokens of several tokenizers side by side.

    A thread serves it until `close()`, which the end of a `with` block calls, or until Python ends. A notebook shows
    the page in a frame. Only this machine can reach it, and only with the whole `url`, which has a secret. Text is sent
    to this server only, and not kept there.

    Args:
        tokenizers: name → tokenizer, as in `hf_bpe.analysis.show`; chats need `apply_chat_template`.
        text: the text that the page begins with.
        port: the port to listen on; 0 for a free one.
        in_frames: whether the pages of other servers on this machine, as a notebook, may show the page in a frame.

    Raises:
        OSError: the port is in use.
        TypeError: an argument has the wrong type.
        ValueError: there are no tokenizers, or there is no such port.

    >>> from hf_bpe import train
    >>> with Playground({"low": train(["low low low lower lowest"], vocab_size=260)}) as playground:
    ...     playground.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        tokenizers: Mapping[str, AnyTokenizer],
        *,
        text: str = "",
        port: int = 0,
        in_frames: bool = True,
    ) -> None:
        if not isinstance(tokenizers, Mapping):
            raise wrong_type("tokenizers", "a dict of name → tokenizer", tokenizers)
        if not tokenizers:
            raise ValueError("tokenizers: expected at least one, got none")
        port = check_int("port", port, 0, _MAX_PORT)
        fragment = f"#{link_fragment({'text': check_str('text', text)})}" if text else ""
        views = [View(check_str("the name of a tokenizer", name), each) for name, each in tokenizers.items()]
        try:
            self._server = Server(views, port, in_frames=in_frames)
        except OSError as error:
            raise OSError(f"port {port} cannot be listened on: {error.strerror}; give 0 for a free one") from None
        self._url = self._server.url + fragment
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page, with the secret."""
        return self._url

    def wait(self) -> None:
        """Wait until the playground is closed, or Ctrl-C interrupts."""
        while self._thread.is_alive():
            self._thread.join(0.5)  # on Windows no signal interrupts a longer wait

    def close(self) -> None:
        """End the server; the page stays open in the browser, and says that it is gone."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Playground at {self.url}>" if self._thread.is_alive() else "<Playground, closed>"

    def _repr_html_(self) -> str:
        if not self._thread.is_alive():
            return escape(repr(self))
        url = escape(self.url)
        return (
            f'<iframe src="{url}" title="Playground" allow="clipboard-write" width="100%" height="640" '
            f'style="border: 1px solid #8888"></iframe>\n'
            f'<p><a href="{url}" target="_blank" rel="noopener">Open in a tab</a>, on the machine that runs Python.</p>'
        )


def link_fragment(state: Mapping[str, str]) -> str:
    """Return the fragment for a state of the page: its JSON as raw deflate in URL-safe base64; see `links.js`.

    >>> link_fragment({"text": "low"})
    '1.q1YqSa0oUbJSyskvV6oFAA'
    """
    compressor = zlib.compressobj(wbits=-15)
    data = compressor.compress(json.dumps(state, separators=(",", ":")).encode()) + compressor.flush()
    return "1." + base64.urlsafe_b64encode(data).decode().rstrip("=")
