"""What the README and the examples say is what happens."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hf_bpe

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def run_example(name, *arguments):
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout


def test_sessions_of_the_readme_print_what_they_show(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sessions = "".join(blocks("pycon"))
    test = doctest.DocTestParser().get_doctest(sessions, {}, "README.md", "README.md", 0)
    report = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.attempted > 10
    assert not results.failed, "".join(report)


def test_python_of_the_readme_runs(tmp_path, monkeypatch, test_data):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hf_bpe.BPETokenizer, "_registered_for_auto_class", False)  # which it is until the test ends
    shutil.copytree(test_data / "gpt2", tmp_path / "gpt2")
    (tmp_path / "corpus.txt").write_text("The quick brown fox<|endoftext|>jumps", encoding="utf-8")
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "gpt2-tokenizer" / "tokenizer.json").exists()
    assert np.load(tmp_path / "tokens.npy").tolist()[:5] == [464, 2068, 7586, 21831, 50256]
    original = (tmp_path / "gpt2" / "merges.txt").read_text("utf-8").splitlines()
    assert (tmp_path / "gpt2-files" / "merges.txt").read_text("utf-8").splitlines() == original


def test_shell_of_the_readme_prints_what_it_shows(tmp_path):
    shutil.copy(ROOT / "README.md", tmp_path / "corpus.txt")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where hf-bpe is installed
    for line, expected in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", "".join(blocks("console")), re.MULTILINE):
        ran = subprocess.run(
            line, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == expected.strip(), line
    assert (tmp_path / "gpt2-files" / "merges.txt").exists()


def test_continuous_integration_runs_the_two_commands_of_the_readme():
    commands = [block.strip() for block in blocks("sh")]
    assert len(commands) == 2
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert all(command in script for command in commands)


def test_example_train_and_load(tmp_path):
    output = run_example("train_and_load.py", ROOT / "README.md", tmp_path)
    assert "loaded as BPETokenizer" in output
    assert "decoded: The tokenizer trains, encodes and decodes. 你好 👋<|endoftext|>" in output


def test_example_convert_gpt2(tmp_path, test_data):
    output = run_example("convert_gpt2.py", test_data / "gpt2", tmp_path)
    assert "The quick brown fox: [464, 2068, 7586, 21831]" in output
    assert "and back: the same model" in output


def test_example_train_tiny_gpt2(tmp_path):
    pytest.importorskip("torch", reason="training a model needs torch")
    pytest.importorskip("accelerate", reason="training a model needs accelerate")
    output = run_example("train_tiny_gpt2.py", ROOT / "README.md", tmp_path)
    assert "BPETokenizer from the checkpoint: 'The tokenizer" in output
    assert (tmp_path / "checkpoint-10" / "tokenizer.json").exists()
