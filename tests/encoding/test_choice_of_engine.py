"""Which engine is chosen, and what is said of it."""

import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import SimpleNamespace

import pytest

from hf_bpe import BPETokenizer, count
from hf_bpe._native_core import native_core
from support.edited_folders import save_as_others

MISSING = "import sys; sys.modules['hf_bpe._native'] = None;"


def run(code, choice=None, cwd=None):
    own = ("HF_BPE_ENGINE", "PYTHONWARNINGS")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    if choice is not None:
        environment["HF_BPE_ENGINE"] = choice
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=cwd, check=False
    )


TRAIN = """
from hf_bpe import train_bpe
from hf_bpe._native_core import native_core
print(train_bpe(["low low"], 257)[1], native_core() is not None)"""


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(("choice", "is_native"), [(None, True), ("", True), ("native", True), ("reference", False)])
def test_the_environment_chooses_the_engine(choice, is_native):
    ran = run(TRAIN, choice)
    assert (ran.stdout, ran.stderr) == (f"[(b'o', b'w')] {is_native}\n", "")


def test_missing_core_warns_once_with_the_same_results():
    ran = run(f"{MISSING}{TRAIN}\ntrain_bpe(['low low'], 257)")
    assert ran.stdout == "[(b'o', b'w')] False\n"
    assert ran.stderr.count("RuntimeWarning: the native core of hf_bpe is not built") == 1
    assert "Reinstall hf_bpe with a C++20 compiler or a network, or set HF_BPE_ENGINE=reference" in ran.stderr
    assert ran.stderr.startswith("<string>:4: ")  # the program's line, not one of hf_bpe


@pytest.mark.parametrize(
    ("before", "choice", "output", "error"),
    [
        (MISSING, "reference", "[(b'o', b'w')] False\n", ""),
        (MISSING, "native", "", "ImportError: HF_BPE_ENGINE is native, but the native core of hf_bpe is not built"),
        ("", "rust", "", "ValueError: HF_BPE_ENGINE: expected native or reference, got 'rust'"),
    ],
)
def test_a_choice_without_a_core_holds_or_is_an_error(before, choice, output, error):
    ran = run(before + TRAIN, choice)
    assert (ran.stdout, bool(ran.returncode), bool(ran.stderr)) == (output, bool(error), bool(error))
    assert error in ran.stderr


def test_sources_imported_for_the_installed_package_are_named(tmp_path, monkeypatch):
    """As in a clone after `pip install .`, where Python finds the sources first."""
    package = tmp_path / "hf_bpe"
    package.mkdir()
    (package / f"_native{EXTENSION_SUFFIXES[0]}").touch()
    (package / "__init__.py").touch()
    installed = SimpleNamespace(locate_file=tmp_path.joinpath)
    monkeypatch.setattr("importlib.metadata.distribution", {"hf_bpe": installed}.get)
    monkeypatch.setitem(sys.modules, "hf_bpe._native", None)
    monkeypatch.delenv("HF_BPE_ENGINE", raising=False)
    expected = (
        f"imported hf_bpe from its sources .*installed in {tmp_path}: .*Start Python in another folder, or run pip"
    )
    with pytest.warns(RuntimeWarning, match=expected):
        assert native_core.__wrapped__() is None


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(
    ("pattern", "reason"), [(r"\w+|\Ga", r"\G has no program"), ("(?:a{1,999}){1,999}", "needs over 32768 steps")]
)
def test_a_pattern_that_the_core_cannot_run_is_refused_by_name(tmp_path, pattern, reason):
    (tmp_path / "text.txt").write_text("low lower")
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    stages = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    save_as_others(BPETokenizer.train(["low lower"], 258), tmp_path, pre_tokenizer=stages)
    calls = [
        lambda: count(["low lower"], pattern=pattern),
        lambda: BPETokenizer.train(tmp_path / "text.txt", 258, pattern=pattern),
        lambda: BPETokenizer.from_pretrained(tmp_path).encode("low"),
        lambda: BPETokenizer.convert_from(tmp_path / "tokenizer.json").encode("low"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=re.escape(reason)):
            call()


PLAIN = """
import warnings
from hf_bpe import BPETokenizer, count, train
from hf_bpe.encoding._sessions.streams import encode_blocks
from hf_bpe.training import Parity, Superwords
from transformers import AutoTokenizer, PreTrainedTokenizerFast

tokenizer = BPETokenizer.train(["low lower lowest"] * 3, vocab_size=262, special_tokens=["<|x|>"], eos_token="<|x|>")
tokenizer.save_pretrained("saved", portable=True)
loaded = AutoTokenizer.from_pretrained("saved")
fast = PreTrainedTokenizerFast.from_pretrained("saved")
text = "low<|x|> lowest newest"
ours, theirs = (each(text, return_offsets_mapping=True)["offset_mapping"] for each in (loaded, fast))
assert ours == theirs
assert loaded.decode(loaded.encode(text)) == text == fast.decode(fast.encode(text))
pieces = [text[i : i + 3] for i in range(0, len(text), 3)]
assert [*tokenizer.encode_iterable(pieces)] == tokenizer.encode(text)
blocks = encode_blocks(tokenizer.pipeline.encoder, pieces, tokenizer.pipeline.options(), 1, block_bytes=4)
assert [token_id for ids in blocks for token_id in ids.tolist()] == tokenizer.encode(text)
assert BPETokenizer.convert_from("saved/tokenizer.json").encode(text) == loaded.encode(text) == fast.encode(text)
"""
NEEDS_CORE = {
    "pre-tokens": "__import__('hf_bpe').pretokenizers.split('low', 'gpt2')",
    "sessions": "tokenizer.session()",
    "canonical ids": "tokenizer.canonical_ids()",
    "dropout": "tokenizer('low', dropout=0.1, seed=1)",
    "several languages": "train({'a': iter(int, None)}, 300, parity=Parity())",  # before any text is read
    "superwords": "train(['low'], 300, superwords=Superwords(after=1))",
    "limits of memory": "train(count(['low lower']), 257, max_memory='4GB')",
    "counts in limited memory": "count(['low'], max_memory='4GB')",
    "work folders of counts": "count(['low'], work_dir='work')",
    "sums and parts of counts": "count(['low lower']).prune(2)",
    "token files": "tokenizer.encode_files('text.txt', 'ids.npy')",
    "reports": "__import__('hf_bpe.analysis').analysis.report(tokenizer, ['low'])",
    "accelerated tokenizers": "__import__('hf_bpe').accelerate(fast)",
    "extended vocabularies": "__import__('hf_bpe.editing').editing.extend(tokenizer.model, ['low'], 1)",
}


def test_commands_that_need_the_core_say_so_in_one_line(tmp_path):
    (tmp_path / "text.txt").write_text("low lower")
    BPETokenizer.train(["low lower"], 258).save_pretrained(tmp_path / "saved")
    commands = {
        "train text.txt -o new --vocab-size 258 --max-memory 1GB": "counts in limited memory",
        "encode-files saved text.txt -o ids.npy": "token files",
        "report saved text.txt": "reports",
    }
    code = f"""
import sys, hf_bpe.cli
for arguments in {[*commands]}:
    sys.argv[1:] = arguments.split()
    try:
        hf_bpe.cli.main()
    except SystemExit as ended:
        print(ended.code)"""
    ran = run(code, "reference", tmp_path)
    assert ran.stdout == "1\n" * len(commands)
    assert "Traceback" not in ran.stderr
    errors = [line for line in ran.stderr.splitlines() if line.startswith("hf-bpe: error: ")]
    for said, what in zip(errors, commands.values(), strict=True):
        assert said.startswith(f"hf-bpe: error: {what} need the native core of hf_bpe")


def test_patterns_are_compared_without_the_core():
    ran = run("import sys, hf_bpe.cli; sys.argv[1:] = ['verify', 'gpt2', 'cl100k']; hf_bpe.cli.main()", "reference")
    assert ran.returncode == 1
    assert """the pattern 'cl100k': ["'S"]""" in ran.stdout


@pytest.mark.parametrize("choice", ["reference", None])
def test_plain_python_trains_encodes_and_refuses_all_else(tmp_path, choice):
    (tmp_path / "text.txt").write_text("low")
    tries = "".join(
        f"try:\n    {code}\nexcept RuntimeError as error:\n    print({what!r}, '|', error)\n"
        for what, code in NEEDS_CORE.items()
    )
    ran = run((MISSING if choice is None else "") + PLAIN + tries, choice, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    why = "is not built" if choice is None else "is switched off by HF_BPE_ENGINE"
    said = [line.partition(" | ") for line in ran.stdout.splitlines()]
    assert [what for what, _, _ in said] == [*NEEDS_CORE]
    for what, _, message in said:
        assert message == (
            f"{what} need the native core of hf_bpe, which {why}; without it, hf_bpe trains, encodes, decodes, loads, "
            "saves and converts only"
        )
    assert ran.stderr.count("is not built") == (choice is None)
