"""Which engine is chosen, and what is said of it."""

import os
import subprocess
import sys

import pytest

MISSING = "import sys; sys.modules['hf_bpe._native'] = None;"


def run(code, choice=None):
    environment = {name: value for name, value in os.environ.items() if name != "HF_BPE_ENGINE"}
    if choice is not None:
        environment["HF_BPE_ENGINE"] = choice
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


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
    assert "Reinstall hf_bpe with a C++20 compiler, or set HF_BPE_ENGINE=reference" in ran.stderr


def test_a_missing_core_is_nothing_to_those_who_chose_the_reference():
    ran = run(f"{MISSING}{TRAIN}", "reference")
    assert (ran.stdout, ran.stderr) == ("[(b'o', b'w')] False\n", "")


def test_a_missing_core_is_an_error_to_those_who_chose_it():
    ran = run(f"{MISSING}{TRAIN}", "native")
    assert ran.returncode == 1
    assert "ImportError: HF_BPE_ENGINE is native, but the native core of hf_bpe is not built" in ran.stderr


def test_an_unknown_engine_is_refused():
    assert "ValueError: HF_BPE_ENGINE: expected native or reference, got 'rust'" in run(TRAIN, "rust").stderr
