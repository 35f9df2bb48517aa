"""Small files and patterns that would take minutes or all memory: they work at once, or are refused by name.

Each runs in a process of its own, which is ended where the limit does not hold.
"""

import os
import subprocess
import sys
import textwrap

import pytest
from tokenizers import Regex, pre_tokenizers

from hf_bpe import BPETokenizer, count
from hf_bpe.pretokenizers import CharDelimiterSplit, Split, canonical_pattern
from support.commands import error
from support.profiles import thorough

_SECONDS = 100  # a process that computes for hours is ended; each needs a few seconds

NESTED_POSSESSIVE = "(?:" * 30 + "a" + ")++" * 30 + r"|[\s\S]"

COUNT = "from hf_bpe import count"  # without transformers
IMPORTS = "from hf_bpe import BPETokenizer, count, train\n"
WRITE_FILE = """
import json
from pathlib import Path
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer

def write_file(folder, split=None, normalizer=None):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({char: i for i, char in enumerate([*alphabet, "aa"])}, [("a", "a")]))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    split = [pre_tokenizers.Split(Regex(split), "isolated")] if split else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    Path(folder).mkdir(exist_ok=True)
    tokenizer.save(f"{folder}/tokenizer.json")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast"}
    Path(folder, "tokenizer_config.json").write_text(json.dumps(settings))
    return tokenizer
"""
WRITE_FILE = IMPORTS + WRITE_FILE


def run_code(folder, code, *, engine=None, setup=WRITE_FILE):
    """Return what Python code writes, run in a folder; a ValueError that it raises is written as its last line."""
    indented = textwrap.indent(textwrap.dedent(code), "    ")
    whole = f"{setup}\ntry:\n{indented}\nexcept ValueError as error:\n    print('ValueError:', error)\n"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    environment |= {"HF_BPE_ENGINE": engine} if engine else {}
    ran = subprocess.run(
        [sys.executable, "-c", whole],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.strip()


def test_nested_possessive_pattern_splits_natively(tmp_path, native):
    written = run_code(
        tmp_path,
        f"""
        PATTERN = {NESTED_POSSESSIVE!r}
        expected = write_file("m", PATTERN).encode("baaab").ids
        print(BPETokenizer.convert_from("m/tokenizer.json").encode("baaab") == expected)
        print(BPETokenizer.from_pretrained("m").encode("baaab") == expected)
        BPETokenizer.from_pretrained("m").save_pretrained("saved")
        print(AutoTokenizer.from_pretrained("saved").encode("baaab") == expected)
        print(sorted(count(["baaab"], pattern=PATTERN)))
        print(train(["baaaa"], 258, pattern=PATTERN).merges)
        """,
    )
    assert written.splitlines() == ["True", "True", "True", "[b'aaa', b'b']", "[(b'a', b'a'), (b'aa', b'aa')]"]


def test_nested_possessive_pattern_is_refused_without_the_native_core(tmp_path):
    written = run_code(tmp_path, f"count(['aaab'], pattern={NESTED_POSSESSIVE!r})", engine="reference", setup=COUNT)
    assert written.startswith("ValueError: pattern '(?:(?:(?:")
    assert "nested repetitions that the package regex expands to over 262144 nodes" in written


def test_nested_alternatives_in_a_look_behind_split_as_in_tokenizers(tmp_path):
    pattern = "(?<=z" + "(?:" * 30 + "aa|bb" + "|cc)" * 30 + r")x|[\s\S]"
    written = run_code(tmp_path, f"print(sorted(count(['zaaxzccxzddx'], pattern={pattern!r}).items()))", setup=COUNT)
    pieces = [piece for piece, _ in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str("zaaxzccxzddx")]
    assert written == str(sorted((piece.encode(), pieces.count(piece)) for piece in {*pieces}))


LONGEST = "|".join(["abc"] * 2500) + "d"  # 10,000 characters


@pytest.mark.parametrize(
    "pattern",
    [
        LONGEST,
        [Split(LONGEST[:5000]), Split(LONGEST[5000:9998]), Split("xx", is_literal=True)],
        [CharDelimiterSplit(char) for char in map(chr, range(33, 96))],  # and a ByteLevel
    ],
)
def test_longest_pattern_is_taken(pattern):
    assert count(["abc def"], pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (LONGEST + "e", "a pattern of 10001 characters; expected at most 10000"),
        ("x" * 10_001, "a pattern of 10001 characters; expected at most 10000"),
        ([Split(LONGEST[:5000]), Split(LONGEST[4999:])], "a pattern of 10001 characters; expected at most 10000"),
        ([Split(LONGEST), Split("x", is_literal=True)], "a pattern of 10001 characters; expected at most 10000"),
        ([CharDelimiterSplit(char) for char in map(chr, range(33, 97))], "stages: expected at most 64, got 65"),
        ("a" + "*" * 102, r"column 103: more than 100 repetitions of repetitions"),
        ("a{" + "9" * 9000 + "}", "column 2: a repetition of over 100000"),
    ],
)
def test_longer_pattern_is_refused(pattern, message):
    with pytest.raises(ValueError, match=message):
        count(["abc"], pattern=pattern)


def test_longer_pattern_of_a_file_is_refused(tmp_path):
    namespace = {}
    exec(WRITE_FILE, namespace)
    namespace["write_file"](tmp_path / "m", LONGEST + "e")
    namespace["write_file"](tmp_path / "longest", LONGEST)
    assert BPETokenizer.from_pretrained(tmp_path / "longest").tokenize("abc")
    for read in (BPETokenizer.from_pretrained, BPETokenizer.convert_from):
        with pytest.raises(ValueError, match="a pattern of 10001 characters; expected at most 10000"):
            read(tmp_path / "m")
    options = ("--pattern", LONGEST + "e", "-o", tmp_path / "x")
    assert "a pattern of 10001 characters" in error("count", tmp_path / "m/tokenizer.json", *options)


def test_pattern_is_refused_where_the_stack_is_nearly_full():
    def deep(levels, expression):
        return deep(levels - 1, expression) if levels else canonical_pattern(expression)

    pattern = "(?:a|" * 90 + "b" + ")" * 90
    assert deep(0, pattern) == pattern
    with pytest.raises(ValueError, match="nested too deeply for the rest of the stack"):
        deep(700, pattern + "(?#)")
    with pytest.raises(ValueError, match="nested too deeply"):
        canonical_pattern('{"type":' + "[" * 100_000)


@pytest.mark.parametrize(
    ("special", "load"),
    [
        (True, "convert_from('m/tokenizer.json')"),
        pytest.param(False, "convert_from('m/tokenizer.json')", marks=thorough),
        pytest.param(True, "from_pretrained('m')", marks=thorough),
        pytest.param(False, "from_pretrained('m')", marks=thorough),
    ],
)
def test_many_added_tokens_load_in_seconds(tmp_path, special, load):
    written = run_code(
        tmp_path,
        f"""
        write_file("m")
        content = json.loads(Path("m/tokenizer.json").read_text())
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {{"special": {special}}}
        content["added_tokens"] = [{{"id": 257 + i, "content": f"<t{{i}}>", **flags}} for i in range(60_000)]
        Path("m/tokenizer.json").write_text(json.dumps(content))
        tokenizer = BPETokenizer.{load}
        print(tokenizer.encode("aa<t59999>"), len(tokenizer))
        """,
    )
    assert written == "[256, 60256] 60257"
