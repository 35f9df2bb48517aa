"""A path to write means a file or a folder, in some format."""

from pathlib import Path

import pytest

from hf_bpe import BPETokenizer
from hf_bpe.conversion import FORMATS
from support.commands import error, run

FILES = {".gguf": "gguf", ".json": "tokenizer.json", ".tiktoken": "tiktoken"}
SUFFIXES = ".gguf (gguf), .json (tokenizer.json), .tiktoken (tiktoken)"


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(["low lower"], vocab_size=258, pattern="gpt2")


@pytest.fixture(scope="module")
def source(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def written(tokenizer, tmp_path):
    """Return a function that writes a tokenizer and returns the paths, or the error."""

    def write(name, format=None):
        try:
            paths = tokenizer.convert_to(tmp_path / name, format=format, verify=False)
        except ValueError as error:
            return str(error)
        return {Path(path).relative_to(tmp_path).as_posix() for path in paths}

    return write


@pytest.mark.parametrize("suffix", FILES)
def test_suffix_of_another_format_is_refused(written, tmp_path, suffix):
    for format in sorted(FORMATS, key=FILES[suffix].__eq__):
        found = written(f"x{suffix}", format)
        if format == FILES[suffix]:
            assert f"x{suffix}" in found
        else:
            expected = f"a file that ends in {FORMATS[format].suffix}" if FORMATS[format].is_file else "a folder"
            assert found == f"expected {expected} for format={format!r}, got {str(tmp_path / f'x{suffix}')!r}"
            assert not [*tmp_path.iterdir()]


def test_unknown_suffix_needs_a_format(written, tmp_path):
    for name in ("x.foo", "x.GGUF", "x.h5", "my.tokenizer", "v1.5.bin"):
        expected = f"expected a folder, or a file that ends in {SUFFIXES}, got {str(tmp_path / name)!r}; for a folder "
        assert written(name) == f"{expected}of this name give format='hf'"
        assert not [*tmp_path.iterdir()]
    assert f"{name}/tokenizer.json" in written(name, "hf")


def test_name_with_a_dot_is_a_folder(written, tmp_path):
    for name in ("my-model-v1.5", "Llama-3.1", "Qwen2.5-7B", "phi.3-mini", ".hidden", "x"):
        assert f"{name}/tokenizer.json" in written(name)
        (tmp_path / name).rename(tmp_path / f"other {name}")
    assert f"{name}/tokenizer.gguf" in written(name, "gguf")


def test_folder_that_exists_may_have_any_name(written, tmp_path):
    (tmp_path / "x.foo").mkdir()
    assert "x.foo/tokenizer.json" in written("x.foo")
    (tmp_path / "y.gguf").mkdir()
    assert "y.gguf/vocab.json" in written("y.gguf", "gpt2")


@pytest.mark.parametrize(
    "command", ["truncate SOURCE --vocab-size 257", "pad SOURCE --multiple 64", "train - --num-merges 0"]
)
def test_commands_that_save_folders_refuse_names_of_files(source, tmp_path, command):
    words = [word.replace("SOURCE", str(source)) for word in command.split()]
    for suffix in FILES:
        output = tmp_path / f"x{suffix}"
        assert error(*words, "-o", output).startswith(f"{output} is the name of a file; expected a folder to save in")
        assert not output.exists()
    output.mkdir()
    run(*words, "-o", output, stdin=b"low")
    assert BPETokenizer.from_pretrained(output)


def test_file_of_an_unknown_suffix_has_the_given_format(written):
    for name in ("ranks.txt", "tokenizer.model"):  # as Llama 3 calls its file
        assert name in written(name, "tiktoken")
