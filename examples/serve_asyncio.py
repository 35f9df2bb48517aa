"""Tokenize the prompts of growing conversations in an asyncio server, in threads and with a prefix cache.

The core encodes without the GIL, so the loop goes on while a thread waits for a long prompt. Of each prompt only what
is new is encoded.

Usage: python examples/serve_asyncio.py TEXT_FILE
"""

import argparse
import asyncio
import random
from pathlib import Path

from hf_bpe import BPETokenizer

CONVERSATIONS, TURNS = 8, 12
TEMPLATE = (
    "{% for each in messages %}<|{{ each.role }}|>{{ each.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def answer(ids: list[int]) -> str:
    """Stand for the model."""
    return f"An answer to {len(ids)} tokens."


async def converse(tokenizer: BPETokenizer, text: str, number: int) -> int:
    """Take the turns of a conversation; return the tokens of its last prompt."""
    draw = random.Random(number)
    messages = [{"role": "system", "content": text[:4000]}]
    for _ in range(TURNS):
        start = draw.randrange(len(text) - 1000)
        messages.append({"role": "user", "content": text[start : start + 1000]})
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        ids = await asyncio.to_thread(tokenizer.encode, prompt, add_special_tokens=False)
        messages.append({"role": "assistant", "content": answer(ids)})
    return len(ids)


async def serve(tokenizer: BPETokenizer, text: str) -> list[int]:
    """Take all conversations at once."""
    return await asyncio.gather(*(converse(tokenizer, text, number) for number in range(CONVERSATIONS)))


def main(file: str) -> None:
    """Serve conversations about a text, with the cache and without it."""
    text = Path(file).read_text(encoding="utf-8")
    roles = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    tokenizer = BPETokenizer.train([text], vocab_size=1500, special_tokens=roles)
    tokenizer.chat_template = TEMPLATE
    tokenizer.prefix_cache = "64MB"
    lengths = asyncio.run(serve(tokenizer, text))
    statistics = tokenizer.prefix_cache.statistics()
    tokenizer.prefix_cache = None
    assert lengths == asyncio.run(serve(tokenizer, text))
    print(f"{statistics.texts} prompts of up to {max(lengths)} tokens")
    print(f"{statistics.reused_bytes / statistics.text_bytes:.0%} of their bytes were not encoded again")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text_file")
    main(parser.parse_args().text_file)
