"""Prefix caches: ids are those without one, whatever was encoded before; memory is bounded; threads share it."""

import copy
import os
import pickle
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken
from transformers import AutoTokenizer

from hf_bpe import accelerate, patch_transformers, unpatch_transformers
from hf_bpe._native_core import require_core
from hf_bpe.encoding import PrefixCache
from hf_bpe.encoding._cuts.safe import SafeCuts
from hf_bpe.encoding._encoder import Options
from hf_bpe.reference import pre_tokenize
from support import strategies
from support.cases import case
from support.models.small_tokenizers import LONG, pieces, tokenizer_of, tokenizers
from support.profiles import by_profile, scaled

ENGLISH = "the lowest of the low, isn't it?\n\n  The newest 2024 of <|x|>the new: lower and lower; "
QUOTED = ENGLISH.replace("'", "\u2019")
DECOMPOSED = "e\u0301 caf\u00e9 \u4f60\u597d "
JOINING = ["e", "\u0301", "\ufe0f", "\u1100", "\u1161", "\U0001f469\u200d\U0001f4bb"]
WIDE = "\U0001f469\u200d\U0001f4bb"
COMPOSED = [unicodedata.normalize("NFC", text) for text in (DECOMPOSED, LONG)]


def without_cache(tokenizer):
    plain = copy.copy(tokenizer)
    plain.prefix_cache = None
    return plain


def edited(random, texts):
    """Return a text that begins like one of some texts, which it replaces."""
    text = random.choice(texts)
    text = text[: len(text) - random.choice([0, 0, 1, 8, 300, len(text) // 2])]
    parts = random.sample([ENGLISH, *COMPOSED, "<|x|>", " ", "\n", "\u2581", "\u00e9", "low"], 3)
    if random.random() < 0.1:
        parts.append(random.choice([DECOMPOSED, *JOINING]))
    text += "".join(random.choice(parts) for _ in range(random.choice([1, 3, 40, 300])))
    texts[random.randrange(len(texts))] = text = text if len(text) < 50_000 else text[:2000]
    return text


def check_edits(tokenizer, random, count):
    plain, texts = without_cache(tokenizer), ["", ENGLISH * 20, ENGLISH * 120]
    for _ in range(count):
        text = edited(random, texts)
        expected = plain.encode(text)
        assert tokenizer.encode(text) == expected
        if random.random() < 0.2:
            batch = [text, text[:1500], "low"]
            assert tokenizer(batch)["input_ids"] == plain(batch)["input_ids"]
            assert tokenizer(text, return_tensors="np")["input_ids"][0].tolist() == expected
        assert tokenizer.prefix_cache.statistics().size_bytes <= tokenizer.prefix_cache.max_bytes


@given(tokenizers(), st.lists(pieces, min_size=1, max_size=4), st.sampled_from([200_000, 10**7]), st.randoms())
@settings(max_examples=by_profile(quick=20, thorough=400))
def test_ids_are_those_without_a_cache(tokenizer, parts, max_bytes, random):
    tokenizer.prefix_cache = max_bytes
    plain, texts = without_cache(tokenizer), [ENGLISH * 20, "".join(parts) * 100]
    for _ in range(8):
        repeated = "".join(random.choice([ENGLISH, *parts]) for _ in range(random.randrange(200)))
        base = random.choice(texts)
        texts.append(base[: len(base) - random.randrange(min(len(base), 200) + 1)] + repeated)
        assert tokenizer.encode(texts[-1]) == plain.encode(texts[-1])


@scaled
def test_edited_conversations_have_the_ids_without_a_cache():
    tokens = [AddedToken("<|x|>", special=True), AddedToken("\u4f60\u597d", lstrip=True, rstrip=True)]
    for pattern in ("gpt2", "cl100k", "o200k", "deepseek-v3", r"\w+|\W+", None):
        for normalizer in (None, "NFC"):
            with case(pattern, normalizer):
                tokenizer = tokenizer_of(pattern, normalizer, tokens)
                tokenizer.prefix_cache = "400kB"
                check_edits(tokenizer, Random(1), by_profile(quick=25, thorough=1000))
                statistics = tokenizer.prefix_cache.statistics()
                assert statistics.hits > 0
                assert 0 < statistics.reused_bytes < statistics.text_bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("served")
    tokenizer = tokenizer_of("cl100k", "NFC", [AddedToken("<|x|>", special=True)])
    tokenizer.chat_template = "{% for each in messages %}<|x|>{{ each.role }}\n{{ each.content }}{% endfor %}<|x|>"
    tokenizer.save_pretrained(path, portable=True)
    return path


@scaled
def test_accelerated_tokenizers_have_the_ids_without_a_cache(folder):
    tokenizer = accelerate(AutoTokenizer.from_pretrained(folder), prefix_cache="400kB")
    check_edits(tokenizer, Random(2), by_profile(quick=25, thorough=1000))
    assert tokenizer.prefix_cache.statistics().hits > 0
    plain, messages = without_cache(tokenizer), [{"role": "system", "content": ENGLISH * 50}]
    before = tokenizer.prefix_cache.statistics()
    for turn in range(5):
        messages += [{"role": "user", "content": f"{turn} {ENGLISH}"}]
        assert tokenizer.apply_chat_template(messages) == plain.apply_chat_template(messages)
    after = tokenizer.prefix_cache.statistics()
    assert after.reused_bytes - before.reused_bytes > 0.9 * 4 * 50 * len(ENGLISH)


def test_a_turn_is_all_that_is_encoded():
    tokenizer = tokenizer_of("cl100k", "NFC", [AddedToken("<|x|>", special=True)])
    for text in (ENGLISH, COMPOSED[0]):
        tokenizer.prefix_cache = "10MB"
        text = text * 500
        tokenizer.encode(text)
        tokenizer.encode(text[:-8] + ENGLISH)  # not a literal prefix
        statistics = tokenizer.prefix_cache.statistics()
        assert statistics.hits == 1
        assert statistics.reused_bytes > len(text.encode()) - 300


def test_what_others_have_encoded_is_not_found():
    cache = PrefixCache("10MB")
    first, second = (tokenizer_of("gpt2", None, [AddedToken(content)]) for content in ("<|x|>", "low"))
    first.prefix_cache = second.prefix_cache = cache
    plain = without_cache(first), without_cache(second)
    for text in (ENGLISH * 40, ENGLISH * 41):
        assert first.encode(text) == plain[0].encode(text) != plain[1].encode(text) == second.encode(text)
        as_text = {"split_special_tokens": True}
        assert first(text, **as_text)["input_ids"] == plain[0](text, **as_text)["input_ids"]
    first.add_tokens(["newest"])
    assert first.encode(text) == without_cache(first).encode(text) != plain[0].encode(text)


def test_dropout_looks_nothing_up():
    tokenizer = tokenizer_of("gpt2")
    tokenizer.prefix_cache = "10MB"
    for _ in range(2):
        ids = tokenizer.encode_to_lists([ENGLISH * 40], dropout=0.5, seed=1)
        assert ids == without_cache(tokenizer).encode_to_lists([ENGLISH * 40], dropout=0.5, seed=1)
    assert tokenizer.prefix_cache.statistics().texts == 0


@scaled
def test_threads_share_a_cache():
    tokenizer = tokenizer_of("o200k", "NFC", [AddedToken("<|x|>", special=True)])
    tokenizer.prefix_cache = "1MB"
    plain, random, texts = without_cache(tokenizer), Random(3), [ENGLISH * 20, ENGLISH * 100]
    all_texts = [edited(random, texts) for _ in range(40)]
    expected = [plain.encode(text) for text in all_texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(by_profile(quick=3, thorough=100)):
            assert [*pool.map(tokenizer.encode, all_texts)] == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_has_the_cache():
    tokenizer = tokenizer_of("gpt2")
    tokenizer.prefix_cache = "1MB"
    expected = tokenizer.encode(ENGLISH * 40)
    child = os.fork()
    if child == 0:
        is_right = tokenizer.encode(ENGLISH * 40) == expected and tokenizer.prefix_cache.statistics().hits == 1
        os._exit(0 if is_right else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_pickle_has_the_size_only_and_copies_share(folder):
    for tokenizer in (tokenizer_of("gpt2"), accelerate(AutoTokenizer.from_pretrained(folder))):
        assert tokenizer.prefix_cache is None
        empty = pickle.dumps(tokenizer)
        tokenizer.prefix_cache = 10**6
        pickled = pickle.dumps(tokenizer)
        tokenizer.encode(ENGLISH * 40)
        assert pickle.dumps(tokenizer) == pickled
        assert len(pickled) < len(empty) + 1000
        cache = pickle.loads(pickled).prefix_cache
        assert (cache.max_bytes, cache.statistics().texts) == (10**6, 0)
        assert copy.copy(tokenizer).prefix_cache is copy.deepcopy(tokenizer).prefix_cache is tokenizer.prefix_cache


def test_wrong_sizes_are_refused():
    tokenizer = tokenizer_of("gpt2")
    for wrong in ("much", "1kB", -1, 0, 1.5, []):
        with case(wrong), pytest.raises((TypeError, ValueError), match="prefix_cache"):
            tokenizer.prefix_cache = wrong
    assert tokenizer.prefix_cache is None


def test_patched_loaders_share_a_cache(folder):
    patch_transformers(prefix_cache="10MB")
    try:
        first, second = (AutoTokenizer.from_pretrained(folder) for _ in range(2))
    finally:
        unpatch_transformers()
    assert first.prefix_cache is second.prefix_cache is not None
    first.encode(ENGLISH * 40)
    second.encode(ENGLISH * 40)
    assert first.prefix_cache.statistics().hits == 1


@given(strategies.any_bytes, strategies.any_bytes, st.sampled_from(["gpt2", "cl100k", "o200k", "deepseek-v3"]))
@settings(max_examples=by_profile(quick=100, thorough=1000))
def test_a_beginning_decides_its_cuts(text, other_end, pattern):
    specials = ["<x>", "a b", "\u4f60"]
    cuts, longest = SafeCuts(pattern, specials), 4
    for cut in cuts.find_all(text, 1, len(text)):
        other = text[: cut + longest] + other_end
        if cut + longest > len(text):
            continue
        assert cut in {*cuts.find_all(other, 1, len(other))}
        if not any(special.encode() in other for special in specials):
            parts = [pre_tokenize(part, pattern) for part in (text[:cut], other[cut:])]
            assert pre_tokenize(other, pattern) == parts[0] + parts[1]


# With NFC: what is certainly in the form, what is not, and text that it changes


@pytest.fixture
def tokenizer():
    made = tokenizer_of("cl100k", "NFC", [AddedToken("<|x|>", special=True, normalized=False)])
    made.prefix_cache = "10MB"
    return made


def check(tokenizer, text):
    ids = tokenizer.encode(text)
    assert ids == without_cache(tokenizer).encode(text)
    assert tokenizer(text)["input_ids"] == ids
    assert tokenizer([text, "low"])["input_ids"][0] == ids
    assert tokenizer(text, return_tensors="np")["input_ids"][0].tolist() == ids


@cache
def inert_characters():
    """Return the characters that NFC neither changes nor joins with others nor moves."""
    second = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A7, 0x11C3))}  # of Korean syllables
    for char in map(chr, range(0x110000)):
        parts = unicodedata.decomposition(char).split()
        if len(parts) > 1 and not parts[0].startswith("<"):
            second.update(chr(int(part, 16)) for part in parts[1:])
    fixed = (char for char in map(chr, range(0x110000)) if unicodedata.is_normalized("NFC", char))
    return {char for char in fixed if not unicodedata.combining(char)} - second


@pytest.mark.parametrize("given", [str, partial(str.encode, errors="surrogatepass")], ids=["str", "bytes"])
def test_only_what_nfc_cannot_change_is_accepted(tokenizer, given):
    encoder = tokenizer._pipeline.encoder.nfc_checking_encoder
    refusal = require_core("prefix caches").MayNotBeNfc
    inert = inert_characters() - {*map(chr, range(0xD800, 0xE000))}

    def is_accepted(text):
        try:
            encoder.encode(given(text), Options())
        except refusal:
            return False
        return True

    for begin in range(0, 0x110000, 0x100):
        chars = [chr(code) for code in range(begin, begin + 0x100)]
        if is_accepted("".join(chars)):
            assert inert.issuperset(chars), hex(begin)
        elif begin < 0x20000:
            accepted = [char for char in chars if is_accepted(char)]
            assert inert.issuperset(accepted), hex(begin)
    for text in ("caf\u00e9 \u201cquoted\u201d \u4f60\u597d \uac00 \u3042 \u0416 \u0394", WIDE + "\ufe0f"):
        assert is_accepted(text)


def test_a_mark_joins_the_last_character_that_is_known(tokenizer):
    for base in (QUOTED * 30, QUOTED * 200, QUOTED * 100 + "\u4f60", QUOTED * 100 + WIDE):
        for size in (0, 1, 2, 3):
            known = base[: len(base) - size] + "e"
            tokenizer.encode(known)
            for end in ("\u0301", "\u0301 low", "\u0323\u0307 low", "\u1161", "low", "\ud83d", "\ude00"):
                check(tokenizer, known + end)
                check(tokenizer, known + end + QUOTED * 20)


def test_text_that_nfc_changes_is_looked_up_normalized(tokenizer):
    stretch = (DECOMPOSED + QUOTED.replace("<|x|>", "")) * 50
    for turn in range(6):
        check(tokenizer, "<|x|>".join([stretch] * (turn + 1)))
    statistics = tokenizer.prefix_cache.statistics()
    assert statistics.reused_bytes > 0.9 * statistics.text_bytes


def test_surrogates_at_all_places_of_wide_texts():
    for pattern, normalizer in (("gpt2", None), ("cl100k", "NFC")):
        tokenizer = tokenizer_of(pattern, normalizer)
        tokenizer.prefix_cache = "10MB"
        plain = without_cache(tokenizer)
        for pair in ("\ud83d\ude00", "\ud83d\ud83d\ude00", "\ud83d", "\ude00\ud83d"):
            for width in ("\u201c", WIDE):
                for shift in range(5):
                    text = width + "a" * shift + pair * 6000
                    for end in ("", "low ", pair + " low"):
                        assert tokenizer.encode(text + end) == plain.encode(text + end)
