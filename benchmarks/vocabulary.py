"""The vocabulary of a measurement in every format that a peer may want, so that no peer's time holds a conversion."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from benchmarks.job import GPT2, SEPARATOR
from benchmarks.peers._merges import from_ranks

CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
O200K = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
PATTERNS = {"gpt2": GPT2, "cl100k": CL100K, "o200k": O200K, "llama3": CL100K, "characters": ""}
"""Kind of a vocabulary → its split pattern. Llama 3's is written in another way in its files, and cuts alike."""

VOCAB, MERGES = "vocab.json", "merges.txt"
RANKS = "ranks.tiktoken"
TOKENIZER = "tokenizer.json"


def prepare(
    folder: Path,
    pattern: str,
    *,
    gpt2: Path | None = None,
    ranks: Path | None = None,
    tokenizer_json: Path | None = None,
) -> dict[str, Any]:
    """Write a vocabulary to a folder in every format named above; return what to say of it in results.

    Args:
        folder: an empty folder.
        pattern: its kind, one of PATTERNS.
        gpt2: a folder with `vocab.json` and `merges.txt`, of which a token SEPARATOR may be part; or
        ranks: a rank file of tiktoken; or
        tokenizer_json: a `tokenizer.json` that takes whole words from the vocabulary before it merges, as Llama 3's.
            It is copied, and only RANKS are made of it, because no list of merges with its ids says the same. Or one in
            the manner of SentencePiece, of the kind "characters", which is only copied.

    Raises:
        ValueError: merges whose tokens are not numbered in their order, so that ranks cannot say the same.
    """
    if tokenizer_json is not None:
        model = json.loads(tokenizer_json.read_text(encoding="utf-8"))["model"]
        shutil.copy(tokenizer_json, folder / TOKENIZER)
        if pattern == "characters":
            return {"pattern": pattern, "separator_id": 0, "tokens": len(model["vocab"])}
        if not model.get("ignore_merges"):
            raise ValueError(f"{tokenizer_json}: expected a model that takes whole words first; give its ranks")
        vocab = model["vocab"]
        vocab.setdefault(SEPARATOR, max(vocab.values()) + 1)
        return _describe(folder, pattern, vocab)
    if gpt2 is not None:
        vocab = json.loads((gpt2 / VOCAB).read_text(encoding="utf-8"))
        lines = (gpt2 / MERGES).read_text(encoding="utf-8").split("\n")
        merges = [line for line in lines if line and not line.startswith("#version")]
        made = [vocab[line.replace(" ", "")] for line in merges]
        if made != sorted(made):
            raise ValueError(f"{gpt2}: the tokens are not numbered in the order of their merges")
    elif ranks is not None:
        tokens = read_ranks(ranks)
        vocab = {_printable(token): rank for token, rank in tokens.items()}
        merges = [f"{_printable(one)} {_printable(two)}" for one, two in from_ranks(tokens)]
    else:
        raise ValueError("no vocabulary: expected the folder of GPT-2's two files, a rank file, or a tokenizer.json")
    vocab.setdefault(SEPARATOR, max(vocab.values()) + 1)  # rank files leave it to the code around them

    (folder / VOCAB).write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    (folder / MERGES).write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    _save_tokenizer(folder, pattern)
    return _describe(folder, pattern, vocab)


def _describe(folder: Path, pattern: str, vocab: dict[str, int]) -> dict[str, Any]:
    """Write RANKS, and return what to say of the vocabulary."""
    by_rank = sorted((rank, _raw(token)) for token, rank in vocab.items() if token != SEPARATOR)
    lines = [f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in by_rank]
    (folder / RANKS).write_text("".join(lines), encoding="utf-8")
    digest = hashlib.sha256((folder / RANKS).read_bytes()).hexdigest()
    return {"pattern": pattern, "separator_id": vocab[SEPARATOR], "tokens": len(vocab), "ranks_sha256": digest}


def read_ranks(path: Path) -> dict[bytes, int]:
    """Return a rank file of tiktoken as token → rank."""
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def _save_tokenizer(folder: Path, pattern: str) -> None:
    # Here and below not at the top: peers import this module for its names, and what it brings counts as theirs.
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.BPE.from_file(str(folder / VOCAB), str(folder / MERGES)))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern == "gpt2")
    split = pre_tokenizers.Split(Regex(PATTERNS[pattern]), "isolated")
    tokenizer.pre_tokenizer = byte_level if pattern == "gpt2" else pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([SEPARATOR])
    tokenizer.save(str(folder / TOKENIZER))


def _printable(token: bytes) -> str:
    from hf_bpe.pretokenizers import to_printable

    return to_printable(token)


def _raw(token: str) -> bytes:
    from hf_bpe.pretokenizers import from_printable

    raw = from_printable(token)
    if raw is None:
        raise ValueError(f"{token!r} is not written in the characters of vocab.json")
    return raw
