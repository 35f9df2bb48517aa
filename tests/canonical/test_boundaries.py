"""Masks after texts that are longer than what is looked at, which then begins inside digits, words and characters."""

import itertools
from random import Random

import pytest

from hf_bpe import BPETokenizer
from hf_bpe.canonical._character_classes import class_members, find_last_boundary
from hf_bpe.pretokenizers import split
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from support.cases import case
from support.profiles import by_profile, scaled, thorough

# Bengali and mathematical digits, accents, an emoji of several, CJK, contractions, white space, signs.
REPEATED = [
    "\u09e6",
    "\U0001d7d8",
    "1",
    "e\u0301\u0327",
    "\u0301",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u4e2d\u3007\u30fb\u3042",
    "I'll",
    "'S",
    "\u2028",
    "\n ",
    "\r\n/",
    "ABc\u0100",
    "<|",
]
ENDS = [
    "a\u2028b\u2029c\u0100\u0101\u0102",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u8c01\uff1b\u4f60\uff1a\u597d",
    "b'll\n\nABc\U0001d7d8,9\u0301x",
]
NAMES = [
    "llama3_1",
    "gptoss",
    "deepseek_v3",
    *(pytest.param(name, marks=thorough) for name in ("qwen3", "mistral_nemo", "command_r_plus")),
]


@pytest.mark.filterwarnings("ignore:.*tokenizer_class")
@pytest.mark.parametrize("name", NAMES)
def test_ids_of_long_text_are_allowed(name, test_data):
    tokenizer = BPETokenizer.from_pretrained(test_data / "tokenizers" / name)
    canonical = tokenizer.canonical_ids()
    for unit in REPEATED:
        for digits in (57, 58, 59):
            for end in ENDS:
                # In the normal form, which canonical ids are in.
                text = tokenizer.decode(tokenizer.encode(unit * 40 + "1" * digits + end, add_special_tokens=False))
                ids = tokenizer.encode(text, add_special_tokens=False)
                with case(unit, digits, end):
                    for place in range(len(ids) - 6, len(ids)):
                        assert canonical.allowed_next(ids[:place])[ids[place]], place
                    assert canonical.heal(ids).removed < 8


MEMBERS = [char.decode() for char in class_members().values()]
CHARACTERS = [*MEMBERS, *"sSlLeEvr\r\v\u017f\u2028\u3007\u2e80\u30fb\u200d"]


@scaled
@pytest.mark.parametrize("pattern", sorted(WITH_SCANNER))
def test_every_text_is_split_at_boundaries(pattern):
    random = Random(1)
    others = [chr(random.choice([random.randrange(0x21, 0xD800), random.randrange(0xE000, 0x20000)])) for _ in range(9)]
    chars = [*CHARACTERS, *others]
    pairs = [pair for pair in itertools.product(chars, repeat=2) if find_last_boundary("".join(pair).encode())]
    assert len(pairs) > 300
    for first, second in pairs:
        for _ in range(by_profile(quick=3, thorough=50)):
            before, after = ("".join(random.choices(chars, k=random.randrange(4))) for _ in range(2))
            with case(before, first, second, after):
                pieces, rest = split(before + first + second + after, pattern), split(second + after, pattern)
                assert pieces[-len(rest) :] == rest
                assert split(before + first + second, pattern) == [*pieces[: -len(rest)], second]


def test_incomplete_characters_decide_no_boundary():
    for first, second in itertools.product(map(str.encode, CHARACTERS), repeat=2):
        with case(first, second):
            assert find_last_boundary(first[1:] + second) == 0 or len(first) == 1
            assert find_last_boundary(first + second[:-1]) == 0 or len(second) == 1
