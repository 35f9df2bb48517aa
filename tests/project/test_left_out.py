"""A run of the tests says in one line which tests it left out, and how to run them."""

import os
import re
import subprocess
import sys

import pytest

from support.left_out import IS_BUILT
from support.profiles import thorough
from support.project import ROOT


@pytest.mark.parametrize("processes", ["0", pytest.param("2", marks=thorough)])
def test_tests_left_out_are_counted_and_not_listed(processes, tmp_path):
    # As in a clone that cannot be written, which fails no run: neither pytest nor hypothesis can make its folder.
    (tmp_path / ".hypothesis").touch()
    cache = tmp_path / ".hypothesis" / "pytest"
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-o", f"cache_dir={cache}"]
    command += ["-v", "-rs", "-n", processes]
    if processes == "0":
        command.append("--collect-only")
    names = ("counting/test_runs.py", "encoding/test_merge_trees.py", "distributed/test_on_ray.py")
    names += ("analysis/test_notebook_page.py", "playground/test_page.py")
    command += [str(ROOT / "tests" / name) for name in names]
    environment = {name: value for name, value in os.environ.items() if name != "HF_BPE_TEST_DATA"}
    environment["PATH"] = str(tmp_path)  # which has no browser
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "could not create cache path" in done.stdout
    (line,) = re.findall(r"^left out: .*$", done.stdout, re.MULTILINE)
    assert re.search(r"\b1 with real text and files \(set HF_BPE_TEST_DATA\)", line)
    assert re.search(r"\d\d in a browser \(install chromium\)", line)
    assert "test_notebook_page.py" not in done.stdout
    assert "test_page.py" not in done.stdout
    if not IS_BUILT:
        assert re.search(r"\d+ on the native core, which is not built", line)
    assert "test_gpt2_has_a_tree_for_every_token" not in done.stdout
    assert not re.search("SKIPPED.*(thorough|HF_BPE_TEST_DATA|core is not built)", done.stdout)
