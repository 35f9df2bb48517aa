"""Train a tokenizer on a text file, save it, load it with AutoTokenizer, encode and decode.

Usage: python examples/train_and_load.py [TEXT_FILE [FOLDER]]

Without a file it trains on this project's README, without a folder it saves into `my-tokenizer` in the current one.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # or the first line is that PyTorch is missing

from transformers import AutoTokenizer

import hf_bpe


def main(text_file: Path, folder: Path) -> None:
    tokenizer = hf_bpe.BPETokenizer.train(text_file, vocab_size=512, special_tokens=["<|endoftext|>"])
    tokenizer.save_pretrained(folder)
    print(f"trained on {text_file.name}, saved in {folder}: {tokenizer.model}")

    loaded = AutoTokenizer.from_pretrained(folder)  # knows the class because hf_bpe is imported
    text = "The tokenizer trains, encodes and decodes. 你好 👋<|endoftext|>"
    ids = loaded.encode(text)
    print(f"loaded as {type(loaded).__name__}: {len(text.encode())} bytes are {len(ids)} ids")
    print("tokens:", loaded.convert_ids_to_tokens(ids)[:8], "…")
    print("decoded:", loaded.decode(ids))
    if loaded.decode(ids) != text:
        raise SystemExit("the round trip failed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text_file", nargs="?", type=Path, default=Path(__file__).parent.parent / "README.md")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("my-tokenizer"))
    given = parser.parse_args()
    main(given.text_file, given.folder)
