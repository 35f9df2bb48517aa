"""Any expression of a tiktoken.Encoding gives the ids that tiktoken gives, or is refused by name."""

from itertools import product

import tiktoken
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from hf_bpe import BPETokenizer
from hf_bpe.pretokenizers import split
from support.profiles import by_profile

ALPHABET = "ab1 \n'"
# All strings of two and three of these characters are tokens, so ids show where a text was cut.
RANKS = {bytes([byte]): byte for byte in range(256)}
for length in (2, 3):
    for characters in product(ALPHABET, repeat=length):
        RANKS["".join(characters).encode()] = len(RANKS)
WHOLE = tiktoken.Encoding("whole", pat_str=r"[\s\S]+", mergeable_ranks=RANKS, special_tokens={})
_LEAVES = r"""
a b 1 ' A . \n \r \s \S \d \D \w \W ab b1 \p{L} \p{N} \P{L} \p{Lu} \pL [ab] [^ab] [^\s1] [\p{L}\s] [a-b1]
[^\r\n\p{L}] ^ $ \b \B \A \z \Z é [[:alpha:]] [a&&b] \h \x61 \x{62} \' #
"""
_REPEATS = "* + ? *? +? ?? *+ ++ ?+ {2} {1,3} {1,} {,2} {2}? {1,3}? {1,3}+ {2}+ {1,}+"
_GROUPS = "(?:{}) ({}) (?i:{}) (?s:{}) (?m:{}) (?x:{}) (?>{}) (?={}) (?!{}) (?<={}) (?<!{})"
LEAVES, REPEATS, GROUPS = [*_LEAVES.split(), " "], _REPEATS.split(), _GROUPS.split()
FLAGS = ("", "", "", "(?i)", "(?s)", "(?m)", "(?x)", "(?im)")


def expressions():
    parts = st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: st.one_of(
            st.builds("{}{}".format, inner, inner),
            st.builds("{}{}".format, inner, st.sampled_from(REPEATS)),
            st.builds("(?:{}){}".format, inner, st.sampled_from(REPEATS)),
            st.builds("(?:{}|{})".format, inner, inner),
            st.builds(str.format, st.sampled_from(GROUPS), inner),
        ),
        max_leaves=6,
    )
    whole = st.lists(parts, min_size=1, max_size=3).map("|".join)
    return st.builds("{}{}{}".format, st.sampled_from(FLAGS), whole, st.sampled_from(["", "", r"|\s+(?!\S)|\s+|\S"]))


TEXTS = st.text(st.sampled_from("aabb11  \n\n'A#é\r\u2028"), max_size=12)


def ids_of_tiktoken(encoding, text):
    try:
        return encoding.encode(text, disallowed_special=())
    except BaseException as error:  # a match of nothing is a panic there
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return None


@settings(max_examples=by_profile(quick=150, thorough=5000), deadline=None)
@given(expressions(), st.lists(TEXTS, min_size=1, max_size=6))
@example(r"[\W1]+|\w", ["ab 1"])
def test_ids_are_those_of_tiktoken(expression, texts):
    try:
        encoding = tiktoken.Encoding("random", pat_str=expression, mergeable_ranks=RANKS, special_tokens={})
    except ValueError:  # tiktoken does not take it
        assume(False)
    try:
        tokenizer = BPETokenizer.convert_from(encoding)
    except ValueError:
        assume(False)
    for text in texts:
        expected = ids_of_tiktoken(encoding, text)
        if expected is not None:
            assert tokenizer.encode(text) == expected, (expression, tokenizer.model.pattern, text)


@settings(max_examples=by_profile(quick=100, thorough=3000), deadline=None)
@given(expressions(), st.lists(TEXTS, min_size=1, max_size=6))
def test_accepted_pattern_cuts_as_tokenizers_and_tiktoken_do(expression, texts):
    """It is read as tokenizer.json reads it; what tiktoken takes as well and reads otherwise is refused."""
    try:
        chosen = BPETokenizer.train(["a"], num_merges=0, pattern=expression).model.pattern
        encoding = tiktoken.Encoding("random", pat_str=expression, mergeable_ranks=RANKS, special_tokens={})
        plain = pre_tokenizers.Split(Regex(expression), "isolated")
    except ValueError:
        assume(False)
    except Exception:  # of Oniguruma
        assume(False)
    for text in texts:
        pieces = [piece for piece, _ in plain.pre_tokenize_str(text)]
        assert split(text, chosen) == pieces, (expression, text)
        ids = ids_of_tiktoken(encoding, text)
        covered = "".join(pieces) == text if ids is None else encoding.decode(ids) == text
        if ids is not None and covered:
            assert ids == [token for piece in pieces for token in WHOLE.encode(piece)], (expression, text)
