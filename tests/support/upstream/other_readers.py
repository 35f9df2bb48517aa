"""Other libraries that read the files that hf_bpe saves, and whether they give the same ids.

    PYTHONPATH=tests python -m support.upstream.other_readers

prints the table of docs/how-to/convert.md. `HF_BPE_READERS` names the Pythons to ask for these libraries, separated as
in PATH, because two releases of tokenizers do not fit into one environment; by default the running one is asked.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.pretokenizers import NAMES, Pattern
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer
from support.models.model_families import BOS, EOS, EXTRA, FAMILIES, load, nasty_strings
from support.samples import CORPUS
from support.strategies import CONTRACTIONS, NUMBERS, WORDS
from support.upstream.read_with import READERS

ROWS = (
    *(name for name in NAMES if name in WITH_SCANNER),
    "none",
    *(name for name, each in FAMILIES.items() if Pattern.parse(each.pre_tokenizer).canonical not in NAMES),
)
"""The named patterns that have a scanner, no pattern, and the families of other chains."""

_SCRIPT = Path(__file__).parent / "read_with.py"
_SECONDS = 300


def pythons() -> list[str]:
    """Return the Pythons to ask."""
    paths = os.environ.get("HF_BPE_READERS")
    return paths.split(os.pathsep) if paths else [sys.executable]


@functools.cache
def texts() -> tuple[str, ...]:
    """Return texts of characters of Unicode 16.0, for some readers know newer ones."""
    return tuple(map(hide_newer, nasty_strings(400, 0)))


@functools.cache
def model() -> BPEModel:
    """Return a model that learned across pre-tokens, so that its ids tell where a text was cut."""
    corpus = [*CORPUS, *map(" ".join, (WORDS, NUMBERS, CONTRACTIONS)), *(text for text in texts() if "<" not in text)]
    return train(corpus, num_merges=600, special_tokens=[BOS, EOS, EXTRA], pattern="none")


def tokenizer_of(row: str) -> BPETokenizer:
    """Return the tokenizer of a row."""
    if row in FAMILIES:
        return load(FAMILIES[row], model())[1]
    return BPETokenizer(model=replace(model(), pattern=row))


def save(folder: Path) -> tuple[dict[str, str], dict[str, list[list[int]]]]:
    """Save a tokenizer for each row; return their files and the ids of the texts."""
    files, ids = {}, {}
    for number, row in enumerate(ROWS):
        tokenizer = tokenizer_of(row)
        tokenizer.save_pretrained(folder / str(number))
        files[row] = str(folder / str(number) / "tokenizer.json")
        ids[row] = [tokenizer.encode(text, add_special_tokens=False) for text in texts()]
    return files, ids


def ask(python: str, reader: str, files: dict[str, str]) -> tuple[str | None, dict[str, dict]]:
    """Return the version of a reader, None if a Python has none, and what it makes of each file."""
    results, version = {}, None
    while len(results) < len(files):
        left = {row: path for row, path in files.items() if row not in results}
        request = json.dumps({"files": left, "texts": texts()})
        command = [python, str(_SCRIPT), reader]
        done = subprocess.run(command, input=request, capture_output=True, encoding="utf-8", timeout=_SECONDS)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if not lines:
            return None, {}
        version = lines[0]["version"]
        results |= {line["name"]: line for line in lines[1:]}
        if done.returncode:
            results[next(row for row in left if row not in results)] = {"error": "the process ended"}
    return version, results


def outcome(ours: list[list[int]], theirs: dict) -> str:
    """Return the cell of a reader and a row."""
    if "error" in theirs:
        return "refused"
    return "equal" if ours == theirs["ids"] else "**other ids**"


def columns(reader: str, files: dict[str, str], ids: dict[str, list[list[int]]]) -> dict[str, list[str]]:
    """Return a column, by name and version, for each Python that has a reader."""
    asked = [ask(python, reader, files) for python in pythons()]
    return {
        f"{reader} {version}": [outcome(ids[row], results[row]) for row in ROWS]
        for version, results in asked
        if version is not None
    }


def table(measured: dict[str, list[str]]) -> str:
    """Return the table of the page."""
    names = [row if row in FAMILIES else f"`{row}`" for row in ROWS]
    lines = [("saved", *measured), ("---",) * (1 + len(measured)), *zip(names, *measured.values(), strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        saved = save(Path(folder))
        print(table({name: cells for reader in READERS for name, cells in columns(reader, *saved).items()}), end="")
