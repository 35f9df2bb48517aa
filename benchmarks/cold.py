"""What people wait for before the work, in CPU seconds: `python -m benchmarks cold FOLDER... --text FILE`.

Every figure is the median of processes that do one thing on one core, ours and transformers' in turns: imports; all
commands with a small tokenizer, some also with the first FOLDER, and which large libraries they import; for each FOLDER
loading, memory, saving, `accelerate` next to loading with transformers, and unpickling. Ids are compared first. Then
`--workers` measures the elapsed seconds until workers have encoded a batch, instead. `--python` names other Pythons
with hf_bpe, such as an earlier one, which take turns, too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import measure

LIBRARIES = ("hf_bpe", "transformers")
STEPS = {"load": LIBRARIES, "accelerate": LIBRARIES[:1], "unpickle": LIBRARIES}
WORKERS = dict.fromkeys(("dataset_map", "data_loader", "ray_actor"), LIBRARIES)
QUICK = ("show FOLDER --text Hello", "encode FOLDER --text Hello", "decode FOLDER IDS", "tree FOLDER the")
COMMANDS = (
    *("--version", "--help", "show --help", "tab completion", "show", *QUICK),
    *("train TEXT -o OUT --vocab-size 1000", "count TEXT -o OUT", "merge-counts COUNTS -o OUT", "help train"),
    *("encode-files FOLDER TEXT -o OUT.npy", "report FOLDER TEXT", "compare FOLDER OTHER --on TEXT"),
    *("truncate FOLDER -o OUT --vocab-size 500", "extend FOLDER TEXT -o OUT --add 10", "inspect FOLDER"),
    *("prune FOLDER -o OUT --keep IDS", "add-special-tokens FOLDER <y> -o OUT", "verify FOLDER FOLDER"),
    *("pad FOLDER -o OUT --multiple 64", "convert FOLDER OUT.tiktoken"),
)
"""Lines with names of files in capitals. `show` alone is an error of usage; completion is what a shell asks for."""
LARGE = ("transformers", "torch", "tokenizers", "numpy", "regex", "rich", "jinja2")
FILES = {"TEXT": "text.txt", "COUNTS": "counts", "IDS": "ids", "OTHER": "other"}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": ""}
COMPLETION = {"_HF_BPE_COMPLETE": "complete_bash", "COMP_WORDS": "hf-bpe tr", "COMP_CWORD": "1"}


class Environment:
    """A Python with hf_bpe, the files that its processes share, and what they took, by row and column of the tables."""

    def __init__(self, python: str, work: Path, text: str) -> None:
        self.python, self.work = python, work
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.imports: dict[str, str] = {}
        work.mkdir()
        (work / "text.txt").write_text(text, "utf-8")
        (work / "ids").write_text("97 98 99", "utf-8")
        self.run("train TEXT -o FOLDER --vocab-size 1000", "small")
        self.run("truncate FOLDER -o OTHER --vocab-size 500", "small")
        self.run("count TEXT -o COUNTS", "small")

    def process(self, *words: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], float]:
        """Run this Python with its files; return also the CPU seconds."""
        options = {"cwd": self.work, "stdin": subprocess.DEVNULL, "capture_output": True, "encoding": "utf-8"}
        environment = {**os.environ, **OFFLINE, **variables}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([self.python, *words], env=environment, check=False, **options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return done, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    def run(self, job: str, folder: str, *options: str) -> tuple[dict[tuple[str, str], float], str]:
        """Do a command or a step of `cold_steps`; return what it took, and its stderr or a digest of its ids."""
        name, (first, *rest) = Path(folder).name, job.split()
        if first in (*STEPS, *WORKERS):
            done, _ = self.process(str(Path(__file__).with_name("cold_steps.py")), first, *rest, folder, ".")
            figures, found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else ({}, "")
            taken = {(f"{name}: {figure}", *rest): value for figure, value in figures.items()}
        else:
            with tempfile.TemporaryDirectory() as empty:
                files = {**FILES, "FOLDER": folder}
                words = [files.get(word) or word.replace("OUT", f"{empty}/out") for word in job.split()]
                variables = COMPLETION if words == ["tab", "completion"] else {}
                script = str(Path(self.python).with_name("hf-bpe"))
                done, seconds = self.process(*options, script, *([] if variables else words), **variables)
            taken, found = {(job, name): seconds}, done.stderr
        if done.returncode != (2 if job == "show" else 0):
            raise ValueError(f"{self.python}: {job}, {name}: {done.stderr[-200:]}")
        return taken, found

    def compare(self, job: str, folder: str, ids: dict[str, str]) -> bool:
        """Do a job untimed, which leaves byte code for the others, and compare ids; return whether it can be done."""
        try:
            _, found = self.run(job, folder, "-X", "importtime")
        except ValueError as error:
            print(f"left out: {error}", file=sys.stderr)
            return False
        if job in COMMANDS:
            names = {line.rpartition("|")[2].strip() for line in found.splitlines()}
            self.imports.setdefault(job, ", ".join(name for name in LARGE if name in names))
        elif ids.setdefault(folder, found) != found:
            raise SystemExit(f"{self.python}: {job}, {folder}: other ids")
        return True

    def tables(self) -> str:
        """Return tables of Markdown: commands, and libraries."""
        code = "import sys, transformers; print(sys.version, transformers.__version__)"
        lines = [f"{self.python}: {self.process('-c', code)[0].stdout}"]
        folders = list(dict.fromkeys(column for row, column in self.seconds if row in COMMANDS))
        if folders:
            lines += [f"| `hf-bpe …` | {' | '.join(folders)} | imports |", f"|---|{'--:|' * len(folders)}---|"]
        for row in self.imports:
            cells = [_shown(self.seconds[row, folder]) for folder in folders]
            lines.append(f"| `{row}` | {' | '.join(cells)} | {self.imports[row]} |")
        lines += ["", "| | hf_bpe | transformers | × |", "|---|--:|--:|--:|"]
        for row in dict.fromkeys(row for row, column in self.seconds if row not in COMMANDS):
            ours, theirs = self.seconds[row, "hf_bpe"], self.seconds[row, "transformers"]
            ratio = [one / other for one, other in zip(ours, theirs, strict=False)]
            lines.append(f"| {row} | {_shown(ours)} | {_shown(theirs)} | {_shown(ratio)} |")
        return "\n".join(lines)


def _shown(figures: Sequence[float]) -> str:
    return f"{median(figures):.3f}" if figures else ""


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cold", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="with tokenizer.json")
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="whose first 300 kB are trained on")
    parser.add_argument("--python", nargs="+", default=[sys.executable], metavar="PATH", help="default: this one")
    parser.add_argument("--workers", action="store_true", help="seconds to the first batch of workers, instead")
    parser.add_argument("--repeats", type=int, default=5, help="timed processes of each kind (default 5)")
    options = parser.parse_args(given)
    text = options.text.read_bytes()[:300_000].decode("utf-8", "ignore")
    folders = [str(Path(folder).resolve()) for folder in options.folders]
    steps = WORKERS if options.workers else STEPS
    jobs = [(f"{step} {each}", folder) for folder in folders for step in steps for each in steps[step]]
    if not options.workers:
        measure.pin(1)
        jobs += [(line, "small") for line in COMMANDS] + [(line, folders[0]) for line in QUICK]
    with tempfile.TemporaryDirectory() as work:
        pythons = [Environment(path, Path(work, str(number)), text) for number, path in enumerate(options.python)]
        ids: dict[str, str] = {}
        todo = [(each, job) for job in jobs for each in pythons if each.compare(*job, ids)]
        for number in range(options.repeats):
            for each, job in reversed(todo) if number % 2 else todo:
                for figure, value in each.run(*job)[0].items():
                    each.seconds[figure].append(value)
        print("\n\n".join(each.tables() for each in pythons))
