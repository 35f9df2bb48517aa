"""Compare every family of tokenizers with the `tokenizers` library, over real vocabularies, and print a table.

    HF_BPE_TEST_DATA=DATA PYTHONPATH=tests python -m support.family_check TEXTS... --strings 210000 --record FILE

Each family's `tokenizer.json` is made over the vocabularies of GPT-2, cl100k and o200k. The ids of all pieces of the
files are compared. Generated strings and every sixteenth batch of pieces are compared in all respects: batches take
turns to be encoded without special tokens, with them, and as pairs, and ids, type ids, offsets and decoded text are
compared. Offsets are not compared where a normalizer changes the text.

The run has parts, eight for each vocabulary. In the first eight a family sees every byte of the files once, a third of
them over each vocabulary, in the following ones again over the other vocabularies. `--record` keeps the results of each
step, and a run that was stopped continues after the last one. The exit code is 1 if anything differs; the first
differences are printed on standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from hf_bpe import BPETokenizer
from hf_bpe._utils.panics import panics_as_errors
from support.families import FAMILIES, load, nasty_strings
from support.real_models import tiktoken_model

_PIECE = 4096
_BATCH = 250
_FULLY_COMPARED = 16  # one batch of this many is compared in full
_PARTS = 8  # in which a family sees every byte
_SHOWN = 3
_SURROGATES = re.compile("[\ud800-\udfff]")  # lone ones, which tokenizers refuses and hf_bpe reads as U+FFFD


@dataclass
class Result:
    """What was compared for a family.

    Attributes:
        strings: number of generated strings.
        panics: number of rows of texts at which `tokenizers` panics, so that there is nothing to compare.
        bytes: size of the pieces of files in UTF-8.
        differences: kind of comparison → number of differing texts.
        seconds: processor time of hf_bpe and of `tokenizers` for the ids of the pieces of files, in one thread each.
    """

    strings: int = 0
    panics: int = 0
    bytes: int = 0
    differences: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def check(self, kind: str, texts: Sequence[object], ours: Sequence[object], theirs: Sequence[object]) -> None:
        """Count the rows that differ, and print the first ones."""
        if ours == theirs:
            return
        for text, row, expected in zip(texts, ours, theirs, strict=True):
            if row != expected:
                self.differences[kind] = self.differences.get(kind, 0) + 1
                if sum(self.differences.values()) <= _SHOWN:
                    shown = f"  {kind}: {text!r:.100}\n    ours   {row!r:.200}\n    theirs {expected!r:.200}"
                    print(shown, file=sys.stderr)


def pieces(path: Path) -> Iterator[str]:
    """Yield a file in pieces."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        while piece := file.read(_PIECE):
            yield piece


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while batch := [*islice(stream, _BATCH)]:
        yield batch


def compare(
    ours: BPETokenizer,
    theirs: Tokenizer,
    texts: Iterable[str],
    strings: Iterable[str] = (),
    *,
    everything: bool = False,
) -> Result:
    """Compare two tokenizers: ids alone on most of the texts, everything on the others and on the strings.

    Args:
        ours, theirs: the tokenizers.
        texts, strings: what they encode.
        everything: whether words are compared, too, and offsets where a normalizer changes the text.
    """
    result = Result()
    for number, batch in enumerate(batches(texts)):
        result.bytes += sum(len(text.encode()) for text in batch)
        _compare_ids(result, ours, theirs, batch)
        if number % _FULLY_COMPARED == 0:
            _compare_all(result, ours, theirs, batch, number // _FULLY_COMPARED, everything)
    for number, batch in enumerate(batches(strings)):
        result.strings += len(batch)
        _compare_all(result, ours, theirs, batch, number, everything)
    return result


def _compare_ids(result: Result, ours: BPETokenizer, theirs: Tokenizer, texts: list[str]) -> None:
    # Processor time, since the machine may have other work.
    start = time.process_time()
    rows = ours.encode_to_lists(texts, num_workers=1)
    middle = time.process_time()
    expected = [encoding.ids for encoding in theirs.encode_batch_fast(texts, add_special_tokens=False)]
    result.seconds[0] += middle - start
    result.seconds[1] += time.process_time() - middle
    result.check("ids", texts, rows, expected)


def _compare_all(
    result: Result, ours: BPETokenizer, theirs: Tokenizer, texts: list[str], number: int, everything: bool
) -> None:
    """Compare texts, by the number of their batch without special tokens, with them, or as pairs."""
    kind = ("text", "text with special tokens", "pair")[number % 3]
    columns = (texts[::2], [*texts[1::2], texts[-1]]) if kind == "pair" else (texts,)
    rows = [*zip(*columns, strict=False)]
    added = kind != "text"
    read = [tuple(map(_SURROGATES.sub, ["\ufffd"] * len(row), row)) for row in rows]
    try:
        encodings = _encode(theirs, read, added)
    except ValueError:
        accepted = [i for i, row in enumerate(read) if not _panics(theirs, row, added)]
        result.panics += len(rows) - len(accepted)
        rows, read = [rows[i] for i in accepted], [read[i] for i in accepted]
        encodings = _encode(theirs, read, added)
    how = {"return_offsets_mapping": True, "return_token_type_ids": True}
    got = ours(*([row[i] for row in rows] for i in range(len(columns))), add_special_tokens=added, **how)
    result.check(kind, rows, got["input_ids"], [encoding.ids for encoding in encodings])
    if ours.template is not None:  # without a template they are documented to be 0
        result.check("type ids", rows, got["token_type_ids"], [encoding.type_ids for encoding in encodings])
    # Offsets of characters that a normalizer joined are documented to differ.
    normalizer = theirs.normalizer
    is_kept = normalizer is None or everything
    kept = [i for i, row in enumerate(read) if is_kept or all(normalizer.normalize_str(text) == text for text in row)]
    offsets = [encodings[i].offsets for i in kept]
    result.check("offsets", [rows[i] for i in kept], [got["offset_mapping"][i] for i in kept], offsets)
    if everything:
        words = [got.word_ids(i) for i in range(len(rows))]
        result.check("words", rows, words, [encoding.word_ids for encoding in encodings])
    decoded = theirs.decode_batch(got["input_ids"], skip_special_tokens=False)
    result.check("decode", rows, ours.batch_decode(got["input_ids"]), decoded)


def _encode(theirs: Tokenizer, rows: list[tuple[str, ...]], added: bool) -> list[Encoding]:
    with panics_as_errors():
        return theirs.encode_batch([row if len(row) == 2 else row[0] for row in rows], add_special_tokens=added)


def _panics(theirs: Tokenizer, row: tuple[str, ...], added: bool) -> bool:
    try:
        _encode(theirs, [row], added)
    except ValueError:
        return True
    return False


def table(results: dict[str, list[Result]]) -> str:
    """Return a Markdown table, one row a family."""
    rows = [
        "| family | strings | MB of files | differences | hf_bpe MB/s | tokenizers MB/s |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, parts in results.items():
        size = sum(part.bytes for part in parts) / 1e6
        differing = sum(sum(part.differences.values()) for part in parts)
        speeds = [size / max(sum(part.seconds[side] for part in parts), 1e-9) for side in (0, 1)]
        strings, panics = (sum(getattr(part, each) for part in parts) for each in ("strings", "panics"))
        found = f"{differing}, {panics} panics" if panics else f"{differing}"
        rows.append(f"| {name} | {strings:,} | {size:.1f} | {found} | {speeds[0]:.1f} | {speeds[1]:.1f} |")
    return "\n".join(rows)


def read_record(path: Path) -> dict[tuple[int, str, str], Result]:
    """Return the steps that a run recorded: part, vocabulary and family → result."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {tuple(step): Result(**result) for step, result in map(json.loads, lines)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", type=Path, help="text files, or folders of *.txt")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("HF_BPE_TEST_DATA"), help="with tiktoken/*.tiktoken"
    )
    parser.add_argument("--strings", type=int, default=6000, help="generated strings a family")
    parser.add_argument("--vocabularies", nargs="*", default=["r50k", "cl100k", "o200k"])
    parser.add_argument("--families", nargs="*", default=[*FAMILIES], metavar="NAME")
    parser.add_argument("--parts", type=int, default=None, help="how many parts to run, by default all")
    parser.add_argument("--record", type=Path, default=Path(os.devnull), help="file for the results of each step")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    files = [file for path in options.texts for file in (sorted(path.glob("*.txt")) if path.is_dir() else [path])]
    size = len(options.vocabularies)
    strings = [[*nasty_strings(options.strings // size, seed)] for seed in range(size)]
    done = read_record(options.record)
    slices = _PARTS * size
    for part in range(slices if options.parts is None else options.parts):
        for number, vocabulary in enumerate(options.vocabularies):
            steps = [(part, vocabulary, name) for name in options.families]
            if all(step in done for step in steps):
                continue
            model = tiktoken_model(options.data, vocabulary)
            for step in steps:
                if step in done:
                    continue
                theirs, ours = load(FAMILIES[step[2]], model)
                first = (part * size + part // _PARTS + number) % slices
                texts = (piece for file in files for piece in islice(pieces(file), first, None, slices))
                found = compare(ours, theirs, texts, () if part else strings[number])
                with options.record.open("a", encoding="utf-8") as record:
                    record.write(json.dumps([step, asdict(found)]) + "\n")
                done[step] = found
                print(*step, f"{found.bytes / 1e6:.1f} MB", found.differences or "equal", file=sys.stderr, flush=True)
    results = {name: [done[step] for step in done if step[2] == name] for name in options.families}
    print(table(results))
    return int(any(found.differences for found in done.values()))


if __name__ == "__main__":
    sys.exit(main())
