"""Take the pictures of the playground: PYTHONPATH=tests python docs/pictures/playground.py; see README.md."""

import io
import os
import time
from pathlib import Path

from PIL import Image

from hf_bpe import BPETokenizer
from hf_bpe.playground import Playground
from support.servers.chromium import Chromium

PICTURES = Path(__file__).parent
READY = "document.activeElement.id === 'text'"
TREE = "document.querySelector('#details .tree')"
TO_THE_TOP = "document.querySelector('#text').scrollTop = 0"
PAUSE = 1.0  # seconds, for what is drawn after a moment


def take(name: str, browser: Chromium) -> None:
    """Save what is seen, after a moment."""
    time.sleep(PAUSE)
    picture = Image.open(io.BytesIO(browser.picture())).convert("RGB")
    picture.quantize(96, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)


def main() -> None:
    """Take all pictures."""
    data = Path(os.environ["HF_BPE_TEST_DATA"], "tokenizers")
    tokenizers = {name: BPETokenizer.convert_from(data / name) for name in ("qwen3", "llama3_1")}
    text = (PICTURES / "show.txt").read_text("utf-8")
    with Playground(tokenizers, text=text, in_frames=False) as playground:
        with Chromium(1080, 860, scale=1.25) as browser:
            browser.open(playground.url)
            browser.wait_for(READY)
            browser.wait_for("document.querySelectorAll('.tokens bdi').length > 80")
            browser.evaluate(TO_THE_TOP)
            browser.hover(".tokens bdi:nth-of-type(31)")
            browser.wait_for(TREE)
            take("playground", browser)
        with Chromium(1080, 640, scale=1.25, dark=True) as browser:
            browser.open(playground.url)
            browser.wait_for(READY)
            browser.click("input[value=chat] + span")
            browser.click("#ids")
            for content in ("Hi! How can I help?", "Write a poem about tokens."):
                browser.click("#add-turn")
                browser.insert(content)
            browser.wait_for("document.querySelectorAll('.pane:first-child .turn').length === 4")
            take("playground-chat", browser)
        with Chromium(390, 780, scale=1.25, dark=True, is_phone=True) as browser:
            browser.open(playground.url)
            browser.wait_for(READY)
            browser.wait_for("document.querySelectorAll('.tokens bdi').length > 80")
            browser.evaluate("document.querySelectorAll('.tokens bdi')[40].click()")
            browser.wait_for(TREE)
            take("playground-phone", browser)


if __name__ == "__main__":
    main()
