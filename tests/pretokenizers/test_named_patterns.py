"""Named patterns are lines of one table, from which all else follows."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe.pretokenizers import CHAINS, NAMES, PATTERNS, Pattern, split
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS, WITH_SCANNER, name_meant
from hf_bpe.pretokenizers._native_splitting import compile_natively
from support.cases import case
from support.strategies import texts

# Inserts a line into the table, as an edit of the file would, and then uses the new name wherever one may be given.
SCRIPT = r'''
import importlib.util, sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

expression = r"\p{L}+|\p{N}{1,2}|\s+|[^\s\p{L}\p{N}]+"
line = f'    "glm9": NamedPattern("GLM-9", {expression!r}, also="chatglm9", llama_cpp="glm-9"),\n'


class Edited(SourceFileLoader):
    def path_stats(self, path):
        raise OSError("no compiled code")

    def get_data(self, path):
        head, end, rest = Path(path).read_text("utf-8").partition('}\n"""Name →')
        return (head + line + end + rest).encode()


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "hf_bpe.pretokenizers._named_patterns":
            file = f"{path[0]}/_named_patterns.py"
            return importlib.util.spec_from_file_location(name, file, loader=Edited(name, file))


sys.meta_path.insert(0, Finder)
from tokenizers import Tokenizer
from hf_bpe import BPETokenizer, count
from hf_bpe.pretokenizers import NAMES, Pattern, split

assert "glm9" in NAMES
text = "Hello, world 2024 it's\n\n the lowest low; ünï 12345  x" * 3
tokenizer = BPETokenizer.train([text] * 3, num_merges=9, pattern="glm9")
assert Pattern.parse(expression).canonical == tokenizer.pattern == "glm9"
assert sorted(count([text], pattern="glm9").items()) == sorted(
    {word.encode(): split(text, "glm9").count(word) for word in split(text, "glm9")}.items()
)
tokenizer.save_pretrained("saved")
assert BPETokenizer.from_pretrained("saved").pattern == "glm9"
assert Tokenizer.from_file("saved/tokenizer.json").encode(text).ids == tokenizer.encode(text)
for path in ("x.tiktoken", "x.gguf", "x.json"):
    tokenizer.convert_to(path)
    again = BPETokenizer.convert_from(path)
    assert (again.pattern, again.encode(text)) == ("glm9", tokenizer.encode(text)), path
for name in ("glm_9", "chatglm-9"):
    try:
        Pattern.parse(name)
    except ValueError as error:
        assert "did you mean 'glm9'" in str(error), error
print("one line")
'''


def test_line_of_the_table_is_all_that_a_name_needs(tmp_path):
    pytest.importorskip("gguf", reason="GGUF files need gguf")
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "one line\n", done.stderr


def test_core_has_the_scanners_that_the_table_says(native):
    def has(name):
        try:
            native.pre_tokenize(b"", name)
        except ValueError:
            return False
        return True

    assert {name for name in NAMES if has(name)} == WITH_SCANNER


@pytest.mark.parametrize("name", NAMES)
@given(texts)
def test_compiled_pattern_cuts_as_its_scanner(native, name, text):
    chain = compile_natively(native, Pattern(name).chain)
    pieces = native.pre_tokenize(text.encode("utf-8", "surrogateescape"), chain)
    assert [piece.decode("utf-8", "surrogateescape") for piece in pieces] == split(text, name)


def test_table_gives_each_pattern_one_name():
    assert (*PATTERNS, *CHAINS) == NAMES
    assert {*NAMES} == {*NAMED_PATTERNS}
    for name in NAMES:
        assert Pattern.parse(Pattern(name).chain).canonical == name
        for stage in Pattern(name).chain.stages:
            Pattern.parse(getattr(stage, "expression", "") + "(?#)")  # refuses what two dialects read differently


def test_other_names_mean_one_pattern():
    others = [other for each in NAMED_PATTERNS.values() for other in each.also.split()]
    assert len({*others}) == len(others)
    for name, each in NAMED_PATTERNS.items():
        assert [name_meant(other) for other in each.also.split()] == [name] * len(each.also.split())


OTHER_NAMES = {
    **{"gpt4": "cl100k", "cl100": "cl100k", "cl100k_base": "cl100k", "gpt-4o": "o200k", "GPT2": "gpt2"},
    **{"llama-3": "llama3", "Qwen2.5": "qwen2", "qwen_3.5": "qwen3.5", "deepseek": "deepseek-v3"},
}.items()


def test_unknown_name_is_answered_by_the_one_that_is_meant():
    for name, meant in OTHER_NAMES:
        answer = f"pattern '{name}' is not known: did you mean '{meant}'\\? Expected one of"
        with case(name), pytest.raises(ValueError, match=answer):
            Pattern.parse(name)


@given(st.from_regex(r"[a-z]{9,12}", fullmatch=True))
def test_name_that_is_like_none_gets_the_list_only(name):
    if name_meant(name) is None:
        with pytest.raises(ValueError, match=f"pattern '{name}' is not known: expected one of gpt2, "):
            Pattern.parse(name)
