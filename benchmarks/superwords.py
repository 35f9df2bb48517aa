"""Superwords by size and by the merges of stage 1: `python -m benchmarks.superwords FILE... --output RESULTS.json`.

For each file: bytes per token of its last twentieth, by tokenizers trained on the rest, in plain BPE and with
superwords after shares of the vocabulary. A chart is written next to the results.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from benchmarks.chart import TEXT, TEXT_ON_DARK
from hf_bpe import BPEModel, BPETokenizer, count, train
from hf_bpe.training import Superwords

SEPARATOR = "<|endoftext|>"
SHARES = (0.2, 0.4, 0.6, 0.8, 0.9)
_COLORS = ("#6f8fb3", "#e8833a", "#5a9a68")


def measure(path: Path, sizes: list[int], pattern: str) -> dict[str, Any]:
    """Return bytes per token by size and by share of merges in stage 1, of which 1 is plain BPE."""
    documents = path.read_text("utf-8").split(SEPARATOR)
    last = len(documents) * 19 // 20
    text, held_out = SEPARATOR.join(documents[:last]), documents[last:]
    held_bytes = sum(len(document.encode()) for document in held_out)
    words, pieces = (
        count([text], pattern=each, special_tokens=[SEPARATOR]) for each in (pattern, Superwords(0).pattern)
    )

    def bytes_per_token(model: BPEModel) -> float:
        return held_bytes / sum(BPETokenizer(model=model).count_tokens(held_out))

    rows = []
    for size in sizes:
        superwords = Superwords([int(size * share) for share in SHARES], text=pieces)
        models = [*train(words, size, superwords=superwords), train(words, size)]
        rates = dict(zip((*SHARES, 1.0), map(bytes_per_token, models), strict=True))
        rows.append({"vocab_size": size, "bytes_per_token": rates})
        print(path.name, size, {share: round(rate, 3) for share, rate in rates.items()}, flush=True)
    return {"file": path.name, "held_out_bytes": held_bytes, "sizes": rows}


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Write an SVG with a panel for each file and a line for each size."""
    colors = dict.fromkeys(("text.color", "axes.titlecolor", "axes.labelcolor", "xtick.color", "ytick.color"), TEXT)
    with matplotlib.rc_context({"svg.hashsalt": "hf_bpe", "svg.fonttype": "none", "axes.edgecolor": TEXT, **colors}):
        figure = Figure(figsize=(10, 3.4), layout="constrained")
        for axis, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
            for row, color in zip(result["sizes"], _COLORS, strict=False):
                rates = {float(share): rate for share, rate in row["bytes_per_token"].items()}
                name = f"{row['vocab_size'] // 1024}Ki tokens"
                axis.plot([*rates], [*rates.values()], color=color, marker="o", markersize=4, label=name)
            axis.set_title(Path(result["file"]).stem, loc="left", fontsize=10)
            axis.set_xlabel("merges of stage 1 / vocabulary; 1: plain BPE")
            axis.set_ylim(bottom=0)
            axis.spines[["top", "right"]].set_visible(False)
        figure.axes[0].set_ylabel("bytes per token")
        figure.axes[0].legend(frameon=False, loc="lower left")
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(path, format="svg", transparent=True, metadata=no_metadata)
    dark = f"@media (prefers-color-scheme: dark) {{ text {{ fill: {TEXT_ON_DARK} !important }} }}"
    path.write_text(path.read_text("utf-8").replace("</style>", f" {dark}</style>", 1), "utf-8")


def main() -> None:
    """Measure, write the results, and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.superwords", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=[32768, 65536, 131072])
    parser.add_argument("--pattern", default="o200k", help="of stage 1 and of plain BPE")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    results = [measure(path, options.sizes, options.pattern) for path in options.files]
    options.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    draw(results, options.output.with_suffix(".svg"))


if __name__ == "__main__":
    main()
