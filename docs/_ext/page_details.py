"""What the pages leave out, and which types of the reference are Python's own."""

import builtins
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

PAGES_OF_NAMES = {
    "BPEModel": "hf_bpe",
    "BPETokenizer": "hf_bpe.tokenizer",
    "Definition": "hf_bpe.conversion",
    "Remap": "hf_bpe.editing",
    "Source": "hf_bpe",
    "Template": "hf_bpe.tokenizer",
    "WordCounts": "hf_bpe",
}


def skip(app: Sphinx, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what Python writes itself, and what `BPETokenizer` inherits from transformers."""
    if str(getattr(member, "__doc__", "")).startswith("Alias for field number"):
        return True
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return True if str(getattr(function, "__module__", "")).startswith("transformers") else None


def find_names(app: Sphinx, document: nodes.document) -> None:
    """Let the names at the root be found from every page, and `bytes` be Python's, not some attribute of that name."""
    for node in document.findall(addnodes.pending_xref):
        if node.get("refdomain") == "py":
            name = node["reftarget"].partition(".")[0]
            if name in PAGES_OF_NAMES:
                node["reftarget"] = f"{PAGES_OF_NAMES[name]}.{node['reftarget']}"
            elif hasattr(builtins, name):
                node.attributes.pop("refspecific", None)


def trim_code(app: Sphinx, document: nodes.document) -> None:
    """Leave out the empty line that ends a session for doctest."""
    for block in document.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip("\n")
        block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", find_names)
    app.connect("doctree-read", trim_code)
    return {"parallel_read_safe": True}
