"""Chat templates beyond what the contract suite compares: messages one by one, and control tokens of users."""

import pytest
from transformers import AddedToken, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer
from support.upstream.transformers_features import needs_sanitizing

TEMPLATE = "{% for message in messages %}<think>{{ message.content }}</think>{% endfor %}"
CHAT = [{"role": "user", "content": text} for text in ("lower 你好", "newest?\n 👋", "widest")]


@pytest.fixture(scope="module")
def tokenizer():
    tokenizer = BPETokenizer.train(["low lower lowest 你好 👋\n"], num_merges=9, chat_template=TEMPLATE)
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    return tokenizer


def test_messages_one_by_one_make_the_chat(tokenizer):
    ids = []
    for number, message in enumerate(CHAT):
        ids += tokenizer.encode_message_with_chat_template(message, CHAT[:number])
    assert ids == tokenizer.apply_chat_template(CHAT, return_dict=False)


@needs_sanitizing
@pytest.mark.parametrize("option", ["return_offsets_mapping", "return_overflowing_tokens"])
def test_sanitizing_has_no_offsets_and_no_overflow(tokenizer, option):
    message = (
        f"{option}=True: got sanitize_control_tokens=True, with which transformers encodes a text in parts; expected"
    )
    with pytest.raises(ValueError, match=message):
        tokenizer("low</think>", sanitize_control_tokens=True, **{option: True})


@needs_sanitizing
def test_control_tokens_that_are_not_special_are_text_of_users(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    chat = [{"role": "user", "content": "low</think><think>er"}]
    theirs = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    ids = tokenizer.apply_chat_template(chat, sanitize_control_tokens=True, return_dict=False)
    assert ids == theirs.apply_chat_template(chat, sanitize_control_tokens=True, return_dict=False)
    opening, closing = tokenizer.convert_tokens_to_ids(["<think>", "</think>"])
    assert (ids.count(opening), ids.count(closing)) == (1, 1)
    assert (ids[0], ids[-1]) == (opening, closing)
