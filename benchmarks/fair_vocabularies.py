"""Fair vocabularies on parallel text: `python -m benchmarks.fair_vocabularies FOLDER`.

FOLDER has a folder for each language with the same HTML pages in each, as Debian's package installation-guide-amd64
installs them. Of every eight pages, six are trained on, one is the parallel text of parity, and one is held out. In the
second table a language has 64 times the text of the others, as English has in text from the web. Last, the time that
`tokenizers.trainers.ParityBpeTrainer` and hf_bpe take for the same merges.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import statistics
import time
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.trainers import ParityBpeTrainer

from hf_bpe import BPEModel, BPETokenizer, Source, WordCounts, count, train
from hf_bpe.pretokenizers import from_printable
from hf_bpe.training import Parity


def text_of(page: Path) -> str:
    """Return the text of an HTML page."""
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"(?s)<(script|style).*?</\1>", "", page.read_text("utf-8"))))


def gini(values: list[float]) -> float:
    """Return the Gini coefficient: half the mean difference of two values, relative to their mean."""
    differences = sum(abs(first - second) for first in values for second in values)
    return differences / (2 * len(values) * sum(values))


def row(name: str, model: BPEModel, held_out: dict[str, list[str]]) -> str:
    """Return a line of the table: how many tokens the same text takes in each language."""
    tokenizer = BPETokenizer(model=model)
    tokens = {language: sum(tokenizer.count_tokens(pages)) for language, pages in held_out.items()}
    size = sum(len(page.encode()) for pages in held_out.values() for page in pages)
    most, least = max(tokens, key=tokens.__getitem__), min(tokens, key=tokens.__getitem__)
    relative = f"{most} {tokens[most] / tokens['en']:.2f}, {least} {tokens[least] / tokens['en']:.2f}"
    return f"{name:34}{gini([*tokens.values()]):7.3f}{size / sum(tokens.values()):8.2f}   {tokens['en']:7}   {relative}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fair_vocabularies", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8_000, 32_000])
    options = parser.parse_args()
    languages = sorted(path.name for path in options.folder.iterdir() if path.is_dir())
    pages = {language: [*map(text_of, sorted((options.folder / language).glob("*.html")))] for language in languages}
    texts = {language: [page for i, page in enumerate(each) if i % 8 > 1] for language, each in pages.items()}
    dev, held_out = ({language: each[first::8] for language, each in pages.items()} for first in (0, 1))
    print(f"{len(languages)} languages, {sum(len(text.encode()) for each in texts.values() for text in each):,} bytes")

    for share, name in ((1, "equal text"), (64, "64 times as much English")):
        counts = {each: count(Source(texts[each], weight=share if each == "en" else 1)) for each in languages}
        everything = WordCounts.merge(*counts.values())
        print(f"\n{name:34}   Gini  bytes/token  English tokens   most and least, relative to English")
        for size in options.sizes:
            print(row(f"{size:,} plain BPE", train(everything, size), held_out))
            for label, parity in {
                "parity": Parity(dev=dev),
                "parity, window=100": Parity(dev=dev, window=100),
                "half of the merges are global": Parity(dev=dev, global_merges=size // 2),
            }.items():
                print(row(f"{size:,} {label}", train(counts, size, parity=parity), held_out), flush=True)
    time_peer(texts, dev, options.sizes[0])


def time_peer(texts: dict[str, list[str]], dev: dict[str, list[str]], size: int) -> None:
    """Train the same merges with `tokenizers` and print both times, including those of counting."""
    ours, theirs = [], []
    for _ in range(5):
        start = time.perf_counter()
        model = train(texts, num_merges=size, parity=Parity(dev=dev), tie_break="huggingface")
        ours.append(time.perf_counter() - start)

        start = time.perf_counter()
        peer = Tokenizer(models.BPE())
        peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = ParityBpeTrainer(num_merges=size, show_progress=False)
        trainer.train_from_iterator(peer, [*texts.values()], dev_iterators=[dev[each] for each in texts])
        theirs.append(time.perf_counter() - start)
        merges = json.loads(peer.to_str())["model"]["merges"]
        if model.merges != [(from_printable(first), from_printable(second)) for first, second in merges]:
            raise SystemExit("hf_bpe and tokenizers learn different merges")
    ratio = statistics.median(there / here for here, there in zip(ours, theirs, strict=True))
    here, there = statistics.median(ours), statistics.median(theirs)
    print(f"\n{size:,} merges: {here:.2f} s, ParityBpeTrainer {there:.2f} s, {ratio:.1f} times as long", flush=True)


if __name__ == "__main__":
    main()
