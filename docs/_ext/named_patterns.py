"""Appends the named patterns, with an example of each, to the page `reference/pretokenizers`."""

from sphinx.application import Sphinx

from hf_bpe.conversion._llama_cpp import PRE_TOKENIZERS, pre_tokenizer_name
from hf_bpe.pretokenizers import NAMES, Pattern
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS, PATTERNS
from hf_bpe.reference import pre_tokenize

PAGE = "reference/pretokenizers"
EXAMPLE = "I'LL say: HelloWorld 2024!\n\n    x"


def llama_cpp(name: str) -> str:
    """Return llama.cpp's name for a pattern in files that are written, or whether it is only read."""
    found = pre_tokenizer_name(name, None)
    if found is not None:
        return f"`{found}`"
    return "only read" if any(each.pattern == name for each in PRE_TOKENIZERS.values()) else "none"


def page_of() -> str:
    """Return the Markdown of all named patterns."""
    lines = ["", "```text", repr(EXAMPLE), "```", ""]
    for name in NAMES:
        known = NAMED_PATTERNS[name]
        engine = "a scanner of its own" if Pattern(name).has_scanner else "a compiled expression"
        facts = [known.models, f"llama.cpp: {llama_cpp(name)}", engine]
        shown = PATTERNS.get(name) or "\n".join(map(repr, Pattern(name).chain.stages))
        lines += [f"### {name}", "", "; ".join(filter(None, facts)) + ".", ""]
        pieces = [piece.decode() for piece in pre_tokenize(EXAMPLE.encode(), name)]
        lines += ["```text", shown, "```", "", "```text", " ".join(map(repr, pieces)), "```", ""]
    return "\n".join(lines)


def append_patterns(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the patterns to their page as it is read."""
    if name == PAGE:
        source[0] += page_of()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", append_patterns)
    return {"parallel_read_safe": True}
