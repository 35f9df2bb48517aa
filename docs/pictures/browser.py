"""Take the picture of the page in the browser: PYTHONPATH=tests python docs/pictures/browser.py; see README.md."""

import functools
import http.server
import io
import os
import threading
from pathlib import Path

from PIL import Image

from support.servers.chromium import Chromium
from support.servers.web import WEB

PICTURES = Path(__file__).parent
TEXT = "document.querySelector('#text')"


def main() -> None:
    """Take the picture."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(WEB))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Chromium(900, 640, scale=1.25) as browser:
        browser.open(f"http://127.0.0.1:{server.server_port}/index.html")
        file = Path(os.environ["HF_BPE_TEST_DATA"], "tokenizers", "qwen3", "tokenizer.json")
        document = browser.call("DOM.getDocument")["root"]["nodeId"]
        node = browser.call("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
        browser.call("DOM.setFileInputFiles", nodeId=node, files=[str(file)])
        browser.wait_for("document.querySelectorAll('#tokens bdi').length > 20")
        browser.click("#ids")
        browser.evaluate(f"{TEXT}.focus()")
        browser.evaluate(f"{TEXT}.setSelectionRange(0, {TEXT}.value.length)")
        browser.insert((PICTURES / "show.txt").read_text("utf-8") + "<|im_end|>")
        browser.wait_for("document.querySelector('#tokens .special')")
        browser.evaluate(f"{TEXT}.scrollTop = 0")
        picture = Image.open(io.BytesIO(browser.picture())).convert("RGB")
    picture.quantize(96, dither=Image.Dither.NONE).save(PICTURES / "browser.png", optimize=True)
    server.shutdown()


if __name__ == "__main__":
    main()
