"""Loading, saving and extending large vocabularies, next to transformers: `python -m benchmarks large_vocabularies`.

Give folders with a `tokenizer.json` each. Every run is a process; the two libraries take turns. Times are CPU seconds,
medians with the range. A folder is refused if the two load tokenizers with different ids.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import measure

SAMPLE = "Hello world! The naïve café costs 3.50 € — 你好，世界. Привет\n\n\tdef f(x):  return x ** 2  # it's"
NEW_TOKENS = 20
STEPS = {  # what hf_bpe does → what of transformers it is compared with
    "import": "import",
    "from_pretrained": "from_pretrained",
    "convert_from": "from_pretrained",
    "first call": "first call",
    "save_pretrained": "save_pretrained",
    "save_pretrained, verify=False": "save_pretrained",
    f"extend by {NEW_TOKENS}": "",
}


def run(library: str, folder: str) -> dict[str, Any]:
    """Run every step of a library in this process; return CPU seconds by step, and the ids of the sample."""
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        seconds[step] = time.process_time() - start
        return result

    tokenizer_class = timed("import", _import_hf_bpe if library == "hf_bpe" else _import_transformers)
    tokenizer = timed("from_pretrained", lambda: tokenizer_class.from_pretrained(folder))
    ids = timed("first call", lambda: tokenizer(SAMPLE)["input_ids"])
    with tempfile.TemporaryDirectory() as empty:
        timed("save_pretrained", lambda: tokenizer.save_pretrained(empty))
    if library == "hf_bpe":
        from hf_bpe.editing import extend

        with tempfile.TemporaryDirectory() as empty:
            timed("save_pretrained, verify=False", lambda: tokenizer.save_pretrained(empty, verify=False))
        converted = timed("convert_from", lambda: tokenizer_class.convert_from(Path(folder, "tokenizer.json")))
        if converted(SAMPLE)["input_ids"] != ids:
            raise SystemExit(f"{folder}: convert_from and from_pretrained give different ids")
        texts = [f"zq{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}xjvkw {SAMPLE}" for i in range(2000)]
        if tokenizer.normalizer is None:
            new = tokenizer.added_tokens_decoder
            timed(
                f"extend by {NEW_TOKENS}",
                lambda: tokenizer.with_model(extend(tokenizer.model, texts, NEW_TOKENS, reserved=new)),
            )
    return {"seconds": seconds, "ids": ids}


def _import_hf_bpe() -> Any:
    from hf_bpe import BPETokenizer

    return BPETokenizer


def _import_transformers() -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast


def compare(folder: str, repeats: int) -> str:
    """Return a table for a folder."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    ids: dict[str, Any] = {}
    for number in range(-1, repeats):  # the first run, not counted, leaves byte code for the others
        for library in ("hf_bpe", "transformers") if number % 2 == 0 else ("transformers", "hf_bpe"):
            command = [sys.executable, "-m", "benchmarks.large_vocabularies", "--run", library, folder]
            environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            result = json.loads(done.stdout.splitlines()[-1])
            if ids.setdefault("sample", result["ids"]) != result["ids"]:
                raise SystemExit(f"{folder}: hf_bpe and transformers give different ids")
            for step, seconds in result["seconds"].items() if number >= 0 else ():
                times[library, step].append(seconds)
    lines = [f"{folder} ({repeats} runs, CPU seconds)", f"{'':32}{'hf_bpe':>22}{'transformers':>22}{'ratio':>8}"]
    for step, peer in STEPS.items():
        ours, theirs = times["hf_bpe", step], times["transformers", peer]
        if ours:
            ratio = f"{median(ours) / median(theirs):8.2f}" if theirs else ""
            lines.append(f"{step:32}{_shown(ours):>22}{_shown(theirs):>22}{ratio}")
    return "\n".join(lines)


def _shown(times: list[float]) -> str:
    return f"{median(times):.3f} ({min(times):.3f}–{max(times):.3f})" if times else ""


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks large_vocabularies", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--run", choices=["hf_bpe", "transformers"], help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.run:
        measure.prefer_installed()
        print(json.dumps(run(options.run, options.folders[0])))
        return
    for folder in options.folders:
        print(compare(folder, options.repeats), flush=True)


if __name__ == "__main__":
    main()
