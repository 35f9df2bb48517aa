"""The prefix cache: random edits of conversations, turns of long ones, a trace of agents, and text seen only once.

    python -m benchmarks.prefix_cache edits FOLDER... --files FILE... --edits 1000000
    python -m benchmarks.prefix_cache turns FOLDER... --files FILE...
    python -m benchmarks.prefix_cache trace FOLDER... --files FILE...
    python -m benchmarks.prefix_cache cold FOLDER... --files FILE...

Each FOLDER holds the `tokenizer.json` of a tokenizer, whose chat template is used if it has one. `edits` appends turns,
replaces last characters, changes system prompts, forks and interleaves conversations, and stops at the first text whose
ids with the cache are not those without. The others compare ids before they measure. Times are the median and the
shortest, in milliseconds, of works that take turns.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerFast
from transformers.utils import logging

from hf_bpe import accelerate

Messages = list[dict[str, str]]
ODD = ["<|", "|>", "<", " ", "\n", "\n\n", "  ", "é", "é", "Å", "中文", "。", "👩‍💻", "▁", "\u200d", "'s", "12345"]
MOST = 24_000  # characters of a conversation that is edited
CONVERSATIONS = 6
RENDERED = 0.05  # of all edits are of messages, which take longer to render than to encode; the others are of text


class Subject:
    """A tokenizer with and without the cache, and what renders conversations for it."""

    def __init__(self, folder: str, max_bytes: int) -> None:
        self.name = Path(folder).name
        loaded: Any = PreTrainedTokenizerFast.from_pretrained(folder)
        self.plain, self.cached = accelerate(loaded), accelerate(loaded, prefix_cache=max_bytes)
        self.tokens = [*loaded.get_added_vocab()][:200] or ["<x>"]
        self._renders = loaded.chat_template is not None
        try:
            self.render([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])
            self.has_system = True
        except Exception:  # of the template: some have no role "system"
            self.has_system = False

    def render(self, messages: Messages) -> str:
        """Return the text of messages."""
        if not self._renders:
            turns = (f"{self.tokens[0]}{each['role']}\n{each['content']}{self.tokens[-1]}\n" for each in messages)
            return "".join(turns)
        rendered = self.cached.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return str(rendered)

    def encoders(self) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
        """Return what encodes a text to an array without and with the cache, on one thread."""

        def encoder_of(tokenizer: Any) -> Callable[[str], Any]:
            pipeline = tokenizer._pipeline
            options = pipeline.options()
            return lambda text: pipeline.encoder.encode_to_numpy([text], options, 1)[0]

        return encoder_of(self.plain), encoder_of(self.cached)


class Edits:
    """Conversations that are edited at random."""

    def __init__(self, subject: Subject, source: str, seed: int) -> None:
        self.subject, self.source, self.random = subject, source, random.Random(seed)
        self.conversations = [self._begin() for _ in range(CONVERSATIONS)]
        self.texts = [*map(subject.render, self.conversations)]

    def _content(self) -> str:
        size = self.random.choice([5, 40, 256, 256, 1500, 6000])
        start = self.random.randrange(len(self.source) - size)
        content = self.source[start : start + size]
        if self.random.random() < 0.1:
            odd = self.random.choice([*ODD, self.random.choice(self.subject.tokens)])
            place = self.random.randrange(size)
            content = content[:place] + odd * self.random.choice([1, 1, 2, 300]) + content[place:]
        return content

    def _begin(self) -> Messages:
        system = [{"role": "system", "content": self._content()}] if self.subject.has_system else []
        return [*system, {"role": "user", "content": self._content()}]

    def next(self) -> str:
        """Return the text of a conversation after one more edit."""
        which, edit = self.random.randrange(CONVERSATIONS), self.random.random()
        if edit < RENDERED:
            self.conversations[which] = messages = self._edit_messages(self.conversations[which])
            self.texts[which] = self.subject.render(messages)
        elif edit < 0.5:
            self.texts[which] += self._content()
        elif edit < 0.8:
            size = self.random.choice([1, 8, 8, 40, 2000])
            self.texts[which] = self.texts[which][:-size] + self._content()[: self.random.choice([0, size, 300])]
        elif edit < 0.85:
            start = self.random.randrange(200)
            self.texts[which] = self.texts[which][:start] + self._content()[:40] + self.texts[which][start + 40 :]
        else:
            self.texts[self.random.randrange(CONVERSATIONS)] = self.texts[which]  # a fork
        if len(self.texts[which]) > MOST:
            self.texts[which] = self._content()
        return self.texts[which]

    def _edit_messages(self, messages: Messages) -> Messages:
        if sum(len(each["content"]) for each in messages) > MOST:
            return self._begin()
        edit = self.random.random()
        if edit < 0.7:
            added = [{"role": role, "content": self._content()} for role in ("assistant", "user")]
            return [*messages, *added]
        if edit < 0.85 and self.subject.has_system:
            start = self.random.randrange(len(messages[0]["content"]) + 1)
            return [{**messages[0], "content": messages[0]["content"][:start] + self._content()}, *messages[1:]]
        return messages[: max(len(messages) - 2 * self.random.choice([1, 2]), 1 + self.subject.has_system)]


def edits(subject: Subject, source: str, count: int, seed: int) -> dict[str, Any]:
    """Compare the ids of edited conversations; return the statistics of the cache."""
    plain, cached = subject.encoders()
    edited = Edits(subject, source, seed)
    for number in range(count):
        text = edited.next()
        is_equal = np.array_equal(plain(text), cached(text))
        if is_equal and number % 100 == 0:
            is_equal = subject.plain(text)["input_ids"] == subject.cached(text)["input_ids"]
        if not is_equal:
            Path("unequal.txt").write_text(text, "utf-8", "surrogatepass")
            raise SystemExit(f"{subject.name}, seed {seed}, edit {number}: other ids, of the text in unequal.txt")
        size = subject.cached.prefix_cache.statistics().size_bytes if number % 10 == 0 else 0
        if size > subject.cached.prefix_cache.max_bytes:
            raise SystemExit(f"{subject.name}: the cache takes {size} bytes")
    return {"edits": count, **_rates(subject)}


def _rates(subject: Subject) -> dict[str, Any]:
    found = subject.cached.prefix_cache.statistics()
    return {
        "hits": round(found.hits / max(found.texts, 1), 4),
        "reused": round(found.reused_bytes / max(found.text_bytes, 1), 4),
        "evicted_blocks": found.evicted_blocks,
        "size_bytes": found.size_bytes,
    }


def _milliseconds(
    works: dict[str, Callable[[str], Any]], texts: Iterator[str], repeats: int
) -> dict[str, tuple[float, float]]:
    """Return the median and the shortest time of each work, of texts that are made right before."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            text = next(texts)
            start = time.perf_counter()
            work(text)
            taken[name].append(1000 * (time.perf_counter() - start))
    return {name: (round(statistics.median(each), 4), round(min(each), 4)) for name, each in taken.items()}


def turns(subject: Subject, source: str, repeats: int) -> dict[str, Any]:
    """Measure turns of 256 characters in conversations of several lengths."""
    results: dict[str, Any] = {}
    plain, cached = subject.encoders()

    def grow(text: str) -> Iterator[str]:
        while True:
            start = random.randrange(len(source) - 256)
            text += source[start : start + 256]
            yield text

    for wanted in (38_000, 400_000):
        per_token = 50_000 / len(plain(source[:50_000]))
        texts = grow(source[: int(wanted * per_token)])
        for _ in range(5):
            text = next(texts)
            assert np.array_equal(plain(text), cached(text))
            assert subject.cached(text)["input_ids"] == subject.plain(text)["input_ids"]
        works = {
            "engine": cached,
            "call, lists": subject.cached,
            "call, numpy": lambda text: subject.cached(text, return_tensors="np"),
            "encode": subject.cached.encode,
            "engine without": plain,
            "call without": subject.plain,
        }
        # The others drive texts and ids of many megabytes out of the processor's caches.
        alone = _milliseconds({"engine, turn after turn": cached}, texts, repeats)
        results[f"{len(plain(next(texts)))} tokens"] = alone | _milliseconds(works, texts, repeats)
    return results


def trace(subject: Subject, source: str, count: int) -> dict[str, Any]:
    """Return the rates of agents that share a system prompt, take turns, and each read files and call tools."""
    draw = random.Random(0)

    def piece(size: int) -> str:
        start = draw.randrange(len(source) - size)
        return source[start : start + size]

    role = "system" if subject.has_system else "user"
    shared = [
        {"role": role, "content": piece(8000)},
        *([] if subject.has_system else [{"role": "assistant", "content": "ok"}]),
    ]
    agents = [[*shared, {"role": "user", "content": piece(400)}] for _ in range(16)]
    plain, cached = subject.encoders()
    for number in range(count):
        agent = draw.randrange(len(agents))
        text = subject.render(agents[agent])
        assert np.array_equal(plain(text), cached(text)), number
        agents[agent] += [{"role": "assistant", "content": piece(draw.choice([100, 400, 1200]))}]
        agents[agent] += [{"role": "user", "content": piece(draw.choice([200, 2000, 6000]))}]
        if len(text) > 200_000:  # the next task
            agents[agent] = [*shared, {"role": "user", "content": piece(400)}]
    return {"calls": count, **_rates(subject)}


def cold(subject: Subject, source: str, repeats: int) -> dict[str, Any]:
    """Return the time with the cache as a ratio to that without it, for texts that are seen once."""
    plain, cached = subject.encoders()
    results = {}
    for size in (2_000, 20_000, 150_000):
        texts = [source[start : start + size] for start in range(0, len(source) - size, size)]
        random.Random(0).shuffle(texts)
        ratios = []
        for number, text in enumerate(texts[: repeats * 20]):
            plain(text[: size // 2])  # words that are new cost the first a table entry
            plain(text[size // 2 :])
            taken = {}
            for work in (plain, cached) if number % 2 else (cached, plain):
                start = time.perf_counter()
                work(text)
                taken[work] = time.perf_counter() - start
            ratios.append(taken[cached] / taken[plain])
        results[f"{size} characters"] = round(statistics.median(ratios), 4)
    return results


def main(arguments: list[str] | None = None) -> None:
    """Run one of the measurements for each tokenizer, and print a line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["edits", "turns", "trace", "cold"])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--files", nargs="+", required=True, help="texts that contents are taken from")
    parser.add_argument("--edits", type=int, default=10_000, help="of all tokenizers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--max-bytes", type=int, default=0)
    parser.add_argument("--nfc", action="store_true", help="normalize the texts first, as nearly all text is")
    given = parser.parse_args(arguments)
    logging.set_verbosity_error()
    source = "".join(Path(file).read_text("utf-8")[:4_000_000].replace("<|endoftext|>", "\n") for file in given.files)
    if given.nfc:
        source = unicodedata.normalize("NFC", source)
    for folder in given.folders:
        subject = Subject(folder, given.max_bytes or (2_000_000 if given.kind == "edits" else 256_000_000))
        if given.kind == "edits":
            result = edits(subject, source, given.edits // len(given.folders), given.seed)
        elif given.kind == "turns":
            result = turns(subject, source, given.repeats)
        elif given.kind == "trace":
            result = trace(subject, source, 40 * given.repeats)
        else:
            result = cold(subject, source, given.repeats)
        print(json.dumps({"tokenizer": subject.name, **result}), flush=True)


if __name__ == "__main__":
    main()
