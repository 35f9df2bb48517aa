"""`hf-bpe playground`."""

import os
import shlex
import signal
import subprocess
import time
import urllib.request

import pytest

from support.commands import PROGRAM
from support.processes import PATIENCE


def start(*args):
    command = [*PROGRAM, "playground", *map(str, args), "--no-browser"]
    # A test run in the background may ignore SIGINT, and what it starts would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="Windows sends no signals to processes")
@pytest.mark.parametrize(
    ("ending", "code", "said"), [(signal.SIGINT, 0, "ended"), (signal.SIGTERM, 143, "error: terminated")]
)
def test_the_first_line_is_the_address_until_a_signal_ends_it(folder, ending, code, said):
    with start(folder) as process:
        try:
            url = process.stdout.readline().rstrip("\n")
            with urllib.request.urlopen(url, timeout=PATIENCE) as page:
                assert b"<title>Playground" in page.read()
            first = process.stderr.readline().rstrip("\n")
            process.send_signal(ending)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert out == ""
    (last,) = err.splitlines()
    assert first == "hf-bpe: this address works on this machine until Ctrl-C"
    assert last.startswith(f"hf-bpe: {said}")
    assert process.returncode == code


@pytest.mark.skipif(os.name != "posix", reason="no script is a browser on Windows")
def test_a_browser_is_opened_at_the_address(folder, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {shlex.quote(str(tmp_path / "opened"))}\n')
    browser.chmod(0o755)
    command = [*PROGRAM, "playground", str(folder), "--text", "low"]
    environment = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment) as process:
        try:
            url = process.stdout.readline().rstrip("\n")
            end = time.monotonic() + PATIENCE
            while not (tmp_path / "opened").is_file() or not (tmp_path / "opened").read_text():
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.01)
        finally:
            process.kill()
    assert (tmp_path / "opened").read_text() == url
    assert "/#1." in url
