"""Points links that leave `docs/` to the repository; where its address is not known, only their text remains."""

import re
from pathlib import Path

from sphinx.application import Sphinx

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<file>[^)\s:#]+)(?P<anchor>#[^)\s]*)?\)")


def point_to_repository(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace the links of a page as it is read."""
    folder = Path(app.srcdir, name).parent

    def replaced(link: re.Match[str]) -> str:
        path = (folder / link["file"]).resolve()
        if path.is_relative_to(app.srcdir):
            return link[0]
        if not app.config.source_url:
            return link["text"]
        path = path.relative_to(Path(app.srcdir).parent)
        return f"[{link['text']}]({app.config.source_url.rstrip('/')}/{path.as_posix()}{link['anchor'] or ''})"

    source[0] = LINK.sub(replaced, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_config_value("source_url", "", "env", str)
    app.connect("source-read", point_to_repository)
    return {"parallel_read_safe": True}
