"""The work of compiled expressions is limited in proportion to the text, on every way to split one."""

import json
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, count
from hf_bpe._native_core import native_core
from hf_bpe.pretokenizers import ByteLevel, Pattern, Split
from hf_bpe.pretokenizers._native_splitting import compile_natively
from support.commands import error
from support.edited_folders import save_as_others

pytestmark = pytest.mark.skipif(native_core() is None, reason="the native core counts steps")

COSTLY = r"(?:a{1,100}){1,100}b|[\s\S]"
CHAIN = [*[Split(r"(?:a{1,100}){1,50}b")] * 30, ByteLevel()]
TOO_COSTLY = (
    r"the pattern takes more than 500 steps a byte to split a text of {} bytes; expected an expression with fewer"
)
TEXT = "a" * 20_000


def pre_tokens(pattern, text):
    chain = compile_natively(native_core(), Pattern.parse(pattern).chain)
    assert not isinstance(chain, str), chain
    return native_core().pre_tokenize(text.encode(), chain)


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(["low lower"], num_merges=0, pattern=COSTLY)


def test_small_text_is_split_whatever_it_costs(tokenizer):
    text = "a" * 100
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(pre_tokens(COSTLY, text)) == 100


@pytest.mark.parametrize(
    "call",
    [
        lambda tokenizer: tokenizer(TEXT),
        lambda tokenizer: tokenizer(TEXT, return_offsets_mapping=True),
        lambda tokenizer: tokenizer.encode(TEXT),
        lambda tokenizer: tokenizer.tokenize(TEXT),
        lambda tokenizer: tokenizer.encode_to_lists(["low"] * 200 + [TEXT] * 2 + ["low"] * 200),
        lambda tokenizer: tokenizer.encode_to_numpy([TEXT]),
        lambda tokenizer: tokenizer.encode_bytes(TEXT.encode()),
        lambda tokenizer: [*tokenizer.encode_iterable([TEXT])],
        lambda tokenizer: tokenizer.session().append(TEXT),
        lambda tokenizer: count([TEXT], pattern=COSTLY),
        lambda tokenizer: BPETokenizer.train([TEXT], num_merges=1, pattern=COSTLY),
    ],
)
def test_every_call_refuses_a_text_that_takes_too_long(tokenizer, call):
    with pytest.raises(ValueError, match=TOO_COSTLY.format(len(TEXT))):
        call(tokenizer)


def test_error_leaves_the_tokenizer_as_it_was(tokenizer):
    before = tokenizer.encode("low lower aab")
    with pytest.raises(ValueError, match=TOO_COSTLY.format(len(TEXT))):
        tokenizer.encode_to_lists([TEXT] * 8)
    assert tokenizer.encode("low lower aab") == before


def test_error_after_a_prefix_space_leaves_later_texts_unchanged():
    chain = [ByteLevel(add_prefix_space=True), Split(r"(?:a{1,100}){1,100}b")]
    tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=262, pattern=chain)
    text = " low \u4f60 lower lowest aab"  # a space begins it, so it is not copied

    def results():
        places = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
        return places, tokenizer.encode_to_lists([text] * 3, dropout=0.5, seed=1, num_workers=1)

    before = results()
    with pytest.raises(ValueError, match=TOO_COSTLY.format(len(TEXT))):
        tokenizer(TEXT)
    assert results() == before


def test_stages_of_a_chain_share_the_work_of_a_text():
    with pytest.raises(ValueError, match=TOO_COSTLY.format(20_000)):
        pre_tokens(CHAIN, TEXT)


def test_files_and_commands_refuse_a_text_that_takes_too_long(tokenizer, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    foreign = BPETokenizer.from_pretrained(save_as_others(tokenizer, tmp_path / "tokenizer"))
    with pytest.raises(ValueError, match=TOO_COSTLY.format(len(TEXT))):
        foreign.encode_files(tmp_path / "text.txt", tmp_path / "ids.npy")
    assert not (tmp_path / "ids.npy").exists()
    for arguments in (
        ["encode", tmp_path / "tokenizer", tmp_path / "text.txt"],
        ["train", tmp_path / "text.txt", "--pattern", COSTLY, "--num-merges", "1", "-o", tmp_path / "new"],
    ):
        assert "the pattern takes more than 500 steps a byte" in error(*arguments)


def expressions():
    """Nested repetitions, with and without look-around."""
    leaves = st.sampled_from(["a", "[ab]", "a?", r"\w", "(?=a)a", "(?<=a)b?a"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("(?:{}){{{},{}}}".format, inner, st.integers(0, 2), st.integers(3, 60)),
            st.builds("(?:{})+".format, inner),
            st.builds("(?:{}|{})".format, inner, inner),
            st.builds("{}{}".format, inner, inner),
            st.builds("(?>{})".format, inner),
        ),
        max_leaves=5,
    ).map(lambda body: rf"(?:{body})c|[\s\S]")


@given(expressions(), st.integers(1, 3000), st.booleans())
def test_any_expression_ends_in_a_limited_number_of_steps(expression, length, is_mixed):
    """Each step takes nanoseconds, so the test ends; a text is cut into all of itself, or refused."""
    text = ("ab" if is_mixed else "a") * length
    try:
        pattern = Pattern.parse(expression)
        chain = compile_natively(native_core(), pattern.chain)
    except ValueError:
        assume(False)
    assume(not isinstance(chain, str))
    try:
        pieces = native_core().pre_tokenize(text.encode(), chain)
    except ValueError:
        return
    assert b"".join(pieces).decode() == text


def test_real_patterns_split_runs_of_characters(test_data):
    """The worst that they meet, in which they take at most four steps a byte."""
    runs = [" ", "a", "A", "1", "\n", "!", "'", "中", "👋", "\r\n", " \n", "a\u0301", "Ab ", "\u00a0"]
    rng = np.random.default_rng(0)
    texts = [run * (100_000 // len(run)) for run in runs] + ["".join(rng.choice(runs, 100_000))]
    patterns = set()
    for path in sorted(test_data.glob("tokenizers/*/tokenizer.json")):
        _, _, rest = path.read_text("utf-8").partition('"pre_tokenizer":')  # without the vocabulary, which takes long
        with suppress(ValueError):  # not byte-level
            patterns.add(Pattern.parse(json.JSONDecoder().raw_decode(rest.lstrip())[0]))
    assert len(patterns) > 5
    for pattern in patterns:
        chain = compile_natively(native_core(), pattern.chain)
        for text in texts:
            assert b"".join(native_core().pre_tokenize(text.encode(), chain)).decode() == text


PEAK = """
import re, string, sys
from pathlib import Path
from hf_bpe._native_core import native_core
from hf_bpe.pretokenizers import Pattern, Split
from hf_bpe.pretokenizers._native_splitting import compile_natively

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

words = "|".join(2 * letter for letter in string.ascii_letters)
pattern = Pattern.parse([Split(rf"(?:{words})|\\w+(?!\\s\\s)|\\s+(?!\\S\\S)|[^\\w\\s]+|\\s")])
chain = compile_natively(native_core(), pattern.chain)
text = b"some words of text, " * int(sys.argv[1])

def count(text):
    counter = native_core().Counter(chain, [], threads=1, chunk_bytes=1 << 30)
    counter.add([text], check_utf8=False, progress=None)

count(text[:1000])
before = peak()
count(text)
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
def test_what_backtracking_knows_of_the_text_before_is_freed():
    done = subprocess.run([sys.executable, "-c", PEAK, "200000"], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20  # MB, of 4 MB of text
