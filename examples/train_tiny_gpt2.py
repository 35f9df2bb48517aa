"""Train a tokenizer, then a tiny GPT-2 on the same text for a few steps, with transformers' Trainer on the CPU.

Usage: python examples/train_tiny_gpt2.py [TEXT_FILE [FOLDER]]

Needs torch and accelerate. Install the CPU build of torch first, as PyTorch's own site says, then
`pip install '.[torch]'` in the clone: without the first step, pip takes a build with several gigabytes for GPUs.
"""

import argparse
import sys
import tempfile
from pathlib import Path

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

import torch
from transformers import (
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
)

import hf_bpe

BLOCK = 64  # tokens a training example


def main(text_file: Path, folder: Path) -> None:
    torch.manual_seed(0)
    tokenizer = hf_bpe.BPETokenizer.train(
        text_file, vocab_size=512, special_tokens=["<|endoftext|>"], pad_token="<|endoftext|>"
    )
    ids = tokenizer.encode(text_file.read_text(encoding="utf-8"))
    examples = [{"input_ids": ids[start : start + BLOCK]} for start in range(0, len(ids) - BLOCK, BLOCK)]

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=BLOCK,
            n_embd=32,
            n_layer=2,
            n_head=2,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(folder),
            max_steps=10,
            save_steps=10,
            per_device_train_batch_size=4,
            learning_rate=1e-3,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=examples,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        processing_class=tokenizer,
    )
    print(f"{len(examples)} examples, loss {trainer.train().training_loss:.2f}")

    checkpoint = folder / "checkpoint-10"  # Trainer saved the tokenizer with the model
    loaded = AutoTokenizer.from_pretrained(checkpoint)
    trained = GPT2LMHeadModel.from_pretrained(checkpoint)
    prompt = loaded("The tokenizer", return_tensors="pt")
    generated = trained.generate(**prompt, max_new_tokens=8, do_sample=False)
    print(f"{type(loaded).__name__} from the checkpoint:", repr(loaded.decode(generated[0])))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text_file", nargs="?", type=Path, default=Path(__file__).parent.parent / "README.md")
    parser.add_argument("folder", nargs="?", type=Path, help="default: a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(given.text_file, given.folder or Path(temporary))
