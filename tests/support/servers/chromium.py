"""A headless Chromium, spoken to over its DevTools pipe; no driver and no library is needed.

https://chromedevtools.github.io/devtools-protocol/ describes the methods.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

from support.processes import PATIENCE

with contextlib.suppress(ImportError):  # there is none on Windows
    import fcntl

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
OPTIONS = (
    *("--headless=new", "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio"),
    # The pages are our own, and a sandbox needs more rights than some machines give.
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--no-sandbox"),
)
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "ArrowUp": 38,
        "Home": 36, "End": 35, "Backspace": 8}  # fmt: skip

# Chromium reads from descriptor 3 and writes to 4.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_LAUNCHER = [sys.executable, "-S", "-c", _LAUNCH]


def find_chromium() -> str | None:
    """Return the path of a Chromium that can be driven here; None if there is none."""
    if os.name != "posix":  # the pipe is two inherited file descriptors
        return None
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Chromium:
    """A browser with one tab; a context manager, which ends it.

    Args:
        width, height: the size of the page in CSS pixels.
        scale: device pixels for a CSS pixel.
        dark: whether the user prefers dark.
        is_phone: whether it has touch and a phone's viewport.
    """

    def __init__(
        self, width: int = 1100, height: int = 800, *, scale: float = 1, dark: bool = False, is_phone: bool = False
    ) -> None:
        program = find_chromium()
        assert program is not None
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        read_by_it, self._to = os.pipe()
        self._from, written_by_it = os.pipe()
        descriptors = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (read_by_it, written_by_it)]
        self._process = subprocess.Popen(
            [*_LAUNCHER, *map(str, descriptors), program, *OPTIONS, f"--user-data-dir={self._profile}", "about:blank"],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for descriptor in (read_by_it, written_by_it, *descriptors):
            os.close(descriptor)
        self.patience = PATIENCE
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        """Events of the page that have arrived so far, such as requests and messages of the console."""
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{domain}.enable")
            metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone}
            self.call("Emulation.setDeviceMetricsOverride", **metrics)
            self.call("Emulation.setTouchEmulationEnabled", enabled=is_phone)
            preference = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            self.call("Emulation.setEmulatedMedia", features=[preference])
        except BaseException:
            self.close()
            raise

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._to, data) :]
        until = time.monotonic() + self.patience
        while True:
            message = self._read(until)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            with selectors.DefaultSelector() as selector:
                selector.register(self._from, selectors.EVENT_READ)
                if not selector.select(max(0, until - time.monotonic())):
                    raise TimeoutError("Chromium did not answer")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise ConnectionError("Chromium has ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        event: dict[str, Any] = json.loads(message)
        return event

    def open(self, url: str) -> None:
        """Open an address and wait until the page is loaded."""
        self.evaluate("window.isLeft = true")
        self.call("Page.navigate", url=url)
        self.wait_for("!window.isLeft && document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page, which may be a promise."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        until = time.monotonic() + self.patience
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > until:
                said = self.evaluate("document.body.innerText")
                raise TimeoutError(f"never true: {expression}; the page says: {said}")
            self.evaluate("new Promise((done) => setTimeout(done, 10))")

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press and release a key: a character, or a name of KEYS."""
        code = KEYS.get(key)
        event: dict[str, Any] = {"key": key, "modifiers": modifiers}
        if code is not None:
            event |= {"windowsVirtualKeyCode": code, "code": key}
        text = {"Enter": "\r"}.get(key, key if code is None else "")
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text: str) -> None:
        """Type a text, key by key."""
        for character in text:
            self.press("Enter" if character == "\n" else character)

    def insert(self, text: str) -> None:
        """Insert a text at once, as from the clipboard or an input method."""
        self.call("Input.insertText", text=text)

    def box(self, selector: str) -> tuple[float, float]:
        """Return the middle of an element in the page."""
        script = (
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getClientRects()[0];"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        x, y = self.evaluate(script)
        return x, y

    def hover(self, selector: str) -> None:
        """Move the pointer to an element."""
        x, y = self.box(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click on an element."""
        x, y = self.box(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self) -> bytes:
        """Return what is seen as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def problems(self) -> list[str]:
        """Return the errors that the page has logged so far: exceptions, what its policy forbids, failed requests."""
        problems = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                problems.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                problems.append(str([arg.get("value", arg.get("description")) for arg in parameters["args"]]))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                problems.append(parameters["entry"]["text"])
        return problems

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
