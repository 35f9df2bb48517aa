"""Options of every command: --json, --quiet, and completion in shells."""

import json
import re

import pytest
import typer.main

from hf_bpe import WordCounts
from hf_bpe.cli import app
from support.commands import run
from support.processes import run_code, torch_that_is_not_imported

# Arguments of each command. OUT is a name of nothing, the other words in capitals are files and folders.
COMMANDS = {
    "train": "TEXT -o OUT --vocab-size 270",
    "count": "TEXT -o OUT",
    "merge-counts": "COUNTS -o OUT",
    "encode": "FOLDER TEXT",
    "encode-files": "FOLDER TEXT -o OUT.npy",
    "decode": "FOLDER IDS",
    "show": "FOLDER TEXT",
    "tree": "FOLDER low",
    "report": "FOLDER TEXT",
    "compare": "FOLDER OTHER --on TEXT",
    "truncate": "FOLDER -o OUT --vocab-size 270",
    "extend": "FOLDER TEXT -o OUT --add 1",
    "prune": "FOLDER -o OUT --keep IDS",
    "add-special-tokens": "FOLDER <|y|> -o OUT",
    "pad": "FOLDER -o OUT --multiple 64",
    "convert": "FOLDER OUT.tiktoken",
    "inspect": "FOLDER",
    "verify": "FOLDER FOLDER",
    "help": "train",
}


@pytest.fixture(scope="module")
def files(folder, text, tmp_path_factory):
    """Return name → path of what commands read."""
    path = tmp_path_factory.mktemp("modes")
    run("truncate", folder, "-o", path / "other", "--vocab-size", 270)
    WordCounts({"low": 2}).save(path / "x.counts")
    (path / "ids").write_text("97 98", encoding="utf-8")
    run("convert", folder, path / "foreign" / "tokenizer.json")
    (path / "foreign" / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}', encoding="utf-8")
    (path / "foreign" / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    return {
        "TEXT": text,
        "FOLDER": folder,
        "OTHER": path / "other",
        "FOREIGN": path / "foreign",
        "COUNTS": path / "x.counts",
        "IDS": path / "ids",
    }


def arguments(command, files, tmp_path):
    words = COMMANDS[command].split()
    return [command, *(files.get(word) or word.replace("OUT", str(tmp_path / "out")) for word in words)]


def test_every_command_is_here():
    # test_cli_playground.py has the command that runs until it is stopped.
    assert COMMANDS.keys() | {"playground"} == typer.main.get_command(app).commands.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_quiet_or_prints_json(command, files, tmp_path):
    words = arguments(command, files, tmp_path)
    quiet = run(*words, "--quiet")
    assert quiet.stderr == ""
    if any("--json" in each.opts for each in typer.main.get_command(app).commands[command].params):
        result = run(*arguments(command, files, tmp_path / "json"), "--json")
        assert isinstance(json.loads(result.stdout), dict)
        assert "saved in" not in result.stderr
    else:
        assert command in ("encode", "decode", "show", "tree", "help")  # whose output is the text itself
    assert quiet.stdout == ("" if "OUT" in COMMANDS[command] else run(*words).stdout)


def test_commands_import_neither_torch_nor_transformers(files, tmp_path):
    lines, foreign = [], str(files["FOREIGN"])
    for command in COMMANDS:
        (tmp_path / command).mkdir()
        lines.append([*map(str, arguments(command, files, tmp_path / command))])
    # These ask AutoTokenizer, with which transformers imports torch; the last one saves next to a config.json.
    lines.sort(key=lambda line: line[0] == "inspect")
    lines += [["inspect", foreign], ["pad", foreign, "-o", foreign, "--multiple", "64", "--force"]]
    code = """
import contextlib, io
from hf_bpe.cli import main
imports = []
for line in json.loads(sys.argv.pop()):
    sys.argv[1:], sys.imports_of_torch = line, 0
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        try:
            main()
        except SystemExit as end:
            assert not end.code, line
    imports.append([line[0], sys.imports_of_torch, "huggingface_hub" in sys.modules])
print(json.dumps(imports))"""
    imports = run_code(code, json.dumps(lines), has_torch=True, PYTHONPATH=torch_that_is_not_imported(tmp_path))
    assert imports == [[line[0], 0, number > len(lines) - 4] for number, line in enumerate(lines)]


def test_quick_commands_and_help_import_no_slow_library(files, tmp_path):
    quick = ("encode", "decode", "show", "tree", "help")
    lines = [["--version"], ["--help"], *([each, "--help"] for each in [*COMMANDS, "playground"])]
    lines += [[*map(str, arguments(each, files, tmp_path))] for each in quick]
    code = """
import contextlib, io
from hf_bpe.cli import main
for sys.argv[1:] in json.loads(sys.argv.pop()):
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.suppress(SystemExit):
        main()
    slow = "datasets filelock fsspec jinja2 multiprocessing numpy pyarrow pydantic ray regex rich tqdm transformers"
    slow = {*slow.split(), *(["tokenizers"] if "--help" in sys.argv else [])} & {*sys.modules}
    assert not slow, (sys.argv, slow)
print(0)"""
    assert run_code(code, json.dumps(lines)) == 0


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "hf-bpe tr", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "hf-bpe tr"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "hf-bpe tr", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shells_complete_commands(shell, asked, monkeypatch):
    monkeypatch.setenv("_HF_BPE_COMPLETE", f"source_{shell}")
    assert f"_HF_BPE_COMPLETE=complete_{shell}" in run().stdout
    monkeypatch.setenv("_HF_BPE_COMPLETE", f"complete_{shell}")
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert {*re.findall(r'(?m)(?<![\w-])tr\w+(?="?:|\t|$)', run().stdout)} == {"train", "tree", "truncate"}


def test_shells_complete_the_command_that_help_explains(monkeypatch):
    monkeypatch.setenv("_HF_BPE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "hf-bpe help tr")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert run().stdout.split() == ["train", "tree", "truncate"]
    monkeypatch.setenv("COMP_WORDS", "hf-bpe help pat")
    assert run().stdout.split() == ["patterns"]


def test_help_and_errors_are_colored_on_terminals_only(monkeypatch):
    from hf_bpe.cli import messages

    plain = run("tree", "--help").stdout
    assert "\x1b" not in plain + run("tree", code=2).stderr
    monkeypatch.setattr(messages, "_is_terminal", lambda stream: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert messages.colored_help(plain).startswith("\x1b[1mUsage:\x1b[0m hf-bpe tree")
    assert "\x1b[36m  --id\x1b[0m" in messages.colored_help(plain)
    assert re.sub(r"\x1b\[\d+m", "", messages.colored_help(plain)) == plain
    assert "\x1b[1;31merror:\x1b[0m" in run("tree", code=2).stderr
    monkeypatch.setenv("NO_COLOR", "1")
    assert messages.colored_help(plain) == plain
    assert "\x1b" not in run("tree", code=2).stderr
