"""What the tests of `benchmarks` share: a text, a vocabulary, and the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import hf_bpe
from hf_bpe.conversion import write_gpt2
from support.patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent.parent


def write_text(folder):
    path = folder / "text.txt"
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")]
    path.write_text("<|endoftext|>".join([*pages, "", "naïve 你好\n\n\n"]), encoding="utf-8")
    return path


def write_gpt2_folder(folder, text):
    made = folder / "gpt2"
    made.mkdir()
    write_gpt2(hf_bpe.train([text], 600, ["<|endoftext|>"], pattern="gpt2"), made)
    return made


def run(tmp_path, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE,
    )


def measure(tmp_path, task, *arguments):
    output = tmp_path / f"{task}.json"
    done = run(tmp_path, task, *arguments, "--repeats", 1, "--output", output)
    return done, json.loads(output.read_text(encoding="utf-8")) if output.exists() else None
