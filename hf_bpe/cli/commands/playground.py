"""The command `playground`, which serves a page where one types and sees tokens."""

from __future__ import annotations

import threading
import webbrowser
from typing import Annotated

from hf_bpe.cli.messages import say
from hf_bpe.cli.options import EXAMPLE, argument, option
from hf_bpe.cli.program import LOOK, Terminated, command
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, for_chats, load_several

_TEXT_HELP = "The text that the page begins with."
_PORT_HELP = "The port to listen on; 0 for a free one."
_EXAMPLE = (
    "hf-bpe playground my-tokenizer\n  hf-bpe playground small large cl100k_base.tiktoken --port 8000 --no-browser"
)


@command(group=LOOK, epilog=EXAMPLE + _EXAMPLE)
def playground(
    folders: Annotated[list[str], argument("FOLDER", f"{FOLDER_HELP} One or more.")],
    text: Annotated[str, option(_TEXT_HELP, metavar="TEXT")] = "",
    port: Annotated[int, option(_PORT_HELP, metavar="N", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, option("Do not open the page in a browser.", "--no-browser")] = False,
    pattern: RankPattern = "auto",
) -> None:
    """Type text and see its tokens, in a browser on this machine.

    Several tokenizers are shown side by side. The first line printed is the address of the page, which has a secret:
    without it nobody on this machine, and no other page in the browser, can ask for anything. Ctrl-C ends it.
    """
    from hf_bpe.playground import Playground

    tokenizers = {name: for_chats(definition) for name, definition in load_several(folders, pattern).items()}
    with Playground(tokenizers, text=text, port=port, in_frames=False) as page:
        try:
            print(page.url, flush=True)
            say("this address works on this machine until Ctrl-C")
            if not no_browser:  # in a thread, for browsers in a terminal do not return
                threading.Thread(target=webbrowser.open, args=(page.url,), daemon=True).start()
            page.wait()
        except Terminated:
            raise
        except KeyboardInterrupt:
            say("ended")
