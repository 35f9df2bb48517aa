"""The contents of token files: a plain definition of rows and shards, and of each format's layout."""

import json
import struct

import numpy as np
import pytest

END, BEGIN = "<|endoftext|>", "<|begin|>"

_LIMITS = {
    "piece_ids": "_resume.pieces._MAX_IDS",
    "piece_values": "_resume.pieces._MAX_VALUES",
    "read_ids": "_resume.pieces._READ_IDS",
    "block_bytes": "_documents.BLOCK_BYTES",
    "unit_bytes": "_workers._UNIT_BYTES",
}


def set_limits(patch, **limits):
    """Let work be cut at other sizes than those of large corpora."""
    for name, value in limits.items():
        patch.setattr(f"hf_bpe.token_files.{_LIMITS[name]}", value)


def write_jsonl(path, texts):
    """Write texts, or records, as JSON lines."""
    records = [text if isinstance(text, dict) else {"text": text} for text in texts]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read_table(path):
    """Return a Parquet or an Arrow file as a table."""
    if path.suffix == ".parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path)
    return pytest.importorskip("pyarrow").ipc.open_stream(path.read_bytes()).read_all()


def rows_of(documents, pack=None, across=True):
    """Return documents, which are not empty, as rows."""
    if pack is None:
        return documents
    if across:
        stream = [token for document in documents for token in document]
        return [stream[at : at + pack] for at in range(0, len(stream) - pack + 1, pack)]
    return [document[at : at + pack] for document in documents for at in range(0, len(document), pack)]


def shards_of(rows, tokens=None):
    """Return rows in shards, each of which ends with the row that fills it."""
    shards = [[]]
    for row in rows:
        if tokens is not None and sum(map(len, shards[-1])) >= tokens:
            shards.append([])
        shards[-1].append(row)
    return shards


def flat(rows, dtype):
    return np.array([token for row in rows for token in row], dtype).tobytes()


def npy(rows, wide):
    return [flat(rows, "<u4" if wide else "<u2"), np.cumsum([0, *map(len, rows)], dtype="<i8").tobytes()]


def megatron(rows, wide):
    size = 4 if wide else 2
    lengths = [*map(len, rows)]
    begins = [size * sum(lengths[:number]) for number in range(len(rows))]
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4 if wide else 8, len(rows), len(rows) + 1)
    index += struct.pack(f"<{len(rows)}i", *lengths) + struct.pack(f"<{len(rows)}q", *begins)
    return [flat(rows, "<i4" if wide else "<u2"), index + struct.pack(f"<{len(rows) + 1}q", *range(len(rows) + 1))]


def datatrove(rows, wide):
    ends = np.cumsum([*map(len, rows)])
    return [flat(rows, "<u4" if wide else "<u2"), ends.astype("<u8").tobytes()]


def nanogpt(rows, wide):
    return [flat(rows, "<u2")]


def llmc(rows, wide):
    header = [20240801, 7] if wide else [20240520, 1]
    numbers = [*header, sum(map(len, rows)), *[0] * 253]
    return [struct.pack("<256i", *numbers) + flat(rows, "<u4" if wide else "<u2")]


def mds(rows, wide):
    samples = []
    for row in rows:
        kind, code = next((kind, code) for code, kind in enumerate("BHI") if len(row) < 1 << 8 * struct.calcsize(kind))
        array = struct.pack("<B" + kind, 4 + code, len(row)) + flat([row], "<u4")
        samples.append(struct.pack("<I", len(array)) + array)
    config = {"column_encodings": ["ndarray:uint32"], "column_names": ["tokens"], "column_sizes": [None]}
    config |= {"compression": None, "format": "mds", "hashes": [], "size_limit": None, "version": 2}
    header = json.dumps(config, sort_keys=True).encode()
    first = 4 + 4 * (len(rows) + 1) + len(header)
    offsets = [first + sum(map(len, samples[:number])) for number in range(len(rows) + 1)]
    return [struct.pack(f"<{len(rows) + 2}I", len(rows), *offsets) + header + b"".join(samples)]


LAYOUTS = {"npy": npy, "megatron": megatron, "datatrove": datatrove, "nanogpt": nanogpt, "llm.c": llmc, "mds": mds}


def content(path):
    """Return the bytes of a file; of an array, those of its numbers."""
    if path.suffix == ".npy":
        return np.load(path).tobytes()
    return path.read_bytes()


def contents(written):
    """Return the content of all files of a run, by name."""
    folder = written.manifest.parent
    return {path.name: path.read_bytes() for path in [*written.files, *folder.glob("index.json")]}
