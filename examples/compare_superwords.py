"""Train plain BPE and SuperBPE on the same text, and compare the tokens that held-out text takes.

Usage: python examples/compare_superwords.py [CORPUS] [--vocab-size N] [--after SHARE]

CORPUS is a text file; every tenth line is held out. Without one the script takes this project's documentation.
"""

import argparse
from pathlib import Path

from hf_bpe import BPETokenizer
from hf_bpe.training import Superwords

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, help="a text file; default: the documentation")
    parser.add_argument("--vocab-size", type=int, default=2000)
    parser.add_argument("--after", type=float, default=0.9, help="the share of the merges that stage 1 learns")
    given = parser.parse_args()
    paths = [given.corpus] if given.corpus else sorted((ROOT / "docs").rglob("*.md"))
    lines = "".join(path.read_text(encoding="utf-8") for path in paths).splitlines(keepends=True)
    held_out = "".join(lines[::10])
    lines = [line for number, line in enumerate(lines) if number % 10]
    text = ["".join(lines[start : start + 1000]) for start in range(0, len(lines), 1000)]

    after = int(given.after * (given.vocab_size - 256))
    for name, superwords in {"plain BPE": None, "SuperBPE": Superwords(after=after)}.items():
        tokenizer = BPETokenizer.train(text, given.vocab_size, pattern="o200k", superwords=superwords)
        ids = tokenizer.encode(held_out)
        longest = sorted({*ids}, key=lambda token_id: -len(tokenizer.model.vocab[token_id]))[:5]
        print(
            f"{name}: {len(held_out.encode()) / len(ids):.2f} bytes per token",
            *map(repr, map(tokenizer.decode, longest)),
        )


if __name__ == "__main__":
    main()
