"""The page on which other tools are faster, made from results of `encoding`.

    python -m benchmarks faster_peers collect RESULTS... --output benchmarks/results/cells.json
    python -m benchmarks faster_peers page benchmarks/results/cells.json --output PAGE.md

A cell is a text, a vocabulary, a size of the texts and a number of threads. Peers with other ids have no speed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OURS = "hf_bpe"
NAMES = {
    **{"added_tokens": "dense in added tokens", "agent_traces": "traces of agents", "json": "JSON", "latex": "LaTeX"},
    **{"chats_chatml": "chats in ChatML", "chats_llama3": "chats of Llama 3", "chats_deepseek": "chats of DeepSeek"},
    **{"english": "English", "multilingual": "a hundred languages", "nonlatin": "non-Latin scripts"},
}
VOCABULARIES = {"gpt2": "GPT-2", "llama3": "Llama 3.1"}


def collect(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the cells of results of `encoding`, and what they have in common.

    Raises:
        ValueError: they are of different machines or versions, or of another task.
    """
    common: dict[str, Any] | None = None
    cells: list[dict[str, Any]] = []
    loads: list[float] = []
    for result in results:
        if result["benchmark"] != "encoding":
            raise ValueError(f"expected results of encoding, got {result['benchmark']}")
        machine = {name: value for name, value in result["machine"].items() if name != "load_before"}
        versions = {_peer(name): each["version"] for name, each in result["contenders"].items()}
        where = {"machine": machine, "repeats": result["options"]["repeats"]}
        if common is None:
            common = {**where, "dates": [], "versions": {}}
        known = common["versions"]
        if where != {name: common[name] for name in where} or any(known.get(k, v) != v for k, v in versions.items()):
            raise ValueError("expected results of one machine, the same versions and as many repeats")
        common["versions"] |= versions
        loads.append(result["machine"].get("load_before", 0.0))
        common["dates"] = sorted({*common["dates"], result["date"][:10]})
        cells += _cells(result)
    if common is None:
        raise ValueError("no results")
    return {**common, "load": [min(loads), max(loads)], "cells": cells}


def _cells(result: dict[str, Any]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, int], dict[str, Any]] = {}
    for row in result["summary"]:
        speed = round(row["megabytes_per_second"], 1)
        groups.setdefault((row["subject"], row["threads"]), {})[_peer(row["contender"])] = {
            **{"megabytes_per_second": speed, "speed_by_ours": None},
            "live_megabytes": round(row["live_bytes"] / 1e6),
        }
        for name, times in row["times_as_fast_as"].items():
            if _peer(name) == OURS:
                groups[row["subject"], row["threads"]][_peer(row["contender"])]["speed_by_ours"] = round(times, 3)
    return [
        {
            **{"subject": subject, "vocabulary": result["options"]["vocabulary"]["pattern"]},
            **{"size": result["options"]["size"], "threads": threads, "peers": peers},
            "left_out": {
                _peer(one["contender"]): one["reason"]
                for one in result.get("left_out", [])
                if (one["subject"], one["threads"]) == (subject, threads)
            },
        }
        for (subject, threads), peers in groups.items()
    ]


def page(collected: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    cells, machine, versions = collected["cells"], collected["machine"], collected["versions"]
    peers = [OURS, *sorted({name for cell in cells for name in cell["peers"]} - {OURS})]
    lost = [
        (cell, name, each["speed_by_ours"])
        for cell in cells
        for name, each in cell["peers"].items()
        if name != OURS and each["speed_by_ours"] > 1
    ]
    others = [(cell, name, reason) for cell in cells for name, reason in cell["left_out"].items()]
    named = ", ".join(f"{name.removesuffix('_rc')} {version}" for name, version in sorted(versions.items()))
    load = " to ".join(f"{each:.0f}" for each in collected["load"])
    lines = [
        "# Where other tools are faster",
        "",
        "<!-- Written by benchmarks/faster_peers.py; do not edit. -->",
        "",
        f"Encoding into arrays, {', '.join(collected['dates'])}, on {machine['processor']}, {machine['cores']} cores,",
        f"Python {machine['python']}: medians of {collected['repeats']} runs, in which the libraries take turns. The",
        f"load average of the machine was {load}: below 1, it was idle; above, take small differences for noise.",
        f"{named}.",
        "Every run is a process that has loaded the tokenizer and encoded other texts of the kind; loading is not",
        "timed, and no text occurs twice. The ids of every text are hashed and compared first: a library with other",
        "ids has no speed.",
        "",
        f"## Faster in {len(lost)} of {sum(len(cell['peers']) - 1 for cell in cells)} comparisons",
        "",
    ]
    if lost:
        lines += [f"| {_HEAD} | faster | × hf_bpe |", "|---|---|---|--:|---|--:|"]
        lines += [f"| {_describe(cell)} | {_shown(name)} | {ratio:.2f} |" for cell, name, ratio in _sorted(lost)]
    else:
        lines += ["No other library is faster in any comparison of this run."]
    lines += ["", "## Results", "", "In MB/s; after the slash the memory of the process in MB, when it has encoded."]
    lines += ["", f"| {_HEAD} | {' | '.join(map(_shown, peers))} |", "|---|---|---|--:|" + "--:|" * len(peers)]
    for cell in cells:
        lines.append(f"| {_describe(cell)} | {' | '.join(_cell(cell, name) for name in peers)} |")
    if others:
        lines += ["", "## Left out", "", f"| {_HEAD} | library | why |", "|---|---|---|--:|---|---|"]
        lines += [f"| {_describe(cell)} | {_shown(name)} | {reason} |" for cell, name, reason in others]
    return "\n".join([*lines, "", _NOTES])


_HEAD = "text | vocabulary | texts of | threads"
_NOTES = """## What is compared

The kinds of text are those of tokbench: `python -m benchmarks kinds` makes them of real documents, and LaTeX is made of
Debian's packages by `python -m benchmarks corpora`. With Llama 3.1's vocabulary the tokens of other templates are text.
tokenizers 1.0 runs in an environment of its own, because transformers does not allow it yet. toktier 0.3.0 is missing:
it loads tokenizers by the names of repositories only, for which there is no option to name a file.

[The benchmarks](../../benchmarks/README.md) describes how to repeat this; [Speed](speed.md) has what is not encoding.
"""


def _sorted(lost: list[Any]) -> list[Any]:
    return sorted(lost, key=lambda entry: -entry[2])


def _peer(contender: str) -> str:
    return contender.partition(":")[0]


def _shown(name: str) -> str:
    return {"tokenizers_rc": "tokenizers 1.0"}.get(name, name)


def _describe(cell: dict[str, Any]) -> str:
    size = f"{cell['size']} bytes" if cell["size"] else "1 to 9 kB"
    name = NAMES.get(cell["subject"], cell["subject"])
    return f"{name} | {VOCABULARIES.get(cell['vocabulary'], cell['vocabulary'])} | {size} | {cell['threads']}"


def _cell(cell: dict[str, Any], name: str) -> str:
    if name not in cell["peers"]:
        return "–"
    peer = cell["peers"][name]
    return f"{peer['megabytes_per_second']:.0f} / {peer['live_megabytes']}"


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks faster_peers", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["collect", "page"])
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(given)
    results = [json.loads(path.read_text(encoding="utf-8")) for path in options.results]
    made = json.dumps(collect(results), indent=1) + "\n" if options.what == "collect" else page(results[0])
    options.output.write_text(made, encoding="utf-8", newline="\n")
