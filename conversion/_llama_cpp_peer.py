"""Encoding with llama.cpp and a GGUF file, if the package `llama-cpp-python` is installed.

llama.cpp runs in a separate process, because it aborts for some files and texts (with gpt-4o, a word of 30,000
letters), and because it writes to the terminal.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import weakref
from pathlib import Path

from hf_bpe.pretokenizers._byte_level import repair_surrogates

_SOURCE = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from llama_cpp import Llama
llama = Llama(sys.argv[1], vocab_only=True, verbose=False)
print("ready", file=answers, flush=True)
for line in sys.stdin:
    text, added = json.loads(line)
    print(json.dumps(llama.tokenize(text.encode(), add_bos=added, special=True)), file=answers, flush=True)
"""


class LlamaCpp:
    """The tokenizer of llama.cpp for a file.

    Args:
        path: a GGUF file.

    Raises:
        ValueError: llama.cpp cannot load the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._start()

    @property
    def name(self) -> str:
        """The library and its version."""
        return f"llama.cpp of llama-cpp-python {importlib.metadata.version('llama-cpp-python')}"

    def __call__(self, text: str) -> list[int]:
        """Return the ids of a text; special tokens are found but not added."""
        return self.encode([text])[0]

    def encode(self, texts: list[str], added: bool = False) -> list[list[int]]:
        """Return the ids of texts, with or without added special tokens.

        Raises:
            ValueError: llama.cpp aborts at a text.
        """
        rows: list[list[int]] = []
        for text in texts:
            answer = self._ask(json.dumps([repair_surrogates(text), added]))
            if not answer:
                status = self._stop()
                self._start()
                raise ValueError(f"llama.cpp ends with {status} at the text {text[:40]!r} of {len(text)} characters")
            rows.append(json.loads(answer))
        return rows

    def _start(self) -> None:
        command = [sys.executable, "-c", _SOURCE, str(self._path)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._stop = weakref.finalize(self, _end, self._process)
        if not self._process.stdout or not self._process.stdout.readline():
            raise ValueError(f"llama.cpp cannot load {self._path}: it ends with {self._stop()}")

    def _ask(self, question: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(question + "\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except BrokenPipeError:
            return ""


def peer(path: Path) -> LlamaCpp | None:
    """Return llama.cpp's tokenizer for a file, None where the package is not installed.

    Raises:
        ValueError: llama.cpp cannot load the file.
    """
    return LlamaCpp(path) if importlib.util.find_spec("llama_cpp") is not None else None


def _end(process: subprocess.Popen[str]) -> int:
    """End a process, and return its exit code."""
    try:
        if process.stdin is not None:
            process.stdin.close()
    except BrokenPipeError:
        pass
    if process.stdout is not None:
        process.stdout.close()
    return process.wait()
