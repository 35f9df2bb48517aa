"""What the reference leaves out, and which of its types are Python's own."""

import builtins
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def skip(app: Sphinx, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what Python writes itself, and what `BPETokenizer` inherits from transformers."""
    if str(getattr(member, "__doc__", "")).startswith("Alias for field number"):
        return True
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return True if str(getattr(function, "__module__", "")).startswith("transformers") else None


def keep_builtins(app: Sphinx, document: nodes.document) -> None:
    """Let `bytes` in a signature be the type, not an attribute of that name in some class."""
    for node in document.findall(addnodes.pending_xref):
        if node.get("refdomain") == "py" and hasattr(builtins, node["reftarget"]):
            node.attributes.pop("refspecific", None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", keep_builtins)
    return {"parallel_read_safe": True}
