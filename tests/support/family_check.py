"""Compare every family of tokenizers with the `tokenizers` library, over real vocabularies, and print a table.

    HF_BPE_TEST_DATA=DATA PYTHONPATH=tests python -m support.family_check TEXTS... --strings 200000

Each family's `tokenizer.json` is made over the vocabularies of GPT-2, cl100k and o200k. Ids with and without special
tokens, pairs, offsets and decoded text are compared on all files, in pieces of a few kilobytes, and on generated
strings. The exit code is 1 if anything differs; the first differences of each family are printed on standard error.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from support.families import BOS, EOS, FAMILIES, Family, load
from support.real_models import tiktoken_model
from support.strategies import CONTRACTIONS, NUMBERS, OTHERS, SPACES, UNKNOWN, WORDS
from tokenizers import Tokenizer

from hf_bpe import BPETokenizer

PARTS = [
    *(
        *CONTRACTIONS,
        *WORDS,
        *NUMBERS,
        *OTHERS,
        *UNKNOWN,
        *SPACES,
        BOS,
        EOS,
        "<think>",
        "<｜User｜>",
        "  ",
        "   ",
        "\n \n",
    ),
    *(
        "12",
        "1234567",
        "你好",
        "日本",
        "アイ",
        "中・文",
        "  \n",
        "e\u0301",
        "１",
        "Ⅷ",
        "(",
        "|",
        ")",
        "[",
        "]",
        "\r\n\r\n",
        "'S",
    ),
    *(
        "ſ",
        "K",
        "ǅ",
        "\u200d",
        "\ufeff",
        "。",
        "，",
        "…",
        "\t\t",
        "ﷺ",
        "한글",
        "ไทย",
        "नि",
        "😀",
        "camelCase",
        "HTMLParser",
        "/",
    ),
]
_PIECE = 4096
_BATCH = 500
_SHOWN = 3


@dataclass
class Result:
    """What was compared for a family over a vocabulary.

    Attributes:
        strings, bytes: how many texts, and their size in UTF-8.
        differences: kind of comparison → number of differing texts.
        seconds: of hf_bpe and of `tokenizers`, for ids alone.
    """

    strings: int = 0
    bytes: int = 0
    differences: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def check(self, kind: str, text: str, ours: object, theirs: object) -> None:
        """Count a difference, and print the first ones."""
        if ours != theirs:
            self.differences[kind] = self.differences.get(kind, 0) + 1
            if sum(self.differences.values()) <= _SHOWN:
                print(f"  {kind}: {text!r:.300}\n    ours   {ours!r:.300}\n    theirs {theirs!r:.300}", file=sys.stderr)


def nasty_strings(number: int, seed: int) -> Iterator[str]:
    """Yield strings of parts that the families tell apart, and of single characters of many scripts."""
    rng = random.Random(seed)
    for _ in range(number):
        parts = rng.choices(PARTS, k=rng.randrange(14))
        if rng.random() < 0.3:
            parts.insert(rng.randrange(len(parts) + 1), chr(rng.choice([*range(0x80, 0x3400, 7), 0x1F600, 0x20000])))
        yield "".join(parts)


def pieces(path: Path) -> Iterator[str]:
    """Yield a file in pieces."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        while piece := file.read(_PIECE):
            yield piece


def compare(family: Family, ours: BPETokenizer, theirs: Tokenizer, texts: Iterable[str]) -> Result:
    """Compare two tokenizers of a family on texts."""
    result = Result()
    stream = iter(texts)
    while batch := [*islice(stream, _BATCH)]:
        _compare_batch(result, family, ours, theirs, batch)
    return result


def _compare_batch(result: Result, family: Family, ours: BPETokenizer, theirs: Tokenizer, texts: list[str]) -> None:
    result.strings += len(texts)
    result.bytes += sum(len(text.encode()) for text in texts)
    # One thread each; `tokenizers` without offsets, which is its fastest way to ids.
    start = time.perf_counter()
    rows = ours.encode_to_lists(texts, num_workers=1)
    middle = time.perf_counter()
    expected = [encoding.ids for encoding in theirs.encode_batch_fast(texts, add_special_tokens=False)]
    result.seconds[0] += middle - start
    result.seconds[1] += time.perf_counter() - middle
    # Offsets of characters that a normalizer joined are documented to differ.
    has_offsets = family.normalizer is None
    calls = [ours(texts, add_special_tokens=added, return_offsets_mapping=has_offsets) for added in (False, True)]
    for number, text in enumerate(texts):
        result.check("ids", text, rows[number], expected[number])
        for added, call in zip((False, True), calls, strict=True):
            encoding = theirs.encode(text, add_special_tokens=added)
            kind = "with special tokens" if added else "call"
            result.check(kind, text, call["input_ids"][number], encoding.ids)
            if has_offsets:
                result.check("offsets", text, call["offset_mapping"][number], encoding.offsets)
        other = texts[number - 1][:64]
        result.check("pair", text, ours(text, other)["input_ids"], theirs.encode(text, other).ids)
        ids = rows[number]
        result.check("decode", text, ours.decode(ids), theirs.decode(ids, skip_special_tokens=False))


def table(results: dict[str, list[Result]]) -> str:
    """Return a Markdown table, one row a family."""
    rows = [
        "| family | strings | MB | differences | hf_bpe MB/s | tokenizers MB/s |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, parts in results.items():
        size = sum(part.bytes for part in parts) / 1e6
        differing = sum(sum(part.differences.values()) for part in parts)
        speeds = [size / max(sum(part.seconds[side] for part in parts), 1e-9) for side in (0, 1)]
        strings = sum(part.strings for part in parts)
        rows.append(f"| {name} | {strings:,} | {size:.1f} | {differing} | {speeds[0]:.1f} | {speeds[1]:.1f} |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", type=Path, help="text files, or folders of *.txt")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("HF_BPE_TEST_DATA"), help="with tiktoken/*.tiktoken"
    )
    parser.add_argument("--strings", type=int, default=2000, help="generated strings a family and vocabulary")
    parser.add_argument("--vocabularies", nargs="*", default=["r50k", "cl100k", "o200k"])
    parser.add_argument("--families", nargs="*", default=[*FAMILIES], metavar="NAME")
    parser.add_argument("--bytes", type=int, default=None, help="read at most this many bytes of each file")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    files = [file for path in options.texts for file in (sorted(path.glob("*.txt")) if path.is_dir() else [path])]
    most = None if options.bytes is None else -(-options.bytes // _PIECE)
    results: dict[str, list[Result]] = {name: [] for name in options.families}
    for vocabulary in options.vocabularies:
        model = tiktoken_model(options.data, vocabulary)
        for number, name in enumerate(options.families):
            family = FAMILIES[name]
            theirs, ours = load(family, model)
            texts = [piece for file in files for piece in islice(pieces(file), most)]
            found = compare(family, ours, theirs, [*texts, *nasty_strings(options.strings, number)])
            results[name].append(found)
            print(f"{vocabulary} {name}: {found.strings} strings, {found.differences or 'equal'}", file=sys.stderr)
    print(table(results))
    return int(any(part.differences for parts in results.values() for part in parts))


if __name__ == "__main__":
    sys.exit(main())
