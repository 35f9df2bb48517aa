"""Convert GPT-2's vocab.json and merges.txt into a folder that AutoTokenizer loads, and back.

Usage: python examples/convert_gpt2.py FOLDER_WITH_THE_TWO_FILES NEW_FOLDER

The files come with every GPT-2 checkpoint, for example `openai-community/gpt2` on the Hugging Face Hub.
"""

import sys
from pathlib import Path

from transformers import AutoTokenizer

import hf_bpe
from hf_bpe.conversion import read_gpt2, write_gpt2


def main(source: Path, target: Path) -> None:
    model = read_gpt2(source / "vocab.json", source / "merges.txt")
    print(model)
    hf_bpe.BPETokenizer(model=model).save_pretrained(target / "tokenizer")
    tokenizer = AutoTokenizer.from_pretrained(target / "tokenizer")
    print("The quick brown fox:", tokenizer.encode("The quick brown fox"))

    write_gpt2(tokenizer.model, target / "gpt2_files")
    back = read_gpt2(target / "gpt2_files" / "vocab.json", target / "gpt2_files" / "merges.txt")
    print("and back: the same model" if back == model else "and back: another model")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
