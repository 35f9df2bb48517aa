"""Small files and patterns that would take minutes or all memory: they work at once, or are refused by name."""

import json

import pytest
from tokenizers import Regex, pre_tokenizers

from hf_bpe import BPETokenizer, count
from hf_bpe.pretokenizers import CharDelimiterSplit, Pattern, Split
from support.cases import case
from support.commands import error
from support.fuzz.odd_calls import time_limit
from support.processes import run_code
from support.profiles import thorough

NESTED_POSSESSIVE = "(?:" * 30 + "a" + ")++" * 30 + r"|[\s\S]"
NESTED_IN_LOOK_BEHIND = "(?<=z" + "(?:" * 30 + "aa|bb" + "|cc)" * 30 + r")x|[\s\S]"


def test_nested_patterns_split_as_in_tokenizers(native):
    texts = {NESTED_POSSESSIVE: "baaab", NESTED_IN_LOOK_BEHIND: "zaaxzccxzddx"}
    code = f"from hf_bpe import count\ncounts = [count([text], pattern=pattern) for pattern, text in {texts}.items()]"
    code += "\nprint(json.dumps([[[word.decode(), n] for word, n in each.items()] for each in counts]))"
    # In a process of its own, which is ended where a limit does not hold.
    for (pattern, text), counted in zip(texts.items(), run_code(code), strict=True):
        pieces = [piece for piece, _ in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)]
        assert dict(counted) == {piece: pieces.count(piece) for piece in pieces}


LONGEST = "|".join(["abc"] * 2500) + "d"  # 10,000 characters
TOO_LONG = "a pattern of 10001 characters; expected at most 10000"


def test_pattern_is_taken_up_to_the_longest():
    literal = Split("x", is_literal=True)
    delimiters = [CharDelimiterSplit(char) for char in map(chr, range(33, 97))]
    for pattern in (
        LONGEST,
        [Split(LONGEST[:5000]), Split(LONGEST[5000:9998]), Split("xx", is_literal=True)],
        delimiters[:-1],  # and a ByteLevel
    ):
        assert count(["abc def"], pattern=pattern)
    for pattern, message in (
        (LONGEST + "e", TOO_LONG),
        ("x" * 10_001, TOO_LONG),
        ([Split(LONGEST[:5000]), Split(LONGEST[4999:])], TOO_LONG),
        ([Split(LONGEST), literal], TOO_LONG),
        (delimiters, "stages: expected at most 64, got 65"),
        ("a" + "*" * 102, r"column 103: more than 100 repetitions of repetitions"),
        ("a{" + "9" * 9000 + "}", "column 2: a repetition of over 100000"),
    ):
        with case(str(pattern)[:80]), pytest.raises(ValueError, match=message):
            count(["abc"], pattern=pattern)


def folder_with(folder, split=None, num_added=0, special=False):
    """Write a `tokenizer.json` of one merge with an expression to split by, or with many added tokens."""
    content = json.loads(BPETokenizer.train(["aa"], 257, pattern=split or "gpt2").backend_tokenizer.to_str())
    if split:
        content["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = split
    flags = {**dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False), "special": special}
    content["added_tokens"] = [{"id": 257 + i, "content": f"<t{i}>", **flags} for i in range(num_added)]
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_longer_pattern_of_a_file_is_refused(tmp_path):
    longest = folder_with(tmp_path / "longest", LONGEST)
    assert BPETokenizer.from_pretrained(longest).tokenize("abc")
    content = json.loads((longest / "tokenizer.json").read_text("utf-8"))
    content["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] += "e"
    (longest / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    for read in (BPETokenizer.from_pretrained, BPETokenizer.convert_from):
        with pytest.raises(ValueError, match=TOO_LONG):
            read(longest)
    options = ("--pattern", LONGEST + "e", "-o", tmp_path / "x")
    assert "a pattern of 10001 characters" in error("count", longest / "tokenizer.json", *options)


@pytest.mark.parametrize(
    ("special", "load"),
    [
        (True, BPETokenizer.convert_from),
        pytest.param(False, BPETokenizer.convert_from, marks=thorough),
        pytest.param(True, BPETokenizer.from_pretrained, marks=thorough),
        pytest.param(False, BPETokenizer.from_pretrained, marks=thorough),
    ],
)
def test_many_added_tokens_load_in_seconds(tmp_path, special, load):
    with time_limit():
        tokenizer = load(folder_with(tmp_path / "m", num_added=60_000, special=special))
        assert (tokenizer.encode("aa<t59999>"), len(tokenizer)) == ([256, 60256], 60257)


def test_pattern_is_refused_where_the_stack_is_nearly_full():
    def deep(levels, expression):
        return deep(levels - 1, expression) if levels else Pattern.parse(expression).canonical

    pattern = "(?:a|" * 90 + "b" + ")" * 90
    assert deep(0, pattern) == pattern
    with pytest.raises(ValueError, match="nested too deeply for the rest of the stack"):
        deep(700, pattern + "(?#)")
    with pytest.raises(ValueError, match="nested too deeply"):
        Pattern.parse('{"type":' + "[" * 100_000)
