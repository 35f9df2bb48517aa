"""Counting on the command line, training from counts, and resuming both."""

import gzip
import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hf_bpe import BPETokenizer, Source, WordCounts, count, train
from support.cases import case
from support.commands import PROGRAM, TEXT, error, run
from support.processes import PATIENCE
from support.profiles import thorough


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with some text."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT, encoding="utf-8")
    Path("latin1.txt").write_bytes(b"caf\xe9 au lait")
    rows = [{"text": "low", "body": "newest lowest"}, {"text": "lower"}, {"text": "newest", "body": "low"}]
    Path("rows.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    Path("more").mkdir()
    for number in range(5):
        Path(f"more/{number}.txt").write_text(f"low number {number * 1001} " * (number + 1), encoding="utf-8")
    return tmp_path


def counted(*arguments, stdin=b""):
    run("count", *arguments, "-o", "out.counts", "--force", stdin=stdin)
    return WordCounts.load("out.counts")


class TestCount:
    def test_count_gives_the_counts_of_the_library(self):
        for arguments, source, options in (
            (["a.txt"], "a.txt", {}),
            (["more"], "more", {}),
            (["more/[12].txt"], "more/[12].txt", {}),
            (["a.txt", "more"], [Source("a.txt"), Source("more")], {}),
            (["a.txt", "--pattern", "cl100k"], "a.txt", {"pattern": "cl100k"}),
            (["a.txt", "--pattern", "none"], "a.txt", {"pattern": None}),
            (
                ["a.txt", "--special-token", "<|x|>", "--special-token", "ow"],
                "a.txt",
                {"special_tokens": ["ow", "<|x|>"]},
            ),
            (["a.txt", "--weight", "1/3"], Source("a.txt", weight="1/3"), {}),
            (
                ["a.txt", "more", "--weight", "0.1", "--weight", "7"],
                [Source("a.txt", weight=0.1), Source("more", weight=7)],
                {},
            ),
            (["rows.jsonl.gz"], ["low", "lower", "newest"], {}),
            (["rows.jsonl.gz", "--column", "body", "--on-error", "skip"], [["newest lowest", "low"]], {}),
            (["rows.jsonl.gz", "--format", "text"], Source("rows.jsonl.gz", format="text"), {}),
            (["latin1.txt", "--errors", "replace"], ["caf\ufffd au lait"], {}),
            (["latin1.txt", "--errors", "bytes"], [b"caf\xe9 au lait"], {}),
            (["a.txt", "--max-document-bytes", "5"], ["low l"], {}),
            (["a.txt", "--workers", "2", "--max-memory", "4GB", "--work-dir", "work"], "a.txt", {}),
        ):
            with case(arguments):
                assert counted(*arguments) == count(source, **options)

    def test_count_reads_standard_input(self):
        assert counted("-", stdin=TEXT.encode()) == counted("a.txt")
        mixed = counted("more", "-", "--weight", "1", "--weight", "2", stdin=TEXT.encode())
        assert mixed == count([Source("more"), Source("a.txt", weight=2)])

    def test_count_prints_the_commonest_with_their_counts(self):
        printed = run("count", "a.txt", "-o", "out.counts", "--top", 2, "--weight", "1/8").stdout
        assert printed == "5\t' low'\n2.500\t'\\n'\n"

    def test_count_prints_words_in_utf8_for_any_terminal(self):
        Path("cafe.txt").write_text("caf\u00e9", encoding="utf-8")
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        command = [*PROGRAM, "count", "cafe.txt", "-o", "out.counts", "--top", "1"]
        ran = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=PATIENCE)
        assert ran.stdout == "1\t'caf\u00e9'\n".encode()

    def test_counts_that_are_only_printed_are_not_saved(self):
        before = {*Path().iterdir()}
        shown = run("count", "a.txt", "--top", 2)
        saved = run("count", "a.txt", "--top", 2, "-o", "out.counts")
        assert shown.stdout == saved.stdout
        assert "saved in" not in shown.stderr
        values = json.loads(run("count", "a.txt", "--json").stdout)
        assert (values["file"], values["distinct"]) == (None, 16)
        assert {*Path().iterdir()} - before == {Path("out.counts")}

    def test_min_count_drops_rare_words(self):
        result = run("count", "a.txt", "-o", "out.counts", "--min-count", 40)
        assert "hf-bpe: dropped 15 of 16 distinct pre-tokens" in result.stderr
        assert [*WordCounts.load("out.counts").items()] == [(b" low", 40)]

    def test_count_reports_what_it_did(self):
        lines = run("count", "a.txt", "-o", "out.counts").stderr.splitlines()
        fingerprint = count("a.txt").fingerprint[:12]
        saved = f"hf-bpe: 16 distinct pre-tokens, 340 in all, saved in out.counts; fingerprint {fingerprint}"
        assert lines == ["hf-bpe: read 1 shard, 1.2 kB", saved]

    def test_count_warns_about_skipped_input(self):
        lines = run("count", "latin1.txt", "-o", "out.counts", "--on-error", "skip").stderr.splitlines()
        assert re.fullmatch("hf-bpe: warning: skipped: .*latin1.txt: not UTF-8.*", lines[0])
        assert "hf-bpe: warning: skipped: the rest of 1 files and 0 documents; shortened: 0 documents" in lines

    def test_count_leaves_no_log_handler(self):
        run("count", "a.txt", "-o", "out.counts", "--progress")
        assert logging.getLogger("hf_bpe").handlers == []

    @pytest.mark.parametrize("number", [2, 9])
    def test_merged_parts_equal_the_whole(self, number):
        for share in range(number):
            parts = f"--shard {share}/{number} --weight 1 --weight 0.5 -o {share}.counts"
            run("count", "more", "a.txt", *parts.split())
        run("merge-counts", *(f"{share}.counts" for share in reversed(range(number))), "-o", "all.counts")
        assert WordCounts.load("all.counts") == count([Source("more"), Source("a.txt", weight=0.5)])

    def test_part_reports_its_number_of_shards(self):
        stderr = run("count", "more", "-o", "out.counts", "--shard", "1/2").stderr
        assert stderr.startswith("hf-bpe: part 1/2 has 2 of 5 shards\n")

    def test_count_resumes_from_its_work_folder(self):
        whole = counted("more/[0-2].txt", "--work-dir", "work")
        assert whole == count("more/[0-2].txt")
        result = run("count", "more", "-o", "out.counts", "--work-dir", "work")
        assert re.search(r"hf-bpe: counted before: \d+ bytes of \d+ bytes\n", result.stderr)
        assert WordCounts.load("out.counts") == count("more")


class TestMergeCounts:
    def test_weights(self):
        WordCounts({"a": 3, "b": 1}).save("1.counts")
        WordCounts({"a": 1}).save("2.counts")
        arguments = ["--weight", "0.5", "--weight", 10, "--min-count", 1, "--top", 9]
        printed = run("merge-counts", "1.counts", "2.counts", "-o", "all.counts", *arguments).stdout
        assert printed == "11.500\t'a'\n0.500\t'b'\n"
        assert WordCounts.load("all.counts") == WordCounts({"a": 23, "b": 1}, scale=2)


class TestTrain:
    def trained(self, *arguments, folder="out", stdin=b""):
        run("train", *arguments, "-o", folder, stdin=stdin)
        return BPETokenizer.from_pretrained(folder)

    def test_from_counts_is_training_on_the_text(self):
        counted("a.txt", "--special-token", "<|x|>", "--pattern", "cl100k")
        expected = train("a.txt", 270, ["<|x|>"], pattern="cl100k")
        assert self.trained("--counts", "out.counts", "--vocab-size", 270).model == expected

    def test_from_sources_of_all_kinds(self):
        arguments = ["a.txt", "more", "-", "--weight", "0.5", "--weight", 3, "--weight", 1, "--num-merges", 9]
        expected = train([Source("a.txt", weight=0.5), Source("more", weight=3), Source(["wide"])], num_merges=9)
        assert self.trained(*arguments, stdin=b"wide").model == expected

    def test_several_sizes_are_folders_by_the_numbers(self):
        run("train", "a.txt", "-o", "out", "--vocab-size", 262, "--vocab-size", 258)
        assert sorted(path.name for path in Path("out").iterdir()) == ["258", "262"]
        run("train", "a.txt", "-o", "out", "--num-merges", 0, "--num-merges", 3)
        for folder, size in {"258": 258, "262": 262, "0": 256, "3": 259}.items():
            assert BPETokenizer.from_pretrained(f"out/{folder}").model == train("a.txt", size)

    def test_initial_keeps_ids_and_settings(self):
        settings = {"padding_side": "left", "model_max_length": 99, "chat_template": "{{ x }}", "pad_token": "<|pad|>"}
        options = {"special_tokens": ["<|x|>"], "pattern": "cl100k", "add_bos_token": True, "bos_token": "<|x|>"}
        first = BPETokenizer.train(["newest newer newest"], 262, **options, **settings)
        first.save_pretrained("first")
        grown = self.trained("a.txt", "--vocab-size", 270, "--initial", "first")
        assert grown.model == train("a.txt", 270, initial=first.model)
        assert {name: getattr(grown, name) for name in settings} == settings
        assert grown.encode("low")[0] == 256


@pytest.mark.parametrize("command", [["count"], ["train", "--num-merges", "9"]], ids=["count", "train"])
class TestSources:
    def test_errors_name_standard_input(self, command):
        assert error(*command, "-", "-o", "out", stdin=b"a\xff").startswith("standard input: ")

    def test_missing_package_is_an_error_in_one_line(self, command, monkeypatch):
        Path("a.parquet").write_bytes(b"PAR1")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        assert "pip install 'hf_bpe[parquet]'" in error(*command, "a.parquet", "-o", "out")


# A signal is sent once the stage has got somewhere, to all processes, as a terminal and job schedulers do.
SIGNALLED = """
import os, sys
from hf_bpe.cli import main
from hf_bpe._utils.progress import Progress

stage, number = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
show = Progress.show

def show_and_signal(progress, done, *merge):
    show(progress, done, *merge)
    if bool(merge) is (stage == "merging") and done > 0:
        Progress.show = show
        os.killpg(os.getpgrp(), number)

Progress.show = show_and_signal
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signal to one process")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=thorough)],
    ids=["SIGINT", "SIGTERM"],
)
@pytest.mark.parametrize("stage", ["counting", "merging"])
def test_signals_end_training_cleanly_and_it_resumes(stage, number, code):
    numbers = random.Random(0)
    letters = str.maketrans("0123456789", "ghijklmnop")
    words = (f"{numbers.getrandbits(64):x}".translate(letters) for _ in range(100_000))
    Path("text").write_text(" ".join(words), encoding="utf-8")
    # Processes count by a pattern that is not built in.
    arguments = ["train", "text", "-o", "out", "--pattern", r" ?\p{L}+|\s+", "--work-dir", "work"]
    # A test run in the background may ignore SIGINT, and what it starts would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-c", SIGNALLED, stage, str(int(number)), *arguments]
    command += ["--num-merges", "1000000", "--progress", "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as trainer:
        signal.signal(signal.SIGINT, before)
        said = trainer.communicate(timeout=PATIENCE)[1]
    assert trainer.returncode == code, said
    assert ("Counting" if stage == "counting" else "Merging").encode() in said
    assert b"Traceback" not in said
    name = b"interrupted" if code == 130 else b"terminated"
    assert b"hf-bpe: error: " + name + b"; the work so far is kept in work; resume with: hf-bpe train text" in said
    assert not Path("out").exists()

    log = Path("work/merges.log")
    learned = log.read_bytes().count(b"\n") - 1 if log.exists() else 0
    assert learned > 0 or stage == "counting"
    result = run(*arguments, "--num-merges", learned + 50)
    assert ("hf-bpe: counted before: " in result.stderr) is (stage == "merging")
    assert ("hf-bpe: learned before: " in result.stderr) is (learned > 0)
    expected = train("text", num_merges=learned + 50, pattern=r" ?\p{L}+|\s+")
    assert BPETokenizer.from_pretrained("out").model == expected
