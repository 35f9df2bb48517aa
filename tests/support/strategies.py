"""The hypothesis strategies of all tests."""

import random

from hypothesis import strategies as st

from hf_bpe import BPEModel
from hf_bpe.editing import Remap
from hf_bpe.encoding._encoder import AddedTokenTuple
from hf_bpe.pretokenizers import NAMES, ByteLevel, Digits, Pattern, Punctuation, Split
from hf_bpe.pretokenizers._pattern import WHITE_SPACE

BYTES = {byte: bytes([byte]) for byte in range(256)}
"""The vocabulary of single bytes."""

FLAGS = AddedTokenTuple._fields[2:]
"""The flags of an added token."""

tie_breaks = st.sampled_from(["lexicographic", "huggingface"])

CONTRACTIONS = ["'", "'s", "'T", "'ll", "'RE", "'ve", "'m", "'D", "'\u017f", "\u2019s"]
WORDS = ["a", "B", "low", "McX", "\u00e9", "e\u0301", "\u01c5", "\u02b0", "\u212a", "\u0295", "\u4f60", "\u3400"]
WORDS += ["\u304b\u3099", "\ud55c", "\u0e33"]
NUMBERS = ["1", "2345", "\u00b2", "\u2167", "\u0663", "\u3007", "\U0001d7d9"]
OTHERS = ["!", "...", "/", "//\n", "_", "\u200d", "\ufe0f", "\U0001f44b\U0001f3fd", "\ufeff", "\x00", "\x1c", "\ufffd"]
OTHERS += ["\u2e80", "\u30fb", "\u3099", "\U00016ff0", "\u3040"]
# Not in Unicode 16.0, the first two in 17.0; then a private one and two that never will be characters.
UNKNOWN = ["\ua7cf", "\U00032e88", "\u0378", "\ue000", "\ufdd0", "\U0010ffff"]
SPACES = [" ", "  ", "\n", "\r\n", "\n\n", " \n", "\t", *WHITE_SPACE]
SURROGATES = ["\ud83d", "\ude00", "\udc80", "\ud800"]

_fragments = st.one_of(
    *map(st.sampled_from, (CONTRACTIONS, WORDS, NUMBERS, OTHERS, UNKNOWN, SPACES, SPACES)),
    st.characters(codec="utf-8"),
)


@st.composite
def _joined(draw, fragments, size=16):
    """Draw a few fragments, then a text of these only: so that the same ones meet often."""
    few = draw(st.lists(fragments, min_size=1, max_size=4))
    return few[0][:0].join(draw(st.lists(st.sampled_from(few), max_size=size)))


texts = _joined(_fragments)
"""Text that has a UTF-8 form."""

any_texts = _joined(st.one_of(_fragments, st.sampled_from(SURROGATES)))
"""Any Python string."""

any_bytes = _joined(st.one_of(_fragments.map(str.encode), st.binary(max_size=4)))
"""Bytes of which most, but not all, are UTF-8."""

_ASCII = [
    "low ", " the", "a", "Bc", "word", "1", "234567", " ", "  ", "\n", "\r\n", "\t", "'s", "'", "'LL ", "don't",
    "(", "//", ";\n", "\n/", "!\n\n", ", ", "x.y", "   \n    ", "\x00", "\x1f", "\x7f", "[", "@", "`", "{", ":",
    "HTMLParser",
]  # fmt: skip
long_bytes = st.lists(
    st.sampled_from(_ASCII).map(str.encode) | _fragments.map(str.encode), min_size=30, max_size=120
).map(b"".join)
"""Mostly ASCII, and long enough for vector instructions."""

CHAINS = [
    Pattern.parse([Digits(individual_digits=True), ByteLevel(use_regex=True)]).canonical,
    Pattern.parse([Split(r"\p{N}{1,3}"), Split("[一-龥]+", "MergedWithNext"), Punctuation("Contiguous")]).canonical,
]
SPACING_CHAINS = [
    Pattern.parse([Digits(), ByteLevel(add_prefix_space=True, use_regex=True)]).canonical,
    Pattern.parse([Split(r" |\p{N}+", "Removed"), ByteLevel(add_prefix_space=True), Split("Ġa|b")]).canonical,
]
"""Chains that put spaces before pieces, and leave text out."""
patterns = st.sampled_from([*NAMES, None, r"\w+|\s", r"(?:(a)|b)\s*", r"x*", r"\d(?=\d)", *CHAINS])
"""Canonical patterns: named, none, custom ones with groups, gaps, empty matches, and chains of stages."""

_WORD_BYTES = st.sampled_from(
    [b"a", b"ab", b"abc", b"a\xff", b" !\xc4", b" a:"]
)  # in and out of the order of ids of tokenizers


@st.composite
def words(draw, max_size=24):
    """Draw a pre-token over a tiny alphabet."""
    return bytes(draw(st.lists(st.sampled_from(draw(_WORD_BYTES)), min_size=1, max_size=max_size)))


corpora = st.dictionaries(words(), st.integers(1, 5), min_size=1, max_size=8)
"""Pre-tokens and how often each occurs; most of them share pairs, and many pairs tie."""


@st.composite
def initial_merges(draw, letters=(b"a", b"b", b"c", b"\xff", b" ")):
    """Draw merges, by default over the bytes of `corpora`, in any order: some never apply, several make one token."""
    tokens = [*letters]
    merges = []
    for _ in range(draw(st.integers(0, 12))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if pair not in merges and len(pair[0] + pair[1]) <= 12:
            merges.append(pair)
            tokens.append(pair[0] + pair[1])
    return draw(st.permutations(merges))


_MODEL_BYTES = [b"a", b"ab", b" ab", b"a\xc3\xa9\xff"]


@st.composite
def models(draw, all_bytes=False, all_merged=False):
    """Draw a valid model: ids in any order, ranks in any order, several merges to one token, some bytes missing.

    Unless `all_merged`, it may have tokens that no merge makes, and may ignore merges for whole words.
    """
    alphabet = [bytes([byte]) for byte in draw(st.sampled_from(_MODEL_BYTES))]
    tokens, merges = list(alphabet), []
    for _ in range(draw(st.integers(0, 20))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if pair not in merges and len(pair[0] + pair[1]) <= 12:
            merges.append(pair)
            tokens.append(pair[0] + pair[1])
    missing = set() if all_bytes else draw(st.sets(st.integers(0, 255), max_size=8))
    byte_tokens = {bytes([byte]) for byte in range(256) if byte not in missing}
    specials = draw(st.sampled_from([[], ["<|x|>"], ["<|x|>", "\u4f60\u597d"]]))
    joined = st.lists(st.sampled_from(tokens), min_size=2, max_size=4).map(b"".join)
    unmerged = [] if all_merged else draw(st.lists(joined, max_size=8))
    vocab = sorted({*tokens, *byte_tokens, *unmerged, *map(str.encode, specials)})
    ids = random.Random(draw(st.integers(0, 99))).sample(range(1000), len(vocab))
    pattern = draw(st.sampled_from(["gpt2", "o200k", None]))
    ignore_merges = not all_merged and draw(st.booleans())
    return BPEModel(dict(zip(ids, vocab, strict=True)), draw(st.permutations(merges)), specials, pattern, ignore_merges)


@st.composite
def hostile_models(draw):
    """Draw a model without a pattern, of few and long tokens of the letters a and b, each a part of the next."""
    merges = []
    longest = draw(st.integers(2, 200))
    grow = {
        "double": lambda token, _: (token, token),
        "at the left": lambda token, _: (b"a", token),
        "at the right": lambda token, _: (token, b"a"),
        "fibonacci": lambda token, before: (token, before),
    }[draw(st.sampled_from(["double", "at the left", "at the right", "fibonacci"]))]
    token, before = draw(st.sampled_from([b"a", b"b"])), b"b"
    while len(token) < longest:
        merges.append(grow(token, before))
        token, before = b"".join(merges[-1]), token
    made = [b"a", b"b", *map(b"".join, merges)]
    more = draw(st.lists(st.tuples(st.sampled_from(made), st.sampled_from(made)), max_size=5))
    merges = [*dict.fromkeys([*merges, *more])]
    tokens = [*dict.fromkeys([bytes([byte]) for byte in range(256)] + [*map(b"".join, merges)])]
    return BPEModel(dict(enumerate(tokens)), merges, pattern=None)


# Of training with superwords: options of both stages, and limits on the tokens of the second.
training_options = st.fixed_dictionaries(
    {
        "tie_break": st.sampled_from(["lexicographic", "huggingface"]),
        "min_frequency": st.integers(0, 6),
        "max_token_bytes": st.none() | st.integers(1, 9) | st.integers(4, 12),
        "length_penalty": st.sampled_from([0.0, 0.0, 0.5, 3.0]),
    }
)
superword_limits = st.fixed_dictionaries({"max_words": st.none() | st.integers(1, 4), "colon_space": st.booleans()})


runs_of_letters = st.lists(
    st.builds(lambda letter, count: letter * count, st.sampled_from([b"a", b"b", b"ab"]), st.integers(1, 300)),
    min_size=1,
    max_size=6,
).map(b"".join)
"""Words in which the tokens of `hostile_models` are met, or nearly."""


@st.composite
def damaged(draw, content):
    """Draw what may become of a file: cut off, bytes changed, put in or lost, lines lost, doubled, moved or swapped."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        if draw(st.booleans()):
            stop = draw(st.sampled_from([start, start + 1, start + 2, len(content)]))
            inserted = draw(st.sampled_from(_DAMAGES) | st.binary(max_size=2))
            content = content[:start] + inserted + content[stop:]
        else:
            lines = content.splitlines(keepends=True)
            place, other = (draw(st.integers(0, len(lines))) for _ in range(2))
            line = lines[place : place + 1]
            if draw(st.booleans()):
                del lines[place : place + 1]
            if draw(st.booleans()):
                lines[other:other] = line
            content = b"".join(lines)
    return content


_DAMAGES = [b"", b"\n", b"\r\n", b"\t", b" ", b"0", b"9", b"257", b"\xff", b"\xef\xbb\xbf", b"\x00", b"\\", b"-1"]
_DAMAGES += [b"[", b"{", b'"']

mergeable = (
    st.sampled_from(_MODEL_BYTES).flatmap(lambda letters: st.lists(st.sampled_from(letters), max_size=60)).map(bytes)
)
"""Bytes to which many merges of `models` apply."""


def of_tokens(model):
    """Return a strategy of bytes in which the longer tokens of a model are often pre-tokens of their own."""
    tokens = [token for token in model.vocab.values() if len(token) > 1 or token in (b"a", b" ")]
    pieces = st.lists(st.sampled_from(tokens or [b"a"]), max_size=5)
    return st.builds(bytes.join, st.sampled_from([b"", b"\n", b"!"]), pieces)


@st.composite
def overlapping_contents(draw):
    """Draw contents of tokens that make naive finders slow: nested, with a common beginning or end, or very long."""
    unit = draw(st.sampled_from(["a", "ab", "\u4f60", " ", "\n", " a", "<a", "\u0301"]))
    end = draw(st.sampled_from(["", "b", " ", "\u597d", ">"]))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 13, 40, 300]), min_size=1, max_size=6, unique=True))
    nested = [unit * size + end for size in sizes]
    return draw(st.permutations([*dict.fromkeys([*nested, *draw(st.lists(st.sampled_from([unit, end]), max_size=2))])]))


@st.composite
def added_tokens(draw):
    """Draw added tokens with any flags, which overlap each other, as they cross to the native core."""
    contents = st.sampled_from(["<|x|>", "<|x|>y", "x|>", "ab", "a", " a", "\u4f60\u597d", "\n", " ", "b\u3000"])
    flags = st.lists(st.booleans(), min_size=5, max_size=5)
    tokens = st.builds(lambda content, flags: (content, flags), contents, flags)
    drawn = draw(st.lists(tokens, max_size=4, unique_by=lambda token: token[0]))
    return tuple(AddedTokenTuple(content, 2000 + i, *flags) for i, (content, flags) in enumerate(drawn))


# Decomposed text

_MARKS = ["\u0301", "\u0323", "\u0338", "\u0345", "\u3099", "\u0f73", "\u0344", "\u09be"]
# Of Unicode 10 to 16, which `tokenizers` does not know, for it normalizes by Unicode 9.0.
_NEW_MARKS = ["\u1dfa", "\u08ca", "\u0898", "\U0001e08f", "\U00011930", "\U000105d2", "\U0001e5ee"]
_STARTERS = ["e", "a", "<", "\xe9", "\u1ea1", "\u304b", "\u09c7", "\U00011935", "ab", "1", " ", "  ", "\n", "\u2000"]
_SINGLETONS = ["\u212b", "\u037e", "\u2126", "\u0958", "\u1fef", "\uf900", "\u2001"]
_JAMO = ["\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\u1175"]

decomposed_fragments = st.sampled_from([*_MARKS, *_NEW_MARKS, *_STARTERS, *_STARTERS, *_SINGLETONS, *_JAMO])
"""Parts of text of which most is not in NFC."""


@st.composite
def remaps(draw, old_ids=None):
    """Draw the remap of some edit of a vocabulary."""
    olds = sorted(draw(st.sets(st.integers(0, 300), max_size=12)) if old_ids is None else old_ids)
    kept = [old for old in olds if draw(st.booleans())]
    some = st.lists(st.sampled_from(olds), max_size=3) if olds else st.just([])
    news = draw(st.lists(st.integers(0, 300), min_size=len(kept), max_size=len(kept) + 3, unique=True))
    added = {new: tuple(draw(some)) for new in news[len(kept) :]}
    return Remap(dict(zip(kept, news, strict=False)), added, tuple({*olds} - {*kept}))
