"""Manifests say what is wrong with them, and hold any name of a file."""

import json
import os
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from hf_bpe.token_files import merge_manifests
from support.cases import case
from support.token_files import write_jsonl

REMOVED = object()
LONG = "x" * 20_000
VALUES = [
    *(REMOVED, None, True, -1, 3, 1.5, 10**30, "x", "../x", [], [None], ["x"], [[0, 1]], {}, {"a": 1}, "\ud800"),
    *(LONG, [LONG], {LONG: 1}),
]


def places(value, path=()):
    """Yield the path of each value in a JSON value, and of what holds it."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def changed(value, path, new):
    """Return a JSON value with another value at a path."""
    if not path:
        return new
    value = deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    if new is REMOVED:
        del inner[path[-1]]
    return value


def test_damaged_manifests_of_parts_are_refused_by_name(tokenizer, tmp_path):
    source = write_jsonl(tmp_path / "in.jsonl", ["low"] * 9)
    parts = [tokenizer.encode_files(source, tmp_path / "c.npy", shard=(part, 2)) for part in range(2)]
    manifest = parts[0].manifest
    valid = json.loads(manifest.read_text())
    accepted, messages = set(), []
    for path in places(valid):
        for new in VALUES if path else VALUES[1:]:
            manifest.write_text(json.dumps(changed(valid, path, new)))
            with case(path, str(new)[:20]):
                try:
                    merge_manifests(tmp_path / "c.npy", overwrite=True)
                    accepted.add(path[:1])
                except ValueError as error:
                    messages.append(str(error))
    assert max(map(len, messages)) < 1000
    assert all(str(tmp_path) in message for message in messages)
    assert not {("dtype",), ("format",), ("shard",)} & accepted
    assert {("tokens",), ("shards",), ("sources",)} <= accepted  # sums, and what only people read


@pytest.mark.parametrize("key", ["shuffle", "document_index"])
def test_manifests_with_unknown_keys_are_refused(tokenizer, tmp_path, key):
    source = write_jsonl(tmp_path / "in.jsonl", ["low"] * 9)
    for part in range(2):
        manifest = tokenizer.encode_files(source, tmp_path / "c.npy", shard=(part, 2)).manifest
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), key: 1}))
    message = rf"c-00000-of-00002\.manifest\.json has '{key}', which this version of hf_bpe does not know; encode it"
    with pytest.raises(ValueError, match=message):
        merge_manifests(tmp_path / "c.npy")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text here")
def test_names_of_files_that_are_not_text_are_written(tokenizer, tmp_path):
    source = write_jsonl(Path(tmp_path, os.fsdecode(b"caf\xe9 \xc3\xa9.jsonl")), ["low"] * 4)
    for part in range(2):
        tokenizer.encode_files(source, tmp_path / "c.npy", shard=(part, 2))
    merged = merge_manifests(tmp_path / "c.npy")
    text = merged.manifest.read_text(encoding="utf-8")
    assert json.loads(text)["sources"][0]["name"] == str(source)
    assert "caf\\udce9 é.jsonl" in text
