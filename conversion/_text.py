r"""The text form: a folder with `vocab.tsv` (token and id per line) and `merges.tsv` (ids of two parts and the result).

Tokens are written as text, with `\\`, `\t`, `\n`, `\r`, and `\xNN` for the bytes of other control characters, and of
invalid UTF-8. All other settings are in the sidecar `vocab.tsv.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hf_bpe._utils.input_files import read_bounded
from hf_bpe.conversion._sidecar import SIDECAR_FEATURES, read_sidecar, write_sidecar
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format, Hints

VOCAB_FILE, MERGES_FILE = "vocab.tsv", "merges.tsv"

_ROW = re.compile(rb"(.*)\t([0-9]{1,10})", re.DOTALL)
_MERGE = re.compile(rb"([0-9]{1,10})[\t ]([0-9]{1,10})[\t ]([0-9]{1,10})\s*")
# U+FFFD is escaped, because programs write it for lost bytes; so are other characters that some programs treat as line
# ends, or drop at the beginning of a file.
_TO_ESCAPE = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd\udc80-\udcff]")
_NOT_ESCAPED = re.compile(rb"[\x00-\x1f\x7f]")
_LETTERS = {"\\": "\\", "\t": "t", "\n": "n", "\r": "r"}
_ESCAPE = re.compile(rb"\\(?:([\\tnr])|x([0-9a-fA-F]{2}))")
_MEANINGS = {letter.encode(): char.encode() for char, letter in _LETTERS.items()}


def escape(token: bytes) -> str:
    r"""Return the escaped form of a token, in one line.

    >>> print(escape("\tcafé\\".encode() + b"\xff"))
    \tcafé\\\xff
    """

    def escaped(match: re.Match[str]) -> str:
        if letter := _LETTERS.get(match[0]):
            return "\\" + letter
        return "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "surrogateescape"))

    return _TO_ESCAPE.sub(escaped, token.decode("utf-8", "surrogateescape"))


def unescape(text: bytes) -> bytes | None:
    r"""Return the token of an escaped form; None if it is not a result of `escape`.

    >>> unescape(rb"\\\x41\n"), unescape(rb"\s")
    (b'\\A\n', None)
    """
    if b"\\" not in text:
        return None if _NOT_ESCAPED.search(text) else text
    if _NOT_ESCAPED.search(text) or b"\\" in _ESCAPE.sub(b"", text):
        return None
    return _ESCAPE.sub(lambda match: _MEANINGS[match[1]] if match[1] else bytes.fromhex(match[2].decode()), text)


def matches(path: Path, head: bytes) -> bool:
    """Return whether a folder holds the vocabulary file."""
    return (path / VOCAB_FILE).is_file()


def read(path: Path, hints: Hints) -> Definition:
    """Read a folder that `write` has written, of which editors may have changed line ends and order."""
    vocab_file, merges_file = path / VOCAB_FILE, path / MERGES_FILE
    sidecar = read_sidecar(vocab_file)
    if sidecar is None:
        raise ValueError(f"{vocab_file}: expected {VOCAB_FILE}.json next to it, which has the pattern and all else")
    vocab = _read_vocab(vocab_file)
    pairs = [*_read_merges(merges_file, vocab)]
    for special, token_id in sidecar.special_tokens.items():
        if vocab.get(token_id) != special.encode("utf-8", "surrogatepass"):  # the model refuses lone surrogates
            raise ValueError(
                f"{vocab_file}: expected token {token_id} to be the special token {special!r:.80}, got "
                f"{vocab.get(token_id)!r:.80}"
            )
    try:
        ignores = sidecar.options["ignore_merges"]
        model = BPEModel.of(vocab, pairs, sidecar.special_tokens, sidecar.pattern, ignore_merges=ignores)
        return sidecar.complete(Definition(model))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{vocab_file}: {error}") from None


def _read_vocab(path: Path) -> dict[int, bytes]:
    """Return id → token."""
    vocab: dict[int, bytes] = {}
    for number, line in _lines(path):
        match = _ROW.fullmatch(line)
        if match is None:
            raise ValueError(f"{path}: line {number}: expected a token, a tab and an id, got {line[:80]!r}")
        token, token_id = unescape(match[1]), int(match[2])
        if not token:
            raise ValueError(
                f"{path}: line {number}: expected \\\\, \\t, \\n, \\r or \\xNN for backslashes and control characters, "
                f"got {match[1][:80]!r}"
            )
        if token_id in vocab:
            raise ValueError(f"{path}: line {number}: expected an id that no token before has, got {token_id}")
        vocab[token_id] = token
    return vocab


def _read_merges(path: Path, vocab: Mapping[int, bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the two parts of each merge."""
    for number, line in _lines(path):
        match = _MERGE.fullmatch(line)
        if match is None:
            raise ValueError(f"{path}: line {number}: expected three ids separated by tabs, got {line[:80]!r}")
        first, second, merged = (vocab.get(int(token_id), b"") for token_id in match.groups())
        if not (first and second) or first + second != merged:
            raise ValueError(
                f"{path}: line {number}: expected two tokens of {VOCAB_FILE} and the one that both make, got "
                f"{first[:80]!r}, {second[:80]!r} and {merged[:80]!r}"
            )
        yield first, second


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each line that is not empty, and the line."""
    for number, line in enumerate(read_bounded(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip(b"\r"):
            yield number, line.removesuffix(b"\r")


def write(definition: Definition, path: Path) -> None:
    """Write a folder: the two files, and the sidecar."""
    model = definition.model
    ids = {token: token_id for token_id, token in model.vocab.items()}
    vocab = "".join(f"{escape(token)}\t{token_id}\n" for token_id, token in model.vocab.items())
    merges = "".join(f"{ids[first]}\t{ids[second]}\t{ids[first + second]}\n" for first, second in model.merges)
    path.mkdir(exist_ok=True)
    (path / VOCAB_FILE).write_text(vocab, encoding="utf-8", newline="\n")
    (path / MERGES_FILE).write_text(merges, encoding="utf-8", newline="\n")
    write_sidecar(definition, path / VOCAB_FILE)


FORMAT = Format(
    name="text",
    what=f"a folder with {VOCAB_FILE} (token, id) and {MERGES_FILE} (ids of two parts and the result)",
    is_file=False,
    carries=frozenset({"special_tokens"}),
    matches=matches,
    read=read,
    write=write,
    sidecar=SIDECAR_FEATURES - {"special_tokens"},
    last=(VOCAB_FILE,),
)
