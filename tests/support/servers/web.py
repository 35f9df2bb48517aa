"""The build of the browser's module: its place, and whether it can be tested."""

import shutil

from support.project import ROOT

WEB = ROOT / "build" / "web"
SOURCES = [path for path in sorted((ROOT / "web").iterdir()) if path.suffix in (".js", ".html")]
ANSWERS = ROOT / "tests" / "web" / "answers.mjs"


def is_web_built() -> bool:
    """Return whether web/build.sh has made the module, and node can run it."""
    return (WEB / "hf_bpe.wasm").exists() and shutil.which("node") is not None
