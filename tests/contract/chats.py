"""Chat templates as a user sees them, for tokenizers that have one."""

import dataclasses
import inspect
from types import SimpleNamespace

from contract.comparisons import ALL, compared, fields
from transformers import PreTrainedTokenizerBase


@dataclasses.dataclass
class Message:
    """A message that is not a dictionary, as transformers takes them since 5.24."""

    role: str
    content: str


class Model:
    """A message as pydantic has it."""

    def model_dump(self, **_):
        return {"role": "assistant", "content": "newest"}


MESSAGES = [
    {"role": "user", "content": "I'M low: 1234567 caf\u00e9 <|eos|>"},
    {"role": "assistant", "content": "the  lowest\n"},
    {"role": "user", "content": ""},
    {"role": "assistant", "content": "👩🏽\u200d🚀 12"},
]


@compared(is_of_texts=False)
def chats(tokenizer, case):
    if not tokenizer.chat_template:
        return {}
    apply = tokenizer.apply_chat_template
    return {
        "text": apply(MESSAGES, tokenize=False),
        "with a prompt": apply(MESSAGES[:1], tokenize=False, add_generation_prompt=True),
        "ids": apply(MESSAGES, return_dict=False),
        "a dictionary": fields(apply(MESSAGES, return_dict=True)),
        "a batch": fields(apply([MESSAGES, MESSAGES[:2]], return_dict=True)),
        "padded": fields(apply(MESSAGES, padding="max_length", max_length=300, truncation=True, return_dict=True)),
        "truncated": fields(apply(MESSAGES, truncation=True, max_length=9, return_dict=True)),
        "continued": apply(MESSAGES, tokenize=False, continue_final_message=True),
        "continued, ids": apply(MESSAGES, continue_final_message=True, return_dict=False),
        "options of calls": fields(apply(MESSAGES, tokenizer_kwargs=ALL, return_dict=True)),
        "tensors": fields(apply(MESSAGES, return_tensors="np", return_dict=True)),
    }


def arrays_of(tokenizer):
    """Return the options of a padded batch, where there is a token to pad with."""
    return {"padding": True, "return_tensors": "np"} if tokenizer.pad_token else {}


@compared(is_of_texts=False)
def assistant_masks(tokenizer, case):
    if not tokenizer.chat_template or "{% generation" not in str(tokenizer.chat_template):
        return {}
    options = {"return_assistant_tokens_mask": True, "return_dict": True}
    one = tokenizer.apply_chat_template(MESSAGES, **options)
    batch = tokenizer.apply_chat_template([MESSAGES, MESSAGES[:2]], **options)
    short = tokenizer.apply_chat_template(MESSAGES, truncation=True, max_length=44, **options)
    rows = tokenizer.apply_chat_template([MESSAGES, MESSAGES[:2]], **arrays_of(tokenizer), **options)
    return {"one": fields(one), "a batch": fields(batch), "truncated": fields(short), "padded": fields(rows)}


@compared(is_of_texts=False)
def chats_of_objects(tokenizer, case):
    """See conversations of dataclasses, and objects that hold one; an error where transformers does not take them."""
    if not tokenizer.chat_template:
        return {}
    messages = [Message(**message) for message in MESSAGES[:2]]
    return {
        "dataclasses": tokenizer.apply_chat_template(messages, tokenize=False),
        "a conversation": tokenizer.apply_chat_template(SimpleNamespace(messages=MESSAGES[:2]), tokenize=False),
        "models": tokenizer.apply_chat_template([messages[0], Model()], tokenize=False),
        "ids": tokenizer.apply_chat_template([messages, [messages[0], Model()]], return_dict=False),
    }


HAS_SANITIZING = "sanitize_control_tokens" in inspect.signature(PreTrainedTokenizerBase.apply_chat_template).parameters


@compared(is_of_texts=False)
def sanitized_chats(tokenizer, case):
    """See chats in which users write control tokens, which are then text."""
    if not tokenizer.chat_template or not HAS_SANITIZING:
        return {}
    options = {"sanitize_control_tokens": True, "return_dict": True}
    batch = tokenizer.apply_chat_template([MESSAGES, MESSAGES[:2]], **arrays_of(tokenizer), **options)
    return {"one": fields(tokenizer.apply_chat_template(MESSAGES, **options)), "a batch": fields(batch)}
