"""Add the vocabulary of a domain to a model: learn tokens, initialize their embeddings, measure the gain, save both.

Usage: python examples/add_domain_words.py [CORPUS] [--model FOLDER] [--add N] [--output FOLDER]

CORPUS is a text file with documents between <|endoftext|>, or between empty lines if it has none. FOLDER holds a causal
model of transformers with its tokenizer, such as a downloaded Qwen3 or Llama 3. Every tenth document is held out from
learning, and used to measure.

Without a model the script makes a tiny one with random weights, and without a corpus it takes a page of this project's
documentation. Needs torch: pip install '.[torch]'.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from hf_bpe import BPETokenizer
from hf_bpe.editing import extend
from hf_bpe.editing.embeddings import remap_embeddings

ROOT = Path(__file__).parent.parent


def save_tiny_model(folder: Path) -> None:
    """Save a tokenizer that knows this project's README, and a model with random weights."""
    tokenizer = BPETokenizer.train(ROOT / "README.md", vocab_size=600, special_tokens=["<|endoftext|>"])
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    LlamaForCausalLM(LlamaConfig(vocab_size=640, **sizes, **ids)).save_pretrained(folder)  # with 40 rows to spare
    tokenizer.save_pretrained(folder)


def documents_of(corpus: Path) -> list[str]:
    """Return the documents of a text file."""
    text = corpus.read_text(encoding="utf-8")
    separator = "<|endoftext|>" if "<|endoftext|>" in text else "\n\n"
    documents = [document for document in text.split(separator) if document.strip()]
    if len(documents) < 10:
        raise SystemExit(f"{corpus} has {len(documents)} documents; at least 10 are needed, to hold some out")
    return documents


def measure(name: str, tokenizer: BPETokenizer, texts: list[str]) -> None:
    """Print how many tokens texts take: fewer are better."""
    tokens = sum(map(len, tokenizer.encode_to_lists(texts)))
    size = sum(len(text.encode()) for text in texts)
    words = sum(len(re.findall(r"\w+", text)) for text in texts)
    print(f"{name}: {tokens} tokens, {size / tokens:.2f} bytes per token, {tokens / words:.2f} tokens per word")


def logits_of(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0]


def main(corpus: Path, source: Path, number: int, target: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(source)
    before = BPETokenizer.from_pretrained(source)
    documents = documents_of(corpus)
    held_out = documents[::10]
    learned_from = [document for index, document in enumerate(documents) if index % 10]
    measure("before", before, held_out)

    # Learn tokens from the domain. Old ids stay, and new ones come after all others, added tokens included.
    edited = extend(before.model, learned_from, number, reserved=before.added_tokens_decoder)
    after, remap = before.with_model(edited)
    measure("after", after, held_out)
    print("first new tokens:", after.convert_ids_to_tokens([*remap.added][:8]))

    # The embedding of a new token starts as the mean of those of its old tokens.
    old_ids = before.encode(" and ")
    old_logits = logits_of(model, old_ids)
    remap_embeddings(model, remap, pad_to_multiple_of=64)
    kept = [*remap.new_ids]
    torch.testing.assert_close(logits_of(model, old_ids)[:, kept], old_logits[:, kept])
    print(f"embeddings: {model.get_input_embeddings().weight.shape[0]} rows, those of old tokens unchanged")

    # The model goes first: saving the tokenizer then checks what AutoTokenizer makes of it next to this config.json.
    model.save_pretrained(target)
    after.save_pretrained(target)
    loaded, reloaded = AutoTokenizer.from_pretrained(target), AutoModelForCausalLM.from_pretrained(target)
    if loaded(held_out)["input_ids"] != after(held_out)["input_ids"]:
        raise SystemExit("AutoTokenizer gives other ids; load this folder with BPETokenizer.from_pretrained")
    torch.testing.assert_close(logits_of(reloaded, old_ids), logits_of(model, old_ids))
    print(f"saved in {target}: {type(reloaded).__name__} and {type(loaded).__name__}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", default=ROOT / "docs" / "explanation" / "algorithm.md")
    parser.add_argument("--model", type=Path, metavar="FOLDER")
    parser.add_argument("--add", type=int, default=200, metavar="N", help="number of tokens to add (200)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where to save both (a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if arguments.model is None:
            save_tiny_model(Path(temporary) / "tiny")
        base = arguments.model or Path(temporary) / "tiny"
        main(arguments.corpus, base, arguments.add, arguments.output or Path(temporary) / "extended")
