"""A tokenizer in a folder, and texts, for whatever encodes on several workers."""

import os
import signal

from hf_bpe import BPETokenizer

END = "<|endoftext|>"


def save_tokenizer(folder):
    """Write a tokenizer to a folder, and return the folder."""
    tokenizer = BPETokenizer.train(["low lower widest newest 12345"], num_merges=15, special_tokens=[END])
    tokenizer.save_pretrained(folder)
    return folder


TEXTS = [None if number % 5 == 0 else f"lower {number} widest" for number in range(500)]


def expected_ids(folder):
    """Return number → ids of `TEXTS`."""
    tokenizer = BPETokenizer.from_pretrained(folder)
    return {
        number: None if text is None else [*tokenizer.encode_to_lists([text])[0], tokenizer.eos_token_id]
        for number, text in enumerate(TEXTS)
    }


def killing_once(encoder, mark):
    """Return a class of an encoder whose first call kills its process, and leaves a file."""

    class Killing(encoder):
        def __call__(self, rows):
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return encoder.__call__(self, rows)

    return Killing
