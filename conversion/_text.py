r"""The text form: a folder with `vocab.tsv` (token and id per line) and `merges.tsv` (ids of two parts and the result).

The bytes of a merged token follow from the merges, so only the other tokens are read from the vocabulary file, and
tokens with tabs and line ends are not lost. All other settings are in the sidecar `vocab.tsv.json`.

Tokens are written as text, with `\\`, `\t`, `\n`, `\r`, and `\xNN` for the bytes of other control characters, and of
invalid UTF-8. Files of other tools, also named `vocab.txt` and `merges.txt`, may hold unescaped tokens, and U+FFFD for
invalid UTF-8: there a token is everything before a tab, digits and a line end, including tabs and line ends.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hf_bpe._utils.input_files import decode, open_regular, read_bounded
from hf_bpe.conversion._sidecar import SIDECAR_FEATURES, read_sidecar, write_sidecar
from hf_bpe.core._checks import MAX_TOKEN_BYTES
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format, Hints, PatternNeeded
from hf_bpe.pretokenizers._pattern import Pattern

VOCAB_FILE, MERGES_FILE = "vocab.tsv", "merges.tsv"
_FOREIGN_FILES = "vocab.txt", "merges.txt"

_MERGED_ID = re.compile(r"[0-9]{1,10}", re.ASCII)
_ID = re.compile(rb"\t([0-9]{1,10})(\r?\n|\r?\Z)")
_MERGES = re.compile(rb"(\xef\xbb\xbf)?\s*([0-9]+[\t ][0-9]+[\t ][0-9]+(\s|\Z)|\Z)")
# U+FFFD is escaped, so that unescaped it always means lost bytes; so are other characters that some programs treat as
# line ends, or drop at the beginning of a file.
_TO_ESCAPE = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd\udc80-\udcff]")
_LOST = "\ufffd".encode()
_BYTE = re.compile(rb"\\x[0189a-fA-F][0-9a-fA-F]")
_NOT_ESCAPED = re.compile(rb"[\x00-\x1f\x7f]")
_LETTERS = {"\\": "\\", "\t": "t", "\n": "n", "\r": "r"}
_ESCAPE = re.compile(rb"\\(?:([\\tnr])|x([0-9a-fA-F]{2}))")
_MEANINGS = {letter.encode(): char.encode() for char, letter in _LETTERS.items()}


class _Entry(NamedTuple):
    """A token of the vocabulary file: its line, its text, and its bytes, None if they are lost."""

    line: int
    text: bytes
    token: bytes | None


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
    """Return whether a folder holds the two files; files with other names are recognized by their content."""
    if (path / VOCAB_FILE).is_file():
        return True
    files = [path / name for name in _FOREIGN_FILES]
    if not all(map(Path.is_file, files)):
        return False
    with open_regular(files[0]) as vocab, open_regular(files[1]) as merges:
        return bool(_ID.search(vocab.read(4096)) and _MERGES.match(merges.read(4096)))


def read(path: Path, hints: Hints) -> Definition:
    """Read a folder.

    Without a sidecar the pattern is required, and every token that is neither a byte nor made by a merge is a special
    token unless these are given.
    """
    names = VOCAB_FILE, MERGES_FILE
    if not (path / VOCAB_FILE).exists() and (path / _FOREIGN_FILES[0]).exists():
        names = _FOREIGN_FILES
    vocab_file, merges_file = (path / name for name in names)
    sidecar = read_sidecar(vocab_file)
    if sidecar is None and hints.pattern == "auto":
        raise PatternNeeded(path)
    entries = _read_vocab(vocab_file, is_ours=sidecar is not None)
    merges = _read_merges(merges_file)
    made = {merged for _, _, merged in merges}
    unmerged = _unmerged_tokens(vocab_file, entries, made)
    declared = sidecar.special_tokens if sidecar else hints.special_tokens
    specials = _special_tokens(vocab_file, entries, unmerged) if declared is None else declared
    _check_special_tokens(vocab_file, specials, unmerged, made)
    special_ids = {*specials.values()}
    alphabet = {token_id: token for token_id, token in unmerged.items() if token_id not in special_ids}
    numbers = [*merges.values()]
    tokens = _tokens_of_merges(alphabet, [*merges], lambda rank: f"{merges_file}: line {numbers[rank]}")
    for (_, _, merged), number in merges.items():
        if merged not in entries:
            raise ValueError(
                f"{merges_file}: line {number}: expected the result to be in {vocab_file.name}, got {merged}"
            )
    _check_made(vocab_file, {token_id: (tokens[token_id], entries[token_id]) for token_id in made}, sidecar is not None)
    vocab = tokens | {token_id: special.encode("utf-8", "surrogatepass") for special, token_id in specials.items()}
    try:
        pairs = [(tokens[first], tokens[second]) for first, second, _ in merges]
        if sidecar is None:
            return Definition(BPEModel.of(vocab, pairs, specials, Pattern.parse(hints.pattern)))
        model = BPEModel.of(vocab, pairs, specials, sidecar.pattern, ignore_merges=sidecar.options["ignore_merges"])
        return sidecar.complete(Definition(model))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{vocab_file}: {error}") from None


def _read_vocab(path: Path, *, is_ours: bool) -> dict[int, _Entry]:
    content = read_bounded(path).removeprefix(b"\xef\xbb\xbf")
    rows: list[tuple[int, bytes, int]] = []
    start, line, line_ends = 0, 1, set()
    for match in _ID.finditer(content):
        rows.append((line, content[start : match.start()], int(match[1])))
        line += content.count(b"\n", start, match.end())
        line_ends.add(match[2])
        start = match.end()
    if tail := content[start:].strip(b"\r\n"):
        raise ValueError(f"{path}: line {line}: expected a token, a tab and an id, got {tail[:80]!r}")
    is_escaped = is_ours or all(unescape(text) is not None for _, text, _ in rows)
    entries: dict[int, _Entry] = {}
    for line, text, token_id in rows:
        if not is_escaped and b"\n" not in line_ends:  # line ends within tokens have also become CRLF
            text = text.replace(b"\r\n", b"\n")
        # Some tools write a single byte this way without escaping backslashes.
        token = unescape(text) if is_escaped or _BYTE.fullmatch(text) else text
        if token is None:
            raise ValueError(
                f"{path}: line {line}: expected \\\\, \\t, \\n, \\r or \\xNN for backslashes and control characters, "
                f"got {text[:80]!r}"
            )
        if token_id in entries:
            raise ValueError(
                f"{path}: line {line}: expected another id than on line {entries[token_id].line}, got {token_id}"
            )
        entries[token_id] = _Entry(line, text, None if _LOST in text or not text else token)
    return entries


def _read_merges(path: Path) -> dict[tuple[int, int, int], int]:
    """Return merges with their line numbers."""
    merges: dict[tuple[int, int, int], int] = {}
    pairs: dict[tuple[int, int], int] = {}
    text = decode(path, read_bounded(path)).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        parts = line.split()
        if len(parts) != 3 or not all(map(_MERGED_ID.fullmatch, parts)):
            raise ValueError(f"{path}: line {number}: expected three ids separated by tabs, got {line[:80]!r}")
        first, second, merged = map(int, parts)
        if (first, second) in pairs:
            raise ValueError(
                f"{path}: line {number}: expected another pair than on line {pairs[first, second]}, got {line[:80]!r}"
            )
        pairs[first, second] = merges[first, second, merged] = number
    return merges


def _unmerged_tokens(path: Path, entries: Mapping[int, _Entry], made: set[int]) -> dict[int, bytes]:
    """Return the tokens that are only in the vocabulary file."""
    tokens: dict[int, bytes] = {}
    for token_id, (line, text, token) in entries.items():
        if token_id in made:
            continue
        if token is None:
            raise ValueError(
                f"{path}: line {line}: no merge makes token {token_id}, and its bytes are lost, as it is written "
                f"{text.decode('utf-8', 'replace')[:80]!r}; write \\xNN for the byte NN, in hexadecimal"
            )
        tokens[token_id] = token
    return tokens


def _special_tokens(path: Path, entries: Mapping[int, _Entry], unmerged: Mapping[int, bytes]) -> dict[str, int]:
    """Return the tokens that are neither a byte nor made by a merge, as special tokens."""
    specials: dict[str, int] = {}
    for token_id, token in unmerged.items():
        if len(token) > 1:
            try:
                specials[token.decode()] = token_id
            except UnicodeDecodeError:
                raise ValueError(
                    f"{path}: line {entries[token_id].line}: no merge makes token {token_id}, {token[:80]!r}, and it "
                    "cannot be special, because it is not UTF-8; give the special tokens if it is an ordinary one"
                ) from None
    return specials


def _check_special_tokens(path: Path, specials: Mapping[str, int], unmerged: dict[int, bytes], made: set[int]) -> None:
    for special, token_id in specials.items():
        token = special.encode("utf-8", "surrogatepass")  # the model refuses lone surrogates
        if not isinstance(token_id, int) or token_id in made:
            raise ValueError(f"{path}: special token {special!r:.80} cannot have the id {token_id!r:.80}")
        if unmerged.get(token_id, token) != token:
            raise ValueError(
                f"{path}: expected token {token_id} to be the special token {special!r:.80}, got "
                f"{unmerged[token_id]!r:.80}"
            )


def _tokens_of_merges(
    alphabet: Mapping[int, bytes], merges: Sequence[tuple[int, int, int]], place: Callable[[int], str]
) -> dict[int, bytes]:
    """Return the tokens of an alphabet, and the tokens that merges (both parts, result), in any order, make of it.

    >>> _tokens_of_merges({97: b"a", 98: b"b"}, [(257, 98, 256), (97, 98, 257)], str)
    {97: b'a', 98: b'b', 257: b'ab', 256: b'abb'}
    """
    tokens = dict(alphabet)
    waiting: defaultdict[int, list[int]] = defaultdict(list)  # id → ranks of the merges that need it
    total = 0
    for first_rank in range(len(merges)):
        ranks = [first_rank]
        while ranks:
            rank = ranks.pop()
            *parts, merged = merges[rank]
            lacking = next((part for part in parts if part not in tokens), None)
            if lacking is not None:
                waiting[lacking].append(rank)
                continue
            first, second = map(tokens.__getitem__, parts)
            total += len(first) + len(second)
            if total > MAX_TOKEN_BYTES:  # every merge may double a token, so a small file could make a terabyte
                raise ValueError(
                    f"{place(rank)}: expected merges that make tokens of at most {MAX_TOKEN_BYTES} bytes in all, got "
                    f"{total} up to here, where token {merged} has {len(first) + len(second)}; no known vocabulary has "
                    "a tenth of that. Is the file damaged? If not, leave out the merges of the longest tokens"
                )
            if merged not in tokens:
                tokens[merged] = first + second
                ranks += waiting.pop(merged, ())
            elif tokens[merged] != first + second:
                raise ValueError(
                    f"{place(rank)}: expected parts of token {merged}, {tokens[merged][:80]!r}, got {first[:80]!r} and "
                    f"{second[:80]!r}"
                )
    if waiting:
        rank, lacking = min((rank, part) for part, ranks in waiting.items() for rank in ranks)
        raise ValueError(
            f"{place(rank)}: expected bytes or what other merges make of them, got {lacking}, which is neither"
        )
    return tokens


def _check_made(path: Path, made: Mapping[int, tuple[bytes, _Entry]], is_ours: bool) -> None:
    """Refuse tokens whose text contradicts the merges, except for the losses of other tools."""
    for token_id, (token, entry) in made.items():
        if entry.token != token and (is_ours or not _may_show(entry.text, token)):
            raise ValueError(
                f"{path}: line {entry.line}: expected token {token_id} to be {token[:80]!r}, which the merges make, "
                f"got {entry.text[:80]!r}"
            )


def _may_show(text: bytes, token: bytes) -> bool:
    """Return whether a text may be a lossy form of a token, with some handling of invalid UTF-8."""
    exact = token, token.decode("utf-8", "backslashreplace").encode()
    return text in exact or unescape(text) == token or _shown(text) == _shown(token)


def _shown(token: bytes) -> str:
    return re.sub(r"[\r\n]+", "\n", token.decode("utf-8", "ignore").replace("\ufffd", ""))


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
