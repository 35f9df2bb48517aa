"""Small files and patterns that would take minutes or all memory: they work at once, or are refused by name.

Each runs in a process of its own, which is ended where the limit does not hold.
"""

import os
import subprocess
import sys
import textwrap

import pytest

_SECONDS = 100  # a process that computes for hours is ended; each needs a few seconds

NESTED_POSSESSIVE = "(?:" * 30 + "a" + ")++" * 30 + r"|[\s\S]"

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
    written = run_code(tmp_path, f"count(['aaab'], pattern={NESTED_POSSESSIVE!r})", engine="reference", setup=IMPORTS)
    assert written.startswith("ValueError: pattern '(?:(?:(?:")
    assert "nested repetitions that the package regex expands to over 262144 nodes" in written


@pytest.mark.parametrize("name", ["x.model", "x.tiktoken"])
def test_nested_possessive_pattern_is_refused_by_formats_of_python(tmp_path, name):
    pattern = "(?:" * 30 + "a" + ")+" * 30 + r"|[\s\S]"  # of notation that all libraries read alike
    code = f"BPETokenizer.train(['aab'], 257, pattern={pattern!r}).convert_to({name!r})"
    written = run_code(tmp_path, code, setup=IMPORTS)
    assert written.startswith("ValueError: ")
    assert "nested repetitions" in written
