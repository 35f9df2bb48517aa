"""Ids of two tokenizers in groups, ids of a context and its continuation; and examples that others saw failing."""

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, accelerate
from hf_bpe.alignment import align, encode_pair, token_bytes
from support import strategies
from support.cases import case
from support.models.real_models import real_pipeline
from support.profiles import by_profile, scaled

ONE = BPETokenizer.train(
    ["the lowest 你好 👋🏽 é"] * 3, vocab_size=282, special_tokens=["<|x|>", "<|y|>"], pattern=None
)
OTHER = BPETokenizer.train(["slow 你 👋 newest é"] * 3, vocab_size=275, special_tokens=["<s>"], pattern=None)
REAL = ("llama3_1", "qwen3", "mistral_v0_1")
REAL += by_profile(quick=(), thorough=("gemma3", "deepseek_v3", "gpt_neox"))


def pieces(tokenizer, ids, special):
    return [b"" if token_id in special else tokenizer.decode_bytes(token_id) for token_id in ids]


def brute_force(a, b):
    """Return the groups of two lists of bytes: as small as possible, those without bytes by themselves."""
    ends = [set(accumulate(map(len, each), initial=0)) for each in (a, b)]
    places = sorted(ends[0] & ends[1])
    groups = []
    for number, place in enumerate(places):
        rows = []
        for each in (a, b):
            begins = [*accumulate(map(len, each), initial=0)]
            empty = [at for at, piece in enumerate(each) if not piece and begins[at] == place]
            stop = places[number + 1] if number + 1 < len(places) else place
            some = [at for at, piece in enumerate(each) if begins[at] < stop and begins[at] + len(piece) > place]
            some = [*range(some[0], some[-1] + 1)] if some else []
            rows.append((empty, some))
        groups += [(first, second) for first, second in zip(*rows, strict=True) if first or second]
    return groups


def lists(alignment):
    return [
        ([*range(*first)], [*range(*second)])
        for first, second in zip(alignment.a.tolist(), alignment.b.tolist(), strict=True)
    ]


@st.composite
def split_text(draw, tokenizer, text, specials):
    """Draw any ids for a text: ids of encoded parts, its single bytes, special tokens anywhere."""
    data, ids = text.encode(), []
    while data:
        size = draw(st.integers(1, len(data)))
        ids += tokenizer.encode_bytes(data[:size], split_special_tokens=True)
        ids += draw(st.lists(st.sampled_from(specials), max_size=2))
        data = data[size:]
    return draw(st.lists(st.sampled_from(specials), max_size=2)) + ids


@given(strategies.texts, st.data())
@settings(max_examples=by_profile(quick=30, thorough=2000))
def test_groups_are_those_of_the_definition(text, data):
    a = data.draw(split_text(ONE, text, [256, 257]))
    b = data.draw(split_text(OTHER, text, [256]))
    found = align(a, ONE, np.array(b, np.uint32), OTHER)
    assert found.a.dtype == found.b.dtype == np.int64
    assert lists(found) == brute_force(pieces(ONE, a, {256, 257}), pieces(OTHER, b, {256}))
    for ids, rows in ((a, found.a), (b, found.b)):
        assert [at for row in rows.tolist() for at in range(*row)] == [*range(len(ids))]


def test_special_tokens_have_their_content_if_wanted():
    with pytest.raises(ValueError, match=r"from byte 1 on the texts differ: b'a' and b'a<s>'"):
        align([97], ONE, [97, 256], OTHER, skip_special_tokens=False)
    spelled = [*b"a<s>"]
    assert lists(align(spelled, ONE, [97, 256], OTHER, skip_special_tokens=False)) == [([0], [0]), ([1, 2, 3], [1])]


def test_other_text_is_an_error_that_shows_it():
    with pytest.raises(ValueError, match=r"from byte 3 on the texts differ: b'lowe' and b'lowly'; encode the same"):
        align(ONE.encode("lowe"), ONE, OTHER.encode("lowly"), OTHER)
    assert lists(align([], ONE, [], OTHER)) == []
    assert lists(align([256], ONE, [], OTHER)) == [([0], [])]


@pytest.fixture(scope="module")
def real(test_data):
    return {name: real_pipeline(test_data, name) for name in REAL}


@scaled
def test_a_token_before_the_text_of_one_side_moves_nothing(real):
    # huggingface/trl#4562 and table 7 of arXiv 2605.21699: Llama begins with a token that Qwen has not.
    llama, qwen = real["llama3_1"], real["qwen3"]
    text = "The capital of France is Paris, population 2,102,650."
    a, b = llama.encode([text], add_special_tokens=True)[0], qwen.encode([text], add_special_tokens=True)[0]
    assert llama.decode([a[:1]]) == ["<|begin_of_text|>"]
    groups = lists(align(a, llama, b, qwen))
    assert groups[0] == ([0], [])
    assert groups[1:4] == [([1], [0]), ([2], [1]), ([3], [2])]
    at = [llama.decode([[token_id]])[0] for token_id in a].index("102")  # Qwen has single digits
    assert [len(second) for first, second in groups if first == [at]] == [3]
    assert len(groups) > 10
    end = llama.ids["<|eot_id|>"], qwen.ids["<|im_end|>"]
    groups = lists(align([*a, end[0]], llama, [*b, end[1]], qwen))
    assert groups[-1] == ([len(a)], [len(b)])  # tokens that end the turn stand for each other


@scaled
def test_characters_of_several_tokens_are_aligned_by_bytes(real):
    # huggingface/trl#4392, #4393: pieces that are decoded by themselves are U+FFFD, and never become equal.
    for text in ("👩‍👩‍👧 ok 🫨!", "ꙮ ﷽ 𒐫 𓂀", "한국어 ไทย 日本語", "naïve café — “quoted”…", "\U0001f6d8 x"):
        ids = {name: pipeline.encode([text])[0] for name, pipeline in real.items()}
        for a in REAL:
            for b in REAL:
                if real[a].decode([ids[a]]) != real[b].decode([ids[b]]):
                    continue  # one of them normalizes it
                with case(text, a, b):
                    for first, second in lists(align(ids[a], real[a], ids[b], real[b])):
                        one, other = (
                            b"".join(table.decode_bytes([ids_of[at]]) for at in row)
                            for table, ids_of, row in ((real[a], ids[a], first), (real[b], ids[b], second))
                        )
                        assert one.removeprefix(b" ") == other.removeprefix(b" "), (first, second)


@scaled
def test_kernel_examples_of_others(real):
    # tests/unit/algorithms/x_token/test_token_aligner.py of NVIDIA-NeMo/RL, with tokens that these vocabularies have.
    llama, qwen = real["llama3_1"], real["qwen3"]
    ids = llama.encode(["Hello world!"])[0]
    assert lists(align(ids, llama, ids, llama)) == [([at], [at]) for at in range(3)]
    pieces = [llama.encode([text])[0] for text in ("He", "llo")]
    he, hello = pieces[0][0], qwen.model.printable_vocab()["Hello"]
    whole = [token_id for piece in pieces for token_id in piece]
    assert lists(align(whole, llama, [hello], qwen)) == [([*range(len(whole))], [0])]
    with pytest.raises(ValueError, match="from byte 2 on the texts differ"):  # there: two groups without a partner
        align([he], llama, [hello], qwen)
    # One normalizes, the other does not. Text that is normalized before both see it has no such difference.
    with pytest.raises(ValueError, match="normalized if one of them normalizes"):
        align(llama.encode(["cafe\u0301"])[0], llama, qwen.encode(["cafe\u0301"])[0], qwen)


@scaled
@pytest.mark.parametrize("name", ["code", "multilingual", "english"])
def test_real_texts_align_where_both_tokens_end(test_data, real, name):
    text = (test_data / f"text/{name}.txt").read_text("utf-8")[: by_profile(quick=30_000, thorough=2_000_000)]
    text = qwen_normalized(real["qwen3"], text.replace("<|endoftext|>", "\n"))
    ids = {each: pipeline.encode([text])[0] for each, pipeline in real.items()}
    for a, b in pairwise(REAL):
        if real[a].decode([ids[a]]) != real[b].decode([ids[b]]):
            continue
        groups = align(ids[a], real[a], ids[b], real[b])
        ends = [np.cumsum(np.diff(token_bytes(real[each]).offsets)[ids[each]]) for each in (a, b)]
        shift = [len(text.encode()) - int(each[-1]) for each in ends]  # a space that decoding removes
        common = np.intersect1d(ends[0] + shift[0], ends[1] + shift[1])
        with case(a, b):
            assert len(groups.a) == (common > 0).sum() + (common <= 0).any()
            assert ((ends[0] + shift[0])[groups.a[:, 1] - 1] == (ends[1] + shift[1])[groups.b[:, 1] - 1]).all()


def qwen_normalized(qwen, text):
    return qwen.decode([qwen.encode([text])[0]])[0]


TEXTS = ["the lowest 你好 👋🏽 é"] * 3
PAIRED = BPETokenizer.train(
    TEXTS, vocab_size=280, special_tokens=["<s>", "</s>"], bos_token="<s>", eos_token="</s>", add_bos_token=True,
    add_eos_token=True,
)  # fmt: skip


@given(strategies.any_texts, strategies.any_texts)
def test_ids_of_a_pair_start_where_the_continuation_does(context, continuation):
    for adds in (False, True):
        ids, start, spans_join = PAIRED.encode_pair(context, continuation, add_special_tokens=adds)
        assert ids == PAIRED.encode(context + continuation, add_special_tokens=adds)
        offsets = PAIRED(context + continuation, add_special_tokens=adds, return_offsets_mapping=True)
        offsets = offsets["offset_mapping"]
        special = PAIRED.get_special_tokens_mask(ids, already_has_special_tokens=True) if adds else [0] * len(ids)
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
    PAIRED.save_pretrained(tmp_path, portable=True)
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    for context, continuation in (("the low", "est 你好"), ("the ", "lowest"), ("你", "好 </s>"), ("", ""), ("x", "")):
        for adds in (False, True):
            expected = PAIRED.encode_pair(context, continuation, add_special_tokens=adds)
            for other in (plain, accelerate(plain)):
                assert encode_pair(other, context, continuation, add_special_tokens=adds) == expected
    BPETokenizer.train(TEXTS, vocab_size=270, normalizer="NFC").save_pretrained(tmp_path / "nfc", portable=True)
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path / "nfc")
    assert encode_pair(plain, "low", "est").start > 0
    pair = encode_pair(plain, "low e", "\u0301x")
    assert (plain.decode(pair.ids[pair.start :]), pair.spans_join) == ("éx", True)
