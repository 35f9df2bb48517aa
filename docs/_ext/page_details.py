"""What the pages leave out, and which types of the reference are Python's own."""

import builtins
import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

from hf_bpe import BPETokenizer, train

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


def shorten(app: Sphinx, *about: Any) -> tuple[str | None, str | None]:
    """Write aliases of types by their names, and leave out which keywords `**options` takes."""
    *_, signature, result = about
    if signature:
        signature = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", signature)
        signature = re.sub(r"(\*\*\w+): [\w.~]*Unpack\[[^\]]*\]", r"\1", signature)
    return signature, result


def forget_overloads(app: Sphinx) -> None:
    """Show `train` once, with its options and their defaults, not once for each type of result."""
    analyzer = ModuleAnalyzer.for_module(train.__module__)
    analyzer.analyze()
    analyzer.overloads.clear()


def order_methods(app: Sphinx) -> None:
    """List the methods that `BPETokenizer` has from its mix-ins in the order of these, and not by name."""
    analyzer = ModuleAnalyzer.for_module(BPETokenizer.__module__)
    analyzer.analyze()
    for mixin in BPETokenizer.__bases__[:-1]:  # the last is transformers'
        for name in vars(mixin):
            analyzer.tagorder[f"BPETokenizer.{name}"] = len(analyzer.tagorder)


def write_dashes(app: Sphinx, document: nodes.document) -> None:
    """Put a dash between a parameter and its description."""
    for field in document.findall(nodes.field):
        for text in [*field.findall(nodes.Text)]:
            if text.startswith(" -- "):
                text.parent.replace(text, nodes.Text(" – " + text[4:]))


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
    app.connect("doctree-read", write_dashes)
    app.connect("autodoc-process-signature", shorten)
    app.connect("builder-inited", forget_overloads)
    app.connect("builder-inited", order_methods)
    return {"parallel_read_safe": True}
