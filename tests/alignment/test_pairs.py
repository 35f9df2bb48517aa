"""A context and its continuation: the ids are those of the whole, and the continuation begins where it does."""

from hypothesis import given
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, accelerate
from hf_bpe.alignment import encode_pair
from support import strategies

TEXTS = ["the lowest 你好 👋🏽 é"] * 3
TOKENIZER = BPETokenizer.train(
    TEXTS, vocab_size=280, special_tokens=["<s>", "</s>"], bos_token="<s>", eos_token="</s>", add_bos_token=True,
    add_eos_token=True,
)  # fmt: skip


@given(strategies.any_texts, strategies.any_texts)
def test_ids_of_a_pair_start_where_the_continuation_does(context, continuation):
    for adds in (False, True):
        ids, start, spans_join = TOKENIZER.encode_pair(context, continuation, add_special_tokens=adds)
        assert ids == TOKENIZER.encode(context + continuation, add_special_tokens=adds)
        offsets = TOKENIZER(context + continuation, add_special_tokens=adds, return_offsets_mapping=True)
        offsets = offsets["offset_mapping"]
        special = TOKENIZER.get_special_tokens_mask(ids, already_has_special_tokens=True) if adds else [0] * len(ids)
        of_text = range(adds, len(ids) - adds)
        assert special.count(1) >= 2 * adds
        reached = [at for at in of_text if offsets[at][1] > len(context)]
        assert start == (reached[0] if reached else len(ids) - adds)
        assert spans_join == bool(reached and offsets[start][0] < len(context))


def test_a_space_may_be_on_either_side():
    # EleutherAI/lm-evaluation-harness#1053, #1297: the continuation of "Answer: " is not "A" alone.
    tokenizer = BPETokenizer.train(["Answer: yes"] * 3, vocab_size=264)
    whole = tokenizer.encode("Answer: yes")
    assert tokenizer.encode_pair("Answer:", " yes") == (whole, len(whole) - 1, False)
    assert tokenizer.encode_pair("Answer: ", "yes") == (whole, len(whole) - 1, True)
    assert tokenizer.encode_pair("", "Answer: yes").start == 0
    assert tokenizer.encode_pair("Answer: yes", "") == (whole, len(whole), False)


def test_normalized_and_stripped_text_keeps_its_places():
    tokenizer = BPETokenizer.train(TEXTS, vocab_size=270, normalizer="NFC")
    pair = tokenizer.encode_pair("low e", "\u0301x")
    assert tokenizer.decode(pair.ids[pair.start :]) == "éx"
    assert pair.spans_join
    tokenizer.add_tokens([AddedToken("<m>", lstrip=True)])
    pair = tokenizer.encode_pair("low ", "<m>x")
    assert (tokenizer.decode(pair.ids[pair.start :]), pair.spans_join) == ("<m>x", True)


def test_tokenizers_of_transformers_give_the_same(tmp_path):
    TOKENIZER.save_pretrained(tmp_path, portable=True)
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    for context, continuation in (("the low", "est 你好"), ("the ", "lowest"), ("你", "好 </s>"), ("", ""), ("x", "")):
        for adds in (False, True):
            expected = TOKENIZER.encode_pair(context, continuation, add_special_tokens=adds)
            for other in (plain, accelerate(plain)):
                assert encode_pair(other, context, continuation, add_special_tokens=adds) == expected
    BPETokenizer.train(TEXTS, vocab_size=270, normalizer="NFC").save_pretrained(tmp_path / "nfc", portable=True)
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path / "nfc")
    assert encode_pair(plain, "low", "est").start > 0
    pair = encode_pair(plain, "low e", "\u0301x")
    assert (plain.decode(pair.ids[pair.start :]), pair.spans_join) == ("éx", True)
