"""Kinds of text that tokenizers meet in serving: `python -m benchmarks kinds FOLDER ENGLISH DOCS CODE`.

They are made of the documents of three files, always the same of the same files: text dense in added tokens, traces of
agents, chats as the templates of ChatML, Llama 3 and DeepSeek render them, and JSON. LaTeX is a kind of
`benchmarks.corpora`. The kinds are those of tokbench (https://github.com/huggingface/tokbench).
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from benchmarks.job import SEPARATOR, read_documents

_ADDED = (
    *("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>"),
    *("<|finetune_right_pad_id|>", "<|reserved_special_token_0|>", "<|reserved_special_token_7|>"),
)
_ROLES = ("user", "assistant")
_LENGTH = 6_000  # characters that a document is cut to

Documents = tuple[list[str], list[str], list[str]]
"""English, technical prose and code."""


def added_tokens(documents: Documents, source: random.Random) -> Iterator[str]:
    """Yield prose with an added token of Llama 3 after every few words."""
    for document in documents[0]:
        words = document[:_LENGTH].split(" ")
        parts = []
        while words:
            number = source.randint(1, 6)
            parts += [" ".join(words[:number]), source.choice(_ADDED)]
            words = words[number:]
        yield "".join(parts)


def agent_traces(documents: Documents, source: random.Random) -> Iterator[str]:
    """Yield thoughts, calls of tools in JSON, and what these print: numbered lines of code, and paths."""
    for number, (prose, code) in enumerate(zip(documents[1], documents[2], strict=False)):
        lines = code[:_LENGTH].splitlines()
        steps = []
        for step, thought in enumerate(filter(None, prose[:_LENGTH].split("\n\n"))):
            start = source.randrange(len(lines)) if lines else 0
            path = f"/workspace/src/module_{number}/part_{start}.py"
            call = {"tool": "read_file", "arguments": {"path": path, "start_line": start, "end_line": start + 12}}
            shown = "\n".join(f"{start + i:6}\t{line}" for i, line in enumerate(lines[start : start + 12]))
            steps.append(f"## Step {step}\n{thought}\n```json\n{json.dumps(call, indent=2)}\n```\n{shown}\n")
        yield "".join(steps)


def json_records(documents: Documents, source: random.Random) -> Iterator[str]:
    """Yield records of prose and code with numbers, in one line each or indented."""
    for number, (prose, code) in enumerate(zip(documents[1], documents[2], strict=False)):
        record = {
            **{"id": number, "score": source.random(), "tags": prose.split()[:8], "lines": code.count("\n")},
            **{"text": prose[:_LENGTH], "code": code[:_LENGTH], "spans": [source.randrange(10_000) for _ in range(40)]},
        }
        yield json.dumps(record, ensure_ascii=False, indent=source.choice([None, 2]))


def chats(turn: str, roles: tuple[str, str], start: str = "") -> Callable[[Documents, random.Random], Iterator[str]]:
    """Return what yields chats of prose and code, in a template with `{role}` and `{text}` for each turn."""

    def render(documents: Documents, source: random.Random) -> Iterator[str]:
        for prose, code in zip(documents[1], documents[2], strict=False):
            texts = [text for text in prose[:_LENGTH].split("\n\n") if text]
            texts.insert(source.randrange(len(texts) + 1), f"```\n{code[:1500]}\n```")
            yield start + "".join(turn.format(role=roles[i % 2], text=text) for i, text in enumerate(texts))

    return render


KINDS: dict[str, Callable[[Documents, random.Random], Iterator[str]]] = {
    "added_tokens": added_tokens,
    "agent_traces": agent_traces,
    "json": json_records,
    "chats_chatml": chats("<|im_start|>{role}\n{text}<|im_end|>\n", _ROLES),
    "chats_llama3": chats(
        "<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>", _ROLES, "<|begin_of_text|>"
    ),
    "chats_deepseek": chats("{role}{text}", ("<｜User｜>", "<｜Assistant｜>"), "<｜begin▁of▁sentence｜>"),
}
"""Kind → what makes its documents."""


def make(kind: str, documents: Documents, size: int) -> str:
    """Return about `size` bytes of a kind, or as much as the documents give."""
    made, total = [], 0
    for document in KINDS[kind](documents, random.Random(0)):
        made.append(document)
        total += len(document.encode())
        if total >= size:
            break
    return SEPARATOR.join(made)


def sample(file: Path, size: int) -> str:
    """Return whole documents of a file, in random order, of about `size` bytes."""
    documents = [*read_documents((str(file),))]
    random.Random(0).shuffle(documents)
    chosen, total = [], 0
    for document in documents:
        chosen.append(document)
        total += len(document.encode())
        if total >= size:
            break
    return SEPARATOR.join(chosen)


def main(given: Sequence[str] | None = None) -> None:
    """Run as the module's description says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kinds", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", type=Path, nargs=3, metavar="FILE", help="English, technical prose, and code")
    parser.add_argument("--samples", type=Path, nargs="*", default=[], metavar="FILE", help="files to take parts of")
    parser.add_argument("--size", type=int, default=6_000_000, help="bytes of each kind (default 6,000,000)")
    options = parser.parse_args(given)
    options.folder.mkdir(parents=True, exist_ok=True)
    english, docs, code = (list(islice(read_documents((str(file),)), 5000)) for file in options.files)
    texts = {kind: partial(make, kind, (english, docs, code)) for kind in KINDS}
    texts |= {file.stem: partial(sample, file) for file in options.samples}
    for name, write in texts.items():
        path = options.folder / f"{name}.txt"
        path.write_text(write(options.size), encoding="utf-8", newline="")
        print(f"{path}: {path.stat().st_size:,} bytes")
