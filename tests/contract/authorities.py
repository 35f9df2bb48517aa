"""What each way to load is compared with."""

from contract import api  # noqa: F401 - registers BPETokenizer with AutoTokenizer before it is used
from transformers import AutoTokenizer, GPT2Tokenizer, PreTrainedTokenizerFast

FAST, BACKEND, OBJECT = "a fast tokenizer of the folder", "a fast tokenizer of tokenizer.json", "the object itself"
SAVED, SLOW_FILES = "a fast tokenizer of the saved tokenizer.json", "GPT2Tokenizer"
TIKTOKEN = "tiktoken"


def of_tokenizer_json(made):
    return PreTrainedTokenizerFast(tokenizer_file=str(made / "tokenizer.json"))


AUTHORITIES = {
    FAST: PreTrainedTokenizerFast.from_pretrained,
    BACKEND: of_tokenizer_json,
    OBJECT: AutoTokenizer.from_pretrained,
    SAVED: PreTrainedTokenizerFast.from_pretrained,
    SLOW_FILES: GPT2Tokenizer.from_pretrained,
    TIKTOKEN: lambda made: made,
}
"""Name → a function that makes it of an artifact."""
