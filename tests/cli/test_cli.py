"""The command line, in this process where nothing but its result matters, and as a program where more does."""

import contextlib
import itertools
import json
import os
import re
import select
import struct
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
import typer.main

from hf_bpe import BPETokenizer, Source, __version__, train
from hf_bpe.cli import app, main
from hf_bpe.core import CharacterAlphabet
from hf_bpe.counting import _count as counting
from hf_bpe.pretokenizers import Metaspace
from hf_bpe.training import Superwords
from support.cases import case
from support.commands import PROGRAM, TEXT, error, program, run
from support.folder_snapshots import snapshot
from support.processes import PATIENCE

ANY_BYTES = b"low lowest\r\n\xff\xfe\xc3<|x|>\n\n newest " + bytes(range(256))
# In the order of --help.
COMMANDS = "train count merge-counts encode decode encode-files show tree playground report compare truncate extend"
COMMANDS = f"{COMMANDS} prune add-special-tokens pad convert inspect verify help".split()


@pytest.fixture(autouse=True)
def _buffered(monkeypatch):
    # Without Python's own buffer there is nothing to flush, and its faults do not show.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


class TestHelp:
    def test_help_is_a_command_and_gives_an_example(self):
        for command in [[], *([name] for name in COMMANDS)]:
            said = run(*command, "--help").stdout
            with case(command):
                example = said.partition("\n  Example:\n    ")[2].splitlines()[0]
                assert " ".join(["hf-bpe", *command]) in example
                assert run("help", *command).stdout == said

    def test_help_explains_every_option(self):
        commands = typer.main.get_command(app).commands
        options = [(name, option) for name in COMMANDS for option in commands[name].params]
        assert [(name, option.name) for name, option in options if not option.help] == []

    def test_help_describes_defaults_that_are_not_values(self):
        help_text = " ".join(run("train", "--help").stdout.split())
        assert "[default: on a terminal]" in help_text
        assert "(none)" not in help_text
        assert "[default: auto]" in help_text

    def test_long_help_has_panels_and_begins_with_few_options(self):
        lines = run("train", "--help").stdout.splitlines()
        titles = [line.removesuffix(":") for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)]
        special = ["Characters", "Superwords", "Machine", "Output"]
        assert titles == ["Arguments", "Options", "Text", "Vocabulary", "Special tokens", *special]
        first = re.findall(r"^  -.*?(?=  )", "\n".join(lines[lines.index("Options:") : lines.index("Text:")]), re.M)
        assert len(first) <= 8
        assert {"-o, --output FOLDER", "--vocab-size N", "-h, --help"} <= {each.strip() for each in first}
        assert "Options:" in run("pad", "--help").stdout
        assert "Output:" not in run("pad", "--help").stdout

    def test_help_lists_the_names_of_patterns(self):
        from hf_bpe.pretokenizers import NAMES

        listed = run("help", "patterns").stdout.splitlines()
        assert [line.split()[0] for line in listed if len(line.split()) > 1] == [*NAMES, "none"]

    def test_program_without_arguments_prints_help_and_fails(self):
        done = program(stdout=subprocess.PIPE)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr == program("--help", stdout=subprocess.PIPE).stdout
        listed = re.findall(r"^  ([a-z][a-z-]*)(?=  )", done.stderr.decode(), re.MULTILINE)
        assert listed == COMMANDS

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
    def test_program_prints_colored_help_on_a_terminal_only(self, monkeypatch):
        import pty

        monkeypatch.delenv("NO_COLOR", raising=False)
        main_end, terminal = pty.openpty()
        with subprocess.Popen(PROGRAM, stdout=subprocess.DEVNULL, stderr=terminal, env=os.environ | {"TERM": "xterm"}):
            os.close(terminal)
            shown = b""
            with contextlib.suppress(OSError):  # how Linux says that the other end is closed
                while part := os.read(main_end, 4096):
                    shown += part
        os.close(main_end)
        assert b"\x1b[1mTrain a tokenizer:\x1b[0m\r\n\x1b[36m  train\x1b[0m " in shown

    def test_version(self):
        assert program("--version", stdout=subprocess.PIPE).stdout.decode().split() == ["hf-bpe", __version__]

    def test_installed_script_runs_the_command_line(self):
        (script,) = entry_points(group="console_scripts", name="hf-bpe")
        assert script.load() is main


class TestRoundTrip:
    def test_pipes(self, folder, tmp_path):
        copy = tmp_path / "copy"
        options = ["--vocab-size", "280", "--special-token", "<|x|>"]
        trained = program("train", "-", "-o", copy, *options, input=TEXT.encode(), stdout=subprocess.PIPE)
        assert (trained.returncode, trained.stdout) == (0, b"")
        assert snapshot(copy) == snapshot(folder)

        read_end, write_end = os.pipe()
        with subprocess.Popen([*PROGRAM, "decode", copy], stdin=read_end, stdout=subprocess.PIPE) as decoder:
            os.close(read_end)
            encoded = program("encode", copy, input=ANY_BYTES, stdout=write_end)
            os.close(write_end)
            assert decoder.communicate(timeout=PATIENCE)[0] == ANY_BYTES
        assert (encoded.returncode, encoded.stderr, decoder.returncode) == (0, b"", 0)

    def test_lines_of_files(self, folder, tmp_path):
        text, ids = tmp_path / "text", tmp_path / "ids"
        text.write_bytes(b"low\r\n\n\xff lower<|x|>\nnewest")
        ids.write_bytes(run("encode", folder, "--lines", text).stdout_bytes)
        assert ids.read_bytes().count(b"\n") == 4
        assert run("decode", folder, "--lines", ids).stdout_bytes == text.read_bytes() + b"\n"

    def test_empty_input_round_trips(self, folder):
        assert run("encode", folder).stdout_bytes == b"\n"
        assert run("encode", folder, "--lines").stdout_bytes == b""
        assert run("decode", folder).stdout_bytes == b""


class TestTrain:
    def test_train_passes_options_on(self, text, tmp_path):
        for arguments, options in (
            (["--vocab-size", "270"], {"vocab_size": 270}),
            (["--num-merges", "9", "--pattern", "none"], {"num_merges": 9, "pattern": None}),
            (["--num-merges", "9", "--pattern", r"\w+|\W"], {"num_merges": 9, "pattern": r"\w+|\W"}),
            (
                ["--num-merges", "9", "--initial-alphabet", "observed"],
                {"num_merges": 9, "initial_alphabet": "observed"},
            ),
            (
                ["--num-merges", "9", "--special-token", "<|y|>", "--special-token", "<|x|>"],
                {"num_merges": 9, "special_tokens": ["<|y|>", "<|x|>"]},
            ),
        ):
            run("train", text, "-o", tmp_path, *arguments, "--force")
            expected = BPETokenizer.train([TEXT], **options)
            with case(arguments):
                assert BPETokenizer.from_pretrained(tmp_path).model == expected.model

    def test_train_passes_workers_on(self, text, tmp_path, monkeypatch):
        asked = []

        def make_count_table(settings, num_workers, memory):
            asked.append(num_workers)
            return make(settings, num_workers, memory)

        make = counting.make_count_table
        monkeypatch.setattr(counting, "make_count_table", make_count_table)
        for arguments in ([], ["--workers", 3]):
            run("train", text, "-o", tmp_path, "--num-merges", 0, "--force", *arguments)
            run("count", text, "-o", tmp_path / "c.counts", "--force", *arguments)
        assert asked == [None, None, 3, 3]

    def test_train_reports_what_it_does(self, text, tmp_path):
        result = run("train", text, "--output", tmp_path / "new", "--num-merges", 9)
        assert result.stdout_bytes == b""
        read, needed, saved_in = result.stderr.splitlines()
        assert read == "hf-bpe: read 1 shard, 1.2 kB"
        assert needed.startswith("hf-bpe: learning from 16 distinct pre-tokens (up to ")
        assert saved_in == f"hf-bpe: 265 tokens, 9 of them merges, saved in {tmp_path / 'new'}"

    def test_train_learns_superwords(self, tmp_path):
        text = tmp_path / "text.txt"
        text.write_text("one of the best: one of the rest\n" * 9, encoding="utf-8")
        after = ["--superwords-after", 12]
        run("train", text, "-o", tmp_path / "one", "--num-merges", 17, *after, "--max-words", 2, "--colon-space")
        expected = train([text], num_merges=17, superwords=Superwords(after=12, max_words=2, colon_space=True))
        assert BPETokenizer.from_pretrained(tmp_path / "one").model == expected

        after += ["--superwords-after", 15, "--superword-pattern", r"\n"]
        run("train", text, "-o", tmp_path / "two", "--num-merges", 17, *after)
        expected = train([text], num_merges=17, superwords=Superwords(after=[12, 15], pattern=r"\n"))
        assert [BPETokenizer.from_pretrained(tmp_path / "two" / name).model for name in ("12", "15")] == expected

        for name, pattern in {"words": "gpt2", "pieces": r"\n"}.items():
            run("count", text, "-o", tmp_path / name, "--pattern", pattern)
        counts = ["--counts", tmp_path / "words", "--superword-counts", tmp_path / "pieces"]
        run("train", *counts, "-o", tmp_path / "three", "--num-merges", 17, *after)
        assert [BPETokenizer.from_pretrained(tmp_path / "three" / name).model for name in ("12", "15")] == expected

    def test_train_reads_files_and_stdin_in_order(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("-").write_bytes(b"cd")  # a file of this name is ./-
        run("train", "./-", "-", "-o", "out", "--num-merges", 2, stdin=b"ab")
        assert BPETokenizer.from_pretrained("out").model.merges == [(b"c", b"d"), (b"a", b"b")]

    def test_progress_if_asked_for(self, text, tmp_path):
        assert "Merging" not in run("train", text, "-o", tmp_path, "--num-merges", 9).stderr
        assert "Merging: 100%" in run("train", text, "-o", tmp_path, "--num-merges", 9, "--progress", "-f").stderr

    @pytest.mark.parametrize(("arguments", "shown"), [([], True), (["--no-progress"], False)])
    def test_progress_if_stderr_is_a_terminal(self, text, tmp_path, arguments, shown):
        fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        command = [*PROGRAM, "train", text, "-o", tmp_path, "--num-merges", "9", *arguments]
        subprocess.run(command, stderr=theirs, check=True, timeout=PATIENCE)
        os.write(theirs, b"END")  # a terminal has no end of file
        said = b""
        while not said.endswith(b"END"):
            said += os.read(ours, 1000)
        os.close(ours)
        os.close(theirs)
        assert (b"Merging" in said) is shown


class TestEncode:
    def test_encode_gives_the_ids_of_the_library(self, folder):
        ids = BPETokenizer.from_pretrained(folder).encode_bytes(ANY_BYTES)
        assert 256 in ids
        assert run("encode", folder, "-", stdin=ANY_BYTES).stdout == " ".join(map(str, ids)) + "\n"

    def test_text_of_the_command_line(self, folder):
        for text, *options in (["low <|x|>"], ["é\n\x01"], ["low\nlow", "--lines"]):
            expected = run("encode", folder, *options, stdin=text.encode()).stdout
            assert run("encode", folder, *options, "--text", text).stdout == expected

    def test_split_special_tokens(self, folder):
        assert run("encode", folder, stdin=b"<|x|>").stdout == "256\n"
        assert run("encode", folder, "--split-special-tokens", stdin=b"<|x|>").stdout == "60 124 120 124 62\n"

    def test_array_for_training(self, folder, tmp_path):
        (tmp_path / "a.txt").write_bytes(ANY_BYTES + b"<|x|>a")
        output = ["-o", tmp_path / "out.npy", "--output-format", "npy", "--separator", "<|x|>", "--no-append-separator"]
        ran = run("encode-files", folder, tmp_path / "a.txt", "-", *output, stdin=b"ab")
        tokenizer = BPETokenizer.from_pretrained(folder)
        ids = np.load(tmp_path / "out.npy")
        assert ids.tolist() == tokenizer.encode_bytes(ANY_BYTES + b"<|x|>a") + tokenizer.encode_bytes(b"ab")
        offsets = np.load(tmp_path / "out.offsets.npy")
        assert ran.stdout == ""
        assert f"{len(ids):,} tokens of {len(offsets) - 1} documents saved in" in ran.stderr

    def test_encode_files_passes_all_options_on(self, folder, tmp_path, monkeypatch):
        calls = []

        def encode(*arguments):
            calls.append(arguments)
            raise InterruptedError

        monkeypatch.setattr("hf_bpe.token_files._job.make_job", lambda *arguments: arguments)
        monkeypatch.setattr("hf_bpe.token_files._remote.Places.encode", encode)
        monkeypatch.chdir(tmp_path)
        Path("a.jsonl").write_text('{"body": "low"}\n')
        options = "--begin-token <|x|> --pack 4 --no-pack-across --shard-tokens 1k --shard 1/3 --split-special-tokens"
        options += " --copy-column id --copy-column url --loss-mask no_loss --dropout 0.5 --seed 3 --work-dir work"
        options += " --workers 2 --progress --force --column body --on-error skip --separator <|x|> --append-separator"
        run("encode-files", folder, "a.jsonl", "-o", "out", "--format", "parquet", *options.split(), code=1)
        [(places, (_, shards, output, chosen, workers), *running)] = calls
        [source] = [replace(shard.source, data=Path(shard.name).name) for shard in shards]
        assert source == Source("a.jsonl", column="body", errors="bytes", on_error="skip")
        assert (output, places.work, workers, running) == (Path("out"), Path("work"), 2, [2, True, True])
        assert chosen == type(chosen)(
            **{"format": "parquet", "separator": "<|x|>", "append_separator": True, "begin_token": "<|x|>"},
            **{"pack": 4, "pack_across": False, "shard_tokens": 1000, "shard": (1, 3)},
            **{"copy_columns": ["id", "url"], "loss_mask": "no_loss", "split_special_tokens": True},
            **{"dropout": 0.5, "seed": 3},
        )

    @pytest.mark.parametrize("command", ["count", "train", "encode-files"])
    def test_work_folder_of_something_else_lets_nothing_be_replaced(self, folder, tmp_path, command):
        (tmp_path / "a.txt").write_bytes(b"ab" * 10)
        (tmp_path / "work").mkdir()
        (tmp_path / "work" / "notes.md").write_text("notes")
        old = tmp_path / "old.npy" if command == "encode-files" else tmp_path / "old" / "vocab.json"
        old.parent.mkdir(exist_ok=True)
        old.write_text("precious")
        output = old.parent if command == "train" else old
        before = [folder] if command == "encode-files" else []
        options = ["--vocab-size", 260] if command == "train" else []
        work = ["--work-dir", tmp_path / "work"]
        said = run(command, *before, tmp_path / "a.txt", "-o", output, *options, *work, code=1).stderr
        assert "give --force to replace it" in said
        assert old.read_text() == "precious"

    def test_a_terminal_that_is_read_is_told_so(self, folder):
        pty = pytest.importorskip("pty")
        ours, theirs = pty.openpty()
        os.write(ours, b"low\n\x04")
        done = program("encode", folder, stdin=theirs, stdout=subprocess.PIPE)
        os.close(ours)
        os.close(theirs)
        assert b"reading standard input, until Ctrl-D" in done.stderr
        assert done.stdout == run("encode", folder, stdin=b"low\n").stdout_bytes


class TestDecode:
    def test_special_tokens(self, folder):
        assert run("decode", folder, stdin=b"97 256\t98").stdout == "a<|x|>b"
        assert run("decode", folder, "--skip-special-tokens", stdin=b"97 256\t98").stdout == "ab"

    def test_decode_refuses_invalid_ids(self, folder):
        for ids, message in (
            (b"97 98x 99", "line 1: expected a token id, got '98x'"),
            (b"97 1_0", "line 1: expected a token id, got '1_0'"),
            (b"97 1.0", "line 1: expected a token id, got '1.0'"),
            ("97 ٣".encode(), "line 1: expected a token id, got '٣'"),
            (b"97 \xff", "line 1: expected a token id, got '\ufffd'"),
            (b"9" * 5000, f"line 1: expected a token id, got '{'9' * 80}'"),
            (b"97 280", "line 1: the id 280 is not in the vocabulary"),
            (b"-1", "line 1: the id -1 is not in the vocabulary"),
        ):
            with case(ids[:80]):
                assert error("decode", folder, stdin=ids) == message
                assert error("decode", folder, "--lines", stdin=ids.replace(b"97", b"")) == message

    def test_decode_writes_the_lines_before_an_error(self, folder):
        result = run("decode", folder, stdin=b"97\n98\n99 x", code=1)
        assert (result.stdout, result.stderr) == ("ab", "hf-bpe: error: line 3: expected a token id, got 'x'\n")

    def test_unk_token_stands_for_other_ids(self, tmp_path):
        BPETokenizer.train(["low"], vocab_size=257, unk_token="<|?|>").save_pretrained(tmp_path)
        assert run("decode", tmp_path, stdin=b"97 5000 98").stdout == "a<|?|>b"


class TestErrors:
    def test_errors_of_damaged_folders_are_one_line(self, folder, tmp_path):
        names = ("vocab.json", "merges.txt", "tokenizer_config.json")
        for name, content in itertools.product(names, (b"{", b"[]", b"\xff", b"[" * 100_000)):
            for file in names:
                (tmp_path / file).write_bytes(content if file == name else (folder / file).read_bytes())
            with case(name, content[:80]):
                error("encode", tmp_path)


class TestStreams:
    def test_closed_pipe_ends_quietly(self, folder, tmp_path):
        (tmp_path / "text").write_bytes(b"low lower lowest\n" * 100_000)
        command = [*PROGRAM, "encode", folder, tmp_path / "text", "--lines"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as encoder:
            assert encoder.stdout.readline().split()
            encoder.stdout.close()
            assert encoder.stderr.read() == b""
            assert encoder.wait(timeout=PATIENCE) == 0

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_full_disk_is_an_error(self, folder):
        with Path("/dev/full").open("wb") as full:
            done = program("encode", folder, input=b"low", stdout=full)
        assert (done.returncode, done.stderr) == (1, b"hf-bpe: error: input or output: No space left on device\n")

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot wait for a pipe with a limit")
    def test_encode_answers_line_by_line(self, folder):
        command = [*PROGRAM, "decode", folder, "--lines"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as decoder:
            for ids, answer in ((b"97 98\n", b"ab\n"), (b"256\n", b"<|x|>\n")):
                decoder.stdin.write(ids)
                assert select.select([decoder.stdout], [], [], PATIENCE)[0]
                assert decoder.stdout.readline() == answer


def test_training_with_characters_and_byte_fallback(tmp_path):
    text, folder = tmp_path / "text.txt", tmp_path / "tokenizer"
    text.write_text("low lower lowest é " * 9, encoding="utf-8")
    options = ["--byte-fallback", "--character-coverage", "1", "--unk-token", "<unk>", "--normalizer", "NFKC"]
    run("train", text, "-o", folder, "--num-merges", "6", *options)
    tokenizer = BPETokenizer.from_pretrained(folder)
    assert tokenizer.model.alphabet == CharacterAlphabet(True, "<unk>")
    assert tokenizer.decode(tokenizer.encode("lower 你")) == "lower 你"
    run("train", text, "-o", folder, "--num-merges", "6", "--pattern", json.dumps(Metaspace().to_json()), "--force")
    assert BPETokenizer.from_pretrained(folder).model.alphabet == CharacterAlphabet()
