"""minbpe's `.model`: the split pattern, the special tokens, and two ids per merge, from 256 on; bytes are ids 0 to 255.

Source: `save` and `load` of Karpathy's minbpe, whose first line is `minbpe v1`. Its GPT4Tokenizer, where the ids of the
bytes are in another order, cannot be saved there, and such a model is refused here.

Differences of minbpe that may change ids:

- `RegexTokenizer.load` does not compile the pattern that it reads: construct it as `RegexTokenizer(pattern)`.
- It drops text that the pattern does not match. Named patterns match all text; other patterns may not.
- It splits by the Unicode version of the installed `regex`.
- It finds special tokens only with `allowed_special="all"`.

The `.vocab` next to it is for people to read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from hf_bpe._utils.input_files import open_regular
from hf_bpe.conversion._expressions import check_means_the_same, compile_in_python, read_expression
from hf_bpe.conversion._merge_ids import numbered_lines, parse_ids, tokens_of_merges
from hf_bpe.conversion._sidecar import WHOLE_TEXT
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format, Hints
from hf_bpe.pretokenizers._patterns import NAMES, pattern_expression
from hf_bpe.pretokenizers._regex.dialects import PYTHON

_VERSION = "minbpe v1"
_MODEL = re.compile(rb"(\xef\xbb\xbf)?minbpe v")
_VOCAB = re.compile(rb"(\xef\xbb\xbf)?\[[^\n]*\] 0\r?\n\[[^\n]*\] 1\r?\n")


def matches(path: Path, head: bytes) -> bool:
    """Return whether a file is a `.model`, or a `.vocab`, which `read` refuses with advice."""
    return bool(_MODEL.match(head) or _VOCAB.match(head))


def read(path: Path, hints: Hints) -> Definition:
    """Read a `.model`.

    Args:
        path: the file.
        hints: a pattern other than the file's is refused. Special tokens are accepted if the file has none, because
            users of minbpe often register them after loading.

    Raises:
        OSError: it cannot be read.
        ValueError: the file is malformed (with the line), is a `.vocab`, or defines an invalid model.
    """
    with open_regular(path) as file:
        if _VOCAB.match(file.read(4096)):
            raise ValueError(f"{path}: a .vocab of minbpe is only for people to read; give the .model")
    return Definition(_Reader(path).read(hints))


class _Reader:
    """A sequential reader of the parts of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = numbered_lines(path)

    def read(self, hints: Hints) -> BPEModel:
        number, version = self._next("the version")
        if version.strip() != _VERSION:
            raise self._error(number, repr(_VERSION), version)
        pattern = self._pattern()
        alphabet = {byte: bytes([byte]) for byte in range(256)}
        specials = self._special_tokens() or dict(hints.special_tokens or {})
        try:
            hints.check(pattern, specials)
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from None
        merges, numbers = self._merges({token_id: special for special, token_id in specials.items()})
        tokens = tokens_of_merges(alphabet, merges, lambda rank: f"{self._path}: line {numbers[rank]}")
        if taken := sorted(tokens.keys() & {*specials.values()}):
            raise ValueError(f"{self._path}: {taken[0]} is the id of a special token and of {tokens[taken[0]]!r}")
        vocab = {**tokens, **{token_id: special.encode() for special, token_id in specials.items()}}
        try:
            return BPEModel(
                vocab, [(tokens[first], tokens[second]) for first, second, _ in merges], tuple(specials), pattern
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._path}: {error}") from None

    def _pattern(self) -> str | None:
        number, expression = self._next("the pattern")
        if expression in (*NAMES, "none"):
            raise ValueError(
                f"{self._path}: line {number}: the expression {expression!r} is the name of a pattern here, and not "
                "that pattern"
            )
        try:
            pattern = read_expression(expression, PYTHON, []) if expression else None
            _check_groups(expression)
            return pattern
        except ValueError as error:
            raise ValueError(f"{self._path}: line {number}: {error}") from None

    def _special_tokens(self) -> dict[str, int]:
        number, line = self._next("the number of special tokens")
        count = parse_ids(line)
        if len(count) != 1:
            raise self._error(number, "the number of special tokens", line)
        specials: dict[str, int] = {}
        for _ in range(count[0]):
            number, line = self._next("a special token")
            special, *rest = line.split() or [""]
            if len(rest) != 1 or not (ids := parse_ids(rest[0])):
                raise self._error(number, "a special token, a space and its id", line)
            if special in specials or ids[0] in specials.values():
                raise self._error(number, "a new special token with a new id", line)
            if hider := next(filter(special.startswith, specials), None):
                raise ValueError(
                    f"{self._path}: line {number}: minbpe never finds the special token {special!r}, for {hider!r}, "
                    "with which it begins, stands before it; change their order, if you mean to find it"
                )
            specials[special] = ids[0]
        return specials

    def _merges(self, specials: dict[int, str]) -> tuple[list[tuple[int, int, int]], list[int]]:
        """Return the merges, and the numbers of their lines."""
        merges: dict[tuple[int, int], int] = {}
        numbers: list[int] = []
        for number, line in self._lines:
            if not line.strip():
                continue
            pair, merged = parse_ids(line), 256 + len(merges)
            if len(pair) != 2:
                raise self._error(number, "two ids separated by a space", line)
            first, second = pair
            if (first, second) in merges:
                raise self._error(number, "a pair that is not on an earlier line", line)
            if max(pair) >= merged or not specials.keys().isdisjoint(pair):
                raise self._error(number, "two ids of bytes or of merges on earlier lines", line)
            merges[first, second] = merged
            numbers.append(number)
        return [(*pair, merged) for pair, merged in merges.items()], numbers

    def _next(self, what: str) -> tuple[int, str]:
        try:
            return next(self._lines)
        except StopIteration:
            raise ValueError(f"{self._path}: expected {what}, got the end of the file") from None

    def _error(self, number: int, expected: str, got: str) -> ValueError:
        return ValueError(f"{self._path}: line {number}: expected {expected}, got {got[:80]!r}")


def write(definition: Definition, path: Path) -> None:
    """Write a `.model`, and the `.vocab` next to it.

    Raises:
        OSError: they cannot be written.
        ValueError: minbpe would read the ids, the pattern or the special tokens differently, or does not open the file
            name.
    """
    model = definition.model
    if path.suffix != ".model":
        raise ValueError(f"{path.name}: minbpe opens no file that is not named .model; name it so")
    _check_bytes(model)
    _check_merges(model)
    _check_special_tokens(model)
    ids = {token: token_id for token_id, token in model.vocab.items()}
    specials = model.special_ids()
    lines = [
        _VERSION,
        _checked_expression(model),
        str(len(specials)),
        # minbpe takes the first match, so the longest tokens come first.
        *(f"{special} {specials[special]}" for special in sorted(specials, key=len, reverse=True)),
        *(f"{ids[first]} {ids[second]}" for first, second in model.merges),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    vocab = "".join(_vocab_lines(model))
    path.with_suffix(".vocab").write_text(vocab, encoding="utf-8", newline="\n")


def _check_bytes(model: BPEModel) -> None:
    ids = {token: token_id for token_id, token in model.vocab.items() if len(token) == 1}
    for byte in range(256):
        token_id = ids.get(bytes([byte]))
        if token_id != byte:
            has = "no id" if token_id is None else f"the id {token_id}"
            raise ValueError(f"the byte 0x{byte:02X} has {has}: minbpe gives it {byte}, so readers would get other ids")


def _check_merges(model: BPEModel) -> None:
    ids = {token: token_id for token_id, token in model.vocab.items()}
    special_ids = {*model.special_ids().values()}
    for rank, (first, second) in enumerate(model.merges):
        merge, merged = f"merge {rank}, {(first, second)!r}", ids[first + second]
        if merged != 256 + rank:
            taken = "; special tokens have to come after all merges" if 256 + rank in special_ids else ""
            raise ValueError(
                f"{merge}: it makes token {merged}, but minbpe makes token {256 + rank}, so readers would get "
                f"other ids{taken}"
            )
        if late := next((part for part in (first, second) if ids[part] > merged), None):
            raise ValueError(f"{merge}: its part {late!r} is made by a later merge; minbpe could not load that")
    for token_id, token in model.vocab.items():
        if token_id >= 256 + len(model.merges) and token_id not in special_ids:
            raise ValueError(
                f"token {token_id}, {token!r}, is made by no merge: minbpe has no place for it, so readers could not "
                "decode it"
            )


def _check_special_tokens(model: BPEModel) -> None:
    for special in model.special_tokens:
        if special.split() != [special]:
            raise ValueError(
                f"special token {special!r} has white space: minbpe could not load it, for that ends a token there"
            )


def _checked_expression(model: BPEModel) -> str:
    """Return the line of the pattern, if minbpe splits with it like hf_bpe."""
    # BasicTokenizer, which needs no pattern, does not find special tokens.
    expression = pattern_expression(model.pattern) or (WHOLE_TEXT if model.special_tokens else "")
    if expression.strip() != expression or not {"\n", "\r"}.isdisjoint(expression):
        raise ValueError(
            f"the pattern {expression!r} has a line end in it, or white space at an end: minbpe would read only a part "
            r"of it; write it as an escape, such as \n or \x20"
        )
    _check_groups(expression)
    check_means_the_same(model.pattern, PYTHON)
    return expression


def _check_groups(expression: str) -> None:
    if expression != WHOLE_TEXT and compile_in_python(expression).groups:
        raise ValueError(
            f"the pattern {expression!r} has groups: minbpe would keep what these match and lose the rest of the text; "
            "write (?:…) for (…)"
        )


def _vocab_lines(model: BPEModel) -> Iterator[str]:
    merges = {first + second: (first, second) for first, second in model.merges}
    for token_id, token in model.vocab.items():
        parts = "".join(f"[{_rendered(part)}]" for part in merges.get(token, ()))
        yield f"{parts} -> [{_rendered(token)}] {token_id}\n" if parts else f"[{_rendered(token)}] {token_id}\n"


def _rendered(token: bytes) -> str:
    text = token.decode("utf-8", "replace")
    return "".join(f"\\u{ord(char):04x}" if unicodedata.category(char)[0] == "C" else char for char in text)


FORMAT = Format(
    name="minbpe",
    what="minbpe's .model",
    is_file=True,
    carries=frozenset({"pattern", "special_tokens"}),
    matches=matches,
    read=read,
    write=write,
    has_chains=False,
    suffix=".model",
)
