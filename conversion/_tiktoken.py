"""`.tiktoken` rank files: a token in base64 and its rank per line.

The rank of a token is its id. The file has no merges: `recover_merges` computes the merges that the ranks imply, and
explains why they give the same ids. Nor has it a pattern or special tokens, which the creator of a `tiktoken.Encoding`
must know: ours are in a sidecar, and without one they must be given.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hf_bpe._utils.input_files import read_bounded
from hf_bpe.conversion._sidecar import SIDECAR_FEATURES, WHOLE_TEXT, read_sidecar, write_sidecar
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.encoding._merge_trees import last_pair
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._features import FEATURES
from hf_bpe.formats._format import Format, Hints, PatternNeeded, Peer
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern

if TYPE_CHECKING:
    import tiktoken

# SHA-256 of OpenAI's files, as tiktoken verifies them → pattern and special tokens of the encoding.
_END = "<|endoftext|>"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_OPENAI_FILES: dict[str, tuple[str, dict[str, int]]] = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": ("gpt2", {_END: 50256}),  # r50k_base
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": ("gpt2", {_END: 50256}),  # p50k_base
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": (  # cl100k_base
        "cl100k",
        {_END: 100257, **dict(zip(_FIM, range(100258, 100261), strict=True)), "<|endofprompt|>": 100276},
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": (  # o200k_base
        "o200k",
        {_END: 199999, "<|endofprompt|>": 200018},
    ),
}

_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) ([0-9]{1,10})")
_BOM = b"\xef\xbb\xbf"


def recover_merges(ranks: Mapping[bytes, int]) -> list[Merge]:
    r"""Return the merges, in rank order, that encode like a vocabulary in which any two tokens merge to a third.

    tiktoken encodes this way: of all neighbors whose concatenation is a token, the two whose token has the lowest rank
    merge first, the leftmost first. (Whole words that are tokens are not merged at all; see `BPEModel`.)

    One merge per token is enough: what happens inside a segment of text whose ends no merge has crossed depends on that
    segment alone. So wherever two tokens merge to T, they are the last two tokens to which the bytes of T alone are
    reduced. T therefore has one pair, or none if its bytes alone are not reduced to T; and the pair has T's rank, so
    the order of the merges is that of the tokens.

    Args:
        ranks: token → rank. Every token of several bytes may get a merge.

    >>> recover_merges({b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5, b"ca": 7})
    [(b'b', b'c'), (b'a', b'b'), (b'a', b'bc'), (b'c', b'a')]
    >>> recover_merges({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3, b"abba": 4})  # the last one cannot be reached
    [(b'a', b'b'), (b'a', b'ab')]
    """
    tokens = [token for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1]
    words = ([bytes([byte]) for byte in token] for token in tokens)
    pairs = (last_pair(word, lambda first, second: ranks.get(first + second)) for word in words)
    return [pair for pair in pairs if pair is not None and pair[0] in ranks and pair[1] in ranks]


def model_of_ranks(ranks: Mapping[bytes, int], special_tokens: Mapping[str, int], pattern: AnyPattern) -> BPEModel:
    """Return a model that gives the same ids as tiktoken.

    Args:
        ranks: token → rank, which is its id: tiktoken's `mergeable_ranks`.
        special_tokens: content → id.
        pattern: the split pattern.

    The model has `ignore_merges`, because tiktoken looks up whole words first; if merges make every token this has no
    effect, and a `Pipeline` drops it.

    Raises:
        ValueError: two tokens have one id, or the model is otherwise invalid.

    >>> model_of_ranks({b"l": 0, b"o": 1, b"lo": 2}, {"<|endoftext|>": 3}, "gpt2").merges
    [(b'l', b'o')]
    """
    vocab: dict[int, bytes] = {}
    for token, token_id in [*ranks.items(), *((text.encode(), token_id) for text, token_id in special_tokens.items())]:
        if vocab.setdefault(token_id, token) != token:
            raise ValueError(f"tokens {vocab[token_id]!r:.80} and {token!r:.80} have the same id, {token_id}")
    return BPEModel.of(vocab, recover_merges(ranks), special_tokens, Pattern.parse(pattern), ignore_merges=True)


def definition_of_encoding(encoding: tiktoken.Encoding) -> Definition:
    """Return the definition of a `tiktoken.Encoding`: its ranks, special tokens and pattern."""
    from hf_bpe.conversion._expressions import read_expression  # parses, which other formats do not

    # tiktoken has no public API for these; its own documentation uses them to extend encodings.
    ranks, special_tokens = encoding._mergeable_ranks, encoding._special_tokens
    pattern = read_expression(encoding._pat_str, ranks)
    return Definition(model_of_ranks(ranks, special_tokens, pattern))


def encoding_named(name: str) -> tiktoken.Encoding:
    """Return the encoding of tiktoken that is called so, or that the model of this name uses.

    Only whole names count: tiktoken would take gpt-4o-mine for a gpt-4o, too. An encoding that is not in tiktoken's
    cache (`TIKTOKEN_CACHE_DIR`) is downloaded by it.
    """
    try:
        import tiktoken
        from tiktoken.model import MODEL_TO_ENCODING
    except ImportError:
        raise FileNotFoundError(
            f"no file or folder {name!r:.80}; a name of tiktoken, such as cl100k_base, needs its package: "
            "pip install tiktoken"
        ) from None
    encoding = name if name in tiktoken.list_encoding_names() else MODEL_TO_ENCODING.get(name)
    if encoding is None:
        raise FileNotFoundError(f"no file or folder {name!r:.80}, and no encoding or model of tiktoken of this name")
    try:
        return tiktoken.get_encoding(encoding)
    except OSError as error:  # of requests
        raise OSError(
            f"{name!r:.80} is no file or folder here, but tiktoken's encoding {encoding}, which it cannot get; set "
            f"TIKTOKEN_CACHE_DIR to a folder that has it: {error}"
        ) from error


def _matches(path: Path, head: bytes) -> bool:
    first = head.removeprefix(_BOM).split(b"\n", 1)[0].rstrip(b"\r")
    return _LINE.fullmatch(first) is not None or (path.suffix == ".tiktoken" and not path.is_dir())


def _read(path: Path, hints: Hints) -> Definition:
    ranks = read_ranks(path)
    sidecar = read_sidecar(path)
    pattern = hints.pattern if sidecar is None else sidecar.pattern
    special_tokens = (hints.special_tokens or {}) if sidecar is None else sidecar.special_tokens
    if sidecar is None and hints.pattern == "auto":
        entry = _OPENAI_FILES.get(hashlib.sha256(read_bounded(path)).hexdigest())
        if entry is None:
            raise PatternNeeded(
                path, " (r50k_base and p50k_base of OpenAI are of gpt2, cl100k_base of cl100k, o200k_base of o200k)"
            )
        pattern, special_tokens = entry[0], (entry[1] if hints.special_tokens is None else special_tokens)
    try:
        model = model_of_ranks(ranks, special_tokens, pattern)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if sidecar is None:
        return Definition(model)
    return sidecar.complete(Definition(model))


def read_ranks(path: Path) -> dict[bytes, int]:
    """Return token → rank of a rank file."""
    ranks: dict[bytes, int] = {}
    tokens: dict[int, bytes] = {}
    for number, line in enumerate(read_bounded(path).removeprefix(_BOM).split(b"\n"), start=1):
        line = line.removesuffix(b"\r")
        if not line:
            continue
        where = f"{path}: line {number}"
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{where}: expected a token in base64, a space and its rank, got {line[:80]!r}")
        try:
            token, rank = base64.b64decode(match[1], validate=True), int(match[2])
        except binascii.Error as error:
            raise ValueError(f"{where}: {match[1][:80]!r} is not base64: {error}") from None
        if token in ranks:
            raise ValueError(f"{where}: token {token!r:.80} occurs twice, with the ranks {ranks[token]} and {rank}")
        if rank in tokens:
            raise ValueError(f"{where}: tokens {tokens[rank]!r:.80} and {token!r:.80} have the same rank, {rank}")
        ranks[token] = rank
        tokens[rank] = token
    if not ranks:
        raise ValueError(f"{path}: expected tokens and ranks, got an empty file")
    return ranks


def _write(definition: Definition, path: Path) -> None:
    from hf_bpe.conversion._expressions import check_means_the_same

    model = definition.model
    specials = {special.encode() for special in model.special_tokens}
    ranks = {token: token_id for token_id, token in model.vocab.items() if token not in specials}
    for byte in map(bytes, zip(range(256))):
        if byte not in ranks:
            raise ValueError(f"the byte {byte!r} has no token, so tiktoken would fail at it")
    _check_merges(model, ranks)
    check_means_the_same(model.pre_tokenizer)
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
    path.write_bytes(b"".join(lines))
    write_sidecar(definition, path)


def _check_merges(model: BPEModel, ranks: Mapping[bytes, int]) -> None:
    """Refuse merges that differ from tiktoken's."""
    theirs = {first + second: (first, second) for first, second in recover_merges(ranks)}
    made: set[bytes] = set()
    last = -1
    for first, second in model.merges:
        token = first + second
        if token in made:
            raise ValueError(f"two merges make the token {token!r:.80}, but tiktoken has only one")
        made.add(token)
        if theirs.get(token) != (first, second):
            raise ValueError(
                f"tiktoken would make the token {token!r:.80} of {_shown(theirs.get(token))}, and this model makes it "
                f"of {_shown((first, second))}, so some texts would get other ids; choose another format"
            )
        if ranks[token] < last:
            raise ValueError(
                f"tiktoken merges in the order of ids, but the merge to {token!r:.80}, with the id {ranks[token]}, "
                f"comes after the one with the id {last}"
            )
        last = ranks[token]
    for token in theirs:
        if token not in made:
            raise ValueError(
                f"tiktoken would make the token {token!r:.80} of {_shown(theirs[token])}, and no merge makes it here, "
                "so some texts would get other ids; choose another format"
            )
    for token, token_id in ranks.items():
        if len(token) > 1 and token not in made and not model.ignore_merges:
            raise ValueError(
                f"no merge makes token {token_id}, {token!r:.80}; tiktoken would take words for it that are the whole "
                "token, for it looks for those first"
            )


def _shown(parts: tuple[bytes, bytes] | None) -> str:
    return "no two tokens" if parts is None else f"{parts[0]!r} and {parts[1]!r}"


def _peer(path: Path, definition: Definition) -> Peer:
    from importlib import metadata  # takes as long as a quarter of a command, which few need

    import tiktoken

    encoding = tiktoken.Encoding(
        path.name,
        pat_str=definition.model.pre_tokenizer.expression or WHOLE_TEXT,
        mergeable_ranks=read_ranks(path),
        special_tokens=definition.model.special_ids(),
    )
    name = f"tiktoken {metadata.version('tiktoken')}"
    return Peer(name, lambda texts, _: encoding.encode_batch(texts, allowed_special="all"))


# Of what decides ids only this: with the rest, other readers of the ranks would encode differently.
_IN_SIDECAR = frozenset({"pattern", "special_tokens", "bos_eos", "template"})

FORMAT = Format(
    name="tiktoken",
    what="a .tiktoken rank file",
    is_file=True,
    carries=frozenset({"ignore_merges"}),
    matches=_matches,
    read=_read,
    write=_write,
    has_chains=False,
    sidecar=_IN_SIDECAR | {name for name in SIDECAR_FEATURES if not FEATURES[name].decides_ids},
    peer=_peer,
    suffix=".tiktoken",
)
