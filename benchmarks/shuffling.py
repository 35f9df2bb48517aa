"""Shuffling the documents of token files: `python -m benchmarks.shuffling TOKENIZER GB... --files FILE...`.

Give a tokenizer, sizes of token files in GB (10⁹ bytes of ids), and text. The text is cut into documents and encoded to
`.npy` files, which are copied until there are that many ids. Before anything is timed, a small corpus is shuffled and
compared with the order that the reference defines. Then each size is shuffled in a process of its own, from disk to
disk. It prints seconds, MB (10⁶ bytes) of ids a second, the peak of resident memory, and what a plain copy of the files
takes, before and after. With --shard, a part I/N is written instead, after the files were dropped from the cache of the
system, and the MB that were read from the disk are printed, too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

_SHUFFLE = """
import json, resource, sys, time
from pathlib import Path
from hf_bpe.token_files import shuffle_documents

def disk():
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("read_bytes")).split()[1])

options = json.loads(sys.argv[3])
before, start, cpu = disk(), time.perf_counter(), time.process_time()
written = shuffle_documents(sys.argv[1], sys.argv[2], 1, **options)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([time.perf_counter() - start, time.process_time() - cpu, peak, disk() - before, written.num_tokens]))
"""


def documents_of(path: Path) -> list[list[int]]:
    """Return the documents of `.npy` files."""
    ids, offsets = np.load(path), np.load(path.with_suffix(".offsets.npy"))
    return [ids[start:stop].tolist() for start, stop in pairwise(offsets)]


def check(tokenizer: Any, text: Path, folder: Path) -> None:
    """Compare the files of a small corpus with the order of the reference."""
    from hf_bpe.reference._shuffle import shuffled_order
    from hf_bpe.token_files import shuffle_documents

    lines = text.read_text(encoding="utf-8", errors="replace").splitlines()[:20_000]
    (folder / "small.jsonl").write_text("\n".join(json.dumps({"text": line}) for line in lines))
    plain = documents_of(tokenizer.encode_files(folder / "small.jsonl", folder / "small.npy").ids)
    found = documents_of(Path(shuffle_documents(folder / "small.npy", folder / "other.npy", 1).ids))
    if found != [plain[number] for number in shuffled_order(1, len(plain))]:
        raise SystemExit("the order is not that of the reference")


def repeat(encoded: Any, folder: Path, size: float) -> Path:
    """Copy token files until they have a number of bytes; return their manifest."""
    content = json.loads(encoded.manifest.read_text())
    shard = content["shards"][0]
    copies = max(round(size / encoded.ids.stat().st_size), 1)
    shards = []
    for number in range(copies):
        names = {name.replace("text", f"copy{number}"): count for name, count in shard["files"].items()}
        for name, copy in zip(shard["files"], names, strict=True):
            shutil.copyfile(encoded.ids.with_name(name), folder / copy)
        shards.append({**shard, "files": names})
    content |= {name: content[name] * copies for name in ("tokens", "documents", "rows")}
    manifest = folder / "copies.manifest.json"
    manifest.write_text(json.dumps({**content, "shards": shards}))
    os.sync()
    return manifest


def copy_seconds(files: list[Path], folder: Path) -> float:
    """Return the time that copying files takes, to the disk."""
    start = time.perf_counter()
    for number, path in enumerate(files):
        with path.open("rb") as source, (folder / f"plain-copy-{number}").open("wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 22)
            copy.flush()
            os.fsync(copy.fileno())
    seconds = time.perf_counter() - start
    for number in range(len(files)):
        (folder / f"plain-copy-{number}").unlink()
    return seconds


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shuffling", description=__doc__)
    parser.add_argument("tokenizer", metavar="TOKENIZER", type=Path)
    parser.add_argument("sizes", nargs="+", metavar="GB", type=float)
    parser.add_argument("--files", nargs="+", metavar="FILE", type=Path, required=True)
    parser.add_argument("--characters", type=int, default=4000, help="characters of a document")
    parser.add_argument("--shard", metavar="I/N", help="write only this part")
    parser.add_argument("--folder", type=Path, help="where to write; default: the temporary folder")
    options = parser.parse_args()

    from hf_bpe import BPETokenizer

    tokenizer = BPETokenizer.convert_from(options.tokenizer)
    given = {} if options.shard is None else {"shard": [int(number) for number in options.shard.split("/")]}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        check(tokenizer, options.files[0], folder)
        with (folder / "text.jsonl").open("w") as lines:
            for path in options.files:
                text = path.read_text(encoding="utf-8", errors="replace")
                for start in range(0, len(text), options.characters):
                    lines.write(json.dumps({"text": text[start : start + options.characters]}) + "\n")
        encoded = tokenizer.encode_files(folder / "text.jsonl", folder / "text.npy", separator="<|endoftext|>")
        for gigabytes in options.sizes:
            size = gigabytes * 1e9
            manifest = repeat(encoded, folder, size)
            content = json.loads(manifest.read_text())
            files = [folder / each for shard in content["shards"] for each in shard["files"]]
            copying = [copy_seconds(files, folder)] if not given else []
            for path in files if given else ():
                with path.open("rb") as opened:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            command = [sys.executable, "-c", _SHUFFLE, manifest, folder / "shuffled.npy", json.dumps(given)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds, cpu, peak, read, tokens = json.loads(printed)
            copying += [copy_seconds(files, folder)] if not given else []
            ids = tokens * np.dtype(content["dtype"]).itemsize / 1e6
            print(
                f"{ids:6.0f} MB of ids in {content['documents']} documents: {seconds:6.1f} s ({cpu:.1f} s of processor "
                f"time), {ids / seconds:5.0f} MB/s, peak {peak / 1e6:.0f} MB, read from disk {read / 1e6:.0f} MB"
                + (f"; copying takes {' and '.join(f'{each:.1f}' for each in copying)} s" if copying else ""),
                flush=True,
            )
            for path in [*files, *folder.glob("shuffled*")]:
                path.unlink()


if __name__ == "__main__":
    main()
