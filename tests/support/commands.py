"""Commands run for tests: in this process, or as a program."""

import functools
import subprocess
import sys

import typer.testing

from hf_bpe.cli import app
from support.processes import PATIENCE

TEXT = "low low low lower lowest newest<|x|>Newer widest, it's 2024!\n" * 20
"""What the commands are tried on: the fixture `text` is a file of it, `folder` a tokenizer that was trained on it."""

PROGRAM = [sys.executable, "-m", "hf_bpe"]


# Every `invoke` makes all commands of the program from their functions, which takes longer than running most of them.
typer.testing._get_command = functools.cache(typer.testing._get_command)


def run(*args, stdin=b"", code=0):
    result = typer.testing.CliRunner().invoke(app, [*map(str, args)], input=stdin, prog_name="hf-bpe")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert code is None or result.exit_code == code, result.stderr
    return result


def error(*args, stdin=b"", code=1):
    """Return what a command that fails says in one line, which is the last."""
    result = run(*args, stdin=stdin, code=code)
    assert result.stdout_bytes == b""
    *before, last = result.stderr.splitlines()
    assert all(line.startswith("hf-bpe: ") and "error" not in line for line in before)
    assert last.startswith("hf-bpe: error: ")
    return last.removeprefix("hf-bpe: error: ")


def program(*args, **kwargs):
    command = [*PROGRAM, *map(str, args)]
    done = subprocess.run(command, stderr=subprocess.PIPE, timeout=PATIENCE, check=False, **kwargs)
    assert b"Traceback" not in done.stderr
    return done
