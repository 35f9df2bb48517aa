"""GPT-2's two files: `vocab.json`, printable token → id, and `merges.txt`, one merge per line in rank order.

The format carries ids, merges and special tokens, but no pattern, which the reader must give.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import cast

import tokenizers
from tokenizers import models, pre_tokenizers

from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.input_files import decode, parse_json_object, read_bounded
from hf_bpe.core._arrays import MergeIds, TokenArrays, change_tokens, find_tokens
from hf_bpe.core._checks import check_vocab_ids
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.native_readers import FileModel, read_vocab_and_merges
from hf_bpe.formats._format import Format, Hints, Peer
from hf_bpe.pretokenizers._byte_level import from_printable, from_printable_all
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern

VOCAB_FILE = "vocab.json"
MERGES_FILE = "merges.txt"
_HEADER = b"#version: 0.2\n"


def read_gpt2(
    vocab_file: str | os.PathLike[str],
    merges_file: str | os.PathLike[str],
    *,
    special_tokens: Iterable[str] | None = None,
    pattern: AnyPattern = "gpt2",
) -> BPEModel:
    """Read `vocab.json` and `merges.txt`, with ids in any order and with gaps.

    Args:
        vocab_file: a JSON object of printable token → id.
        merges_file: two printable tokens per line, separated by a space. The header `#version: …` is optional, line
            ends may be CRLF, empty lines are skipped.
        special_tokens: the special tokens of the vocabulary; others are ignored. None for every token that is neither a
            byte nor in any merge, which is right for GPT-2. In both cases a token with a character that stands for no
            byte is a special token. An empty token, as Whisper's files have, is left out: no text is encoded to it.
        pattern: the split pattern, which the files do not carry.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is malformed, with the location; or the model is not valid.
    """
    return read_gpt2_with_unused(vocab_file, merges_file, special_tokens=special_tokens, pattern=pattern)[0]


def read_gpt2_with_unused(
    vocab_file: str | os.PathLike[str],
    merges_file: str | os.PathLike[str],
    *,
    special_tokens: Iterable[str] | None = None,
    pattern: AnyPattern = "gpt2",
    leave_out_ordinary: bool = False,
) -> tuple[BPEModel, dict[str, int]]:
    """Read a model like `read_gpt2`, and also return the entry of an empty token, if there is one, with its id.

    With `leave_out_ordinary`, special tokens that are bytes or in merges are ordinary instead of refused; transformers
    makes any token special without removing it from the model.
    """
    entries, unmerged, tokens, merges = _read_files(Path(vocab_file), Path(merges_file))
    unused = {"": unmerged.pop("")} if "" in unmerged else {}
    specials = {text for text in unmerged if from_printable(text) is None}
    if special_tokens is None:
        specials |= {text for text in unmerged if len(text) != 1}
    elif isinstance(special_tokens, str):
        raise TypeError(
            f"special_tokens: expected a list of str, got {special_tokens!r:.80}; write [{special_tokens!r:.80}]"
        )
    else:
        chosen = entries.find(text for text in {*special_tokens} if isinstance(text, str)).keys() - unused.keys()
        merged = chosen.difference(unmerged)
        if leave_out_ordinary:
            chosen -= merged | {text for text in chosen if len(text) == 1 and text not in specials}
        elif merged and isinstance(merges, MergeIds):
            merges = merges.pairs(cast("TokenArrays", tokens).to_dict())  # to be refused by the model
        specials |= chosen
    contents = {i: text.encode("utf-8", "surrogatepass") for text, i in entries.find(specials).items()}
    vocab = change_tokens(tokens, {**contents, **dict.fromkeys(unused.values())})
    if isinstance(vocab, TokenArrays) and not contents.keys() >= {*find_tokens(tokens, contents.values()).values()}:
        vocab = vocab.to_dict()  # two tokens have the same bytes
    try:
        model = BPEModel.of(vocab, merges, specials, Pattern.parse(pattern))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{vocab_file}, {merges_file}: {error}") from error
    return model, unused


def write_gpt2(model: BPEModel, folder: str | os.PathLike[str], *, prefix: str = "") -> tuple[Path, Path]:
    """Write `vocab.json` and `merges.txt` into a folder atomically; return their paths.

    The pattern is not written, because the format cannot hold it: readers assume GPT-2's.

    Raises:
        OSError: the files cannot be written.
    """
    # A blank line would break the Rust reader; there is none, as no token is empty and no printable form has a space.
    tokens, specials = model.token_arrays, model.special_ids().values() if model.alphabet.is_bytes else None
    entries = tokens.write("json", specials, ('"', '": ', ", "))  # as json.dumps, but faster
    merges = tokens.write("plain", specials, ("", " ", "\n"), model.merge_ids)
    names = prefix + VOCAB_FILE, prefix + MERGES_FILE
    with staged_folder(folder, last=names[:1]) as staging:
        (staging / names[0]).write_bytes(b"{%s}" % entries.removesuffix(b", "))
        (staging / names[1]).write_bytes(_HEADER + merges)
    return Path(folder, names[0]), Path(folder, names[1])


def _read_files(vocab_file: Path, merges_file: Path) -> FileModel:
    content = read_bounded(vocab_file)
    with suppress(OSError, ValueError):  # which come after those of the other file
        if (read := read_vocab_and_merges(content, read_bounded(merges_file))) is not None:
            return read
    entries = parse_json_object(vocab_file, decode(vocab_file, content))
    check_vocab_ids(entries, str(vocab_file))
    tokens = dict(zip(entries, from_printable_all([*entries]), strict=True))
    merges = _read_irregular_merges(merges_file, decode(merges_file, read_bounded(merges_file)), tokens)
    return FileModel.of_pairs(entries, tokens, merges)


def _read_irregular_merges(path: Path, text: str, tokens: dict[str, bytes | None]) -> list[tuple[bytes, bytes]]:
    """Read irregular merges and name the first malformed line; return merges that only the model can refuse."""
    # Only these end a line: str.splitlines would also split at characters that occur in merges of other vocabularies.
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].startswith("#version"):  # only there, because merges may begin with #, too
        lines[0] = ""
    # A line of one part has an empty second part; a line of three has a space in the second, which stands for no byte.
    parts = (line.partition(" ") for line in lines if line)
    merges = [
        (tokens.get(first) or from_printable(first), tokens.get(second) or from_printable(second))
        for first, _, second in parts
    ]
    if not all(chain.from_iterable(merges)):
        line = next(line for line, merge in zip(filter(None, lines), merges, strict=True) if not all(merge))
        raise ValueError(
            f"{path}: line {lines.index(line) + 1}: expected two printable tokens and a space, got {line[:80]!r}"
        )
    return cast("list[tuple[bytes, bytes]]", merges)


def _matches(path: Path, head: bytes) -> bool:
    return path.is_dir() and (path / VOCAB_FILE).is_file() and (path / MERGES_FILE).is_file()


def _read(path: Path, hints: Hints) -> Definition:
    pattern = "gpt2" if hints.pattern == "auto" else hints.pattern
    special_tokens = None if hints.special_tokens is None else [*hints.special_tokens]
    model, unused = read_gpt2_with_unused(
        path / VOCAB_FILE, path / MERGES_FILE, special_tokens=special_tokens, pattern=pattern
    )
    return Definition(model, settings={"unused_tokens": unused or None})


def _write(definition: Definition, path: Path) -> None:
    model = definition.model
    made = {first + second for first, second in model.merges}
    specials = {special.encode() for special in model.special_tokens}
    for token_id, token in model.vocab.items():
        if len(token) > 1 and token not in made and token not in specials:
            raise ValueError(
                f"no merge makes token {token_id}, {token!r:.80}, and GPT-2's files cannot say that it is not a "
                "special token, so readers would find it in text"
            )
    write_gpt2(model, path)


def _peer(path: Path, definition: Definition) -> Peer | None:
    if definition.model.pattern != "gpt2":
        return None  # no other library has this option
    backend = tokenizers.Tokenizer(models.BPE.from_file(str(path / VOCAB_FILE), str(path / MERGES_FILE)))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.add_special_tokens([*definition.model.special_tokens])
    return Peer(
        f"tokenizers {tokenizers.__version__}",
        lambda texts, added: [encoding.ids for encoding in backend.encode_batch_fast(texts)],
    )


FORMAT = Format(
    name="gpt2",
    what="GPT-2's vocab.json and merges.txt",
    is_file=False,
    carries=frozenset({"special_tokens"}),
    patterns=frozenset({"gpt2"}),
    matches=_matches,
    read=_read,
    write=_write,
    peer=_peer,
    last=(VOCAB_FILE,),
)
