"""Files in SentencePiece's manner around real vocabularies, compared with the `tokenizers` library.

Every normalizer of these families is put together with every pre-tokenizer around one of the vocabularies. These take
turns, and so do decoders, what becomes of unknown characters, templates and the flags of more added tokens. Strings and
texts are compared as `family_check` does; lone surrogates in strings stand for U+FFFD, as which hf_bpe reads them.
"""

from __future__ import annotations

import json
import random
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from hf_bpe import BPETokenizer
from support.character_files import (
    CONTENTS,
    DECODERS,
    FRAGMENTS,
    GEMMA_SPLIT,
    METASPACES,
    NORMALIZERS,
    PREPEND,
    REPLACE,
)
from support.family_check import Result, compare

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
UNKNOWN = {"bytes": {}, "unk": {"byte_fallback": False}, "fused unk": {"byte_fallback": False, "fuse_unk": True}}
"""What becomes of characters without a token → what the model says."""
MORE_TOKENS = 6
WORDS = ["the", "low", "er", "Größe", "naïve", "слово", "日本語", "한국어", "ไทย", "العربية", "हिन्दी", "x1", "3.14"]
WORDS += ["//", "</", "{}", "::"]
SPACES = [" ", "  ", "    ", "▁", "▁▁", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x00", "\x7f"]
UNASSIGNED = ["\u0378", "\u038b", "\ue000", "\uf8ff", "\ufdd0", "\U000e0041", "\U0010ffff", "\U00032e88"]
BYTES = ["<0x41>", "<0x0A>", "<0xE2><0x96><0x81>", "<0x", "0x41>"]
SURROGATES = {"high": ["\ud800", "\udbff"], "low": ["\udc00", "\udc80", "\udfff"]}  # not both in a string: they join


def nasty_strings(number: int, tokens: list[str], added: list[str], seed: int = 0) -> Iterator[str]:
    """Yield random strings of all that tells tokenizers of characters apart, one in eight with lone surrogates."""
    draw = random.Random(f"{number} {seed}")
    kinds = [WORDS, WORDS, SPACES, SPACES, FRAGMENTS, UNASSIGNED, BYTES, tokens, added or WORDS]
    for _ in range(number):
        parts = [draw.choice(draw.choice(kinds)) for _ in range(draw.randrange(1, 10))]
        if draw.random() < 0.3:
            code = draw.randrange(0x30000)
            parts.append(chr(code) if unicodedata.category(chr(code)) != "Cs" else "?")
        if draw.random() < 0.125:
            parts.append(draw.choice(SURROGATES[draw.choice([*SURROGATES])]))
        draw.shuffle(parts)
        yield "".join(parts) * draw.choice((1, 1, 1, 2, 17))


def combined(content: dict[str, Any], number: int, normalizer: Any, pre_tokenizer: Any) -> tuple[str, dict[str, Any]]:
    """Return what is said of a file with these parts, and its content: all else is chosen by its number."""
    draw = random.Random(number)
    unknown = draw.choice([*UNKNOWN])
    ids = content["model"]["vocab"]
    added = [*content["added_tokens"]]
    contents = {token["content"] for token in added}
    following = max(*ids.values(), *(token["id"] for token in added)) + 1
    for text in draw.sample([text for text in CONTENTS if text not in contents], MORE_TOKENS):
        flags = {flag: draw.random() < 0.5 for flag in FLAGS}
        added.append({"id": ids.get(text, following), "content": text, **flags})
        following += text not in ids
    # Tokens are not searched in text that has another beginning, or in which two are the same.
    if normalizer == NORMALIZERS["strip"] or (normalizer == PREPEND and pre_tokenizer in METASPACES):
        added = [{**token, "normalized": False} for token in added]
    made = {
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "decoder": DECODERS[number % len(DECODERS)],
        "model": {**content["model"], **UNKNOWN[unknown]},
    }
    if number % 4 == 0:
        made["post_processor"] = None
    return unknown, {**content, **made}


def files(folders: list[Path]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield the name and the content of each file, and whether it is real."""
    contents = [json.loads((folder / "tokenizer.json").read_text("utf-8")) for folder in folders]
    for folder, content in zip(folders, contents, strict=True):
        yield folder.name, content, True
    number = 0
    for name, normalizer in NORMALIZERS.items():
        for pre_tokenizer in [None, *METASPACES, *([GEMMA_SPLIT] if normalizer == REPLACE else [])]:
            which = number % len(folders)
            unknown, content = combined(contents[which], number, normalizer, pre_tokenizer)
            shown = "none" if pre_tokenizer is None else pre_tokenizer["type"]
            if shown == "Metaspace":
                shown += f" {pre_tokenizer['prepend_scheme']}{', split' if pre_tokenizer['split'] else ''}"
            yield f"{folders[which].name}: {name}; {shown}; {unknown}; {number}", content, False
            number += 1


def check(content: dict[str, Any], texts: Iterator[str], strings: int) -> Result | str:
    """Return what was compared, or why the file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        path.write_text(json.dumps(content), "utf-8")
        try:
            ours = BPETokenizer.convert_from(path)
        except ValueError as error:
            return str(error).replace(folder, "")
        theirs = Tokenizer.from_file(str(path))
    tokens = [token for token in content["model"]["vocab"] if token]
    added = [token["content"] for token in content["added_tokens"]]
    return compare(ours, theirs, texts, nasty_strings(strings, tokens, added), everything=True)
