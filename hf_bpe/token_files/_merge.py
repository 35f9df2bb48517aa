"""The manifest of a corpus from its parts' manifests, after a check that all are there and belong together."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hf_bpe._utils.arguments import check_flag, short_repr
from hf_bpe._utils.files import write_atomically
from hf_bpe._utils.input_files import Optional, check_shape, read_json
from hf_bpe._utils.messages import without_credentials
from hf_bpe._utils.object_stores import StorageOptions, download, join, parent_and_name, sizes, transfer, upload
from hf_bpe._utils.paths import check_destination, is_url
from hf_bpe.counting._error_policy import SKIPPED
from hf_bpe.token_files._formats import FORMATS
from hf_bpe.token_files._manifest import COUNTS, FILE_ENTRIES, SETTINGS, EncodedFiles, as_json, encoded_files, with_urls
from hf_bpe.token_files._options import Share
from hf_bpe.token_files._shards import INDEX, MANIFEST

_SHARE = re.compile(rf"(?:(.*)-)?([0-9]{{5}})-of-([0-9]{{5}})(?:\.{re.escape(MANIFEST)})?")
_MDS_INDEX = {"version": int, "shards": [{"raw_data": {"basename": str, ...: object}, ...: object}]}
_MANIFEST: dict[Any, Any] = {**FILE_ENTRIES, "format": str, "shard": (int, int), ...: object}
_FILE_RANGE = {"bytes": int, "range": (int, Optional(int)), ...: object}
_NAMED = 20  # shares in a message; there may be thousands


class _SharedManifest(NamedTuple):
    """The manifest of a share, and the name of its output without suffix, which is empty for MDS."""

    path: Path
    stem: str
    share: Share
    content: dict[str, Any]

    @property
    def subfolder(self) -> str:
        """The folder of the files, relative to the corpus."""
        return "" if self.stem else f"{self.share.name}/"


def merge_manifests(
    output: str | os.PathLike[str], *, overwrite: bool = False, storage_options: StorageOptions | None = None
) -> EncodedFiles:
    r"""Check that all parts of a corpus are encoded, and write the manifest of the whole.

    The parts are what `BPETokenizer.encode_files` wrote with `shard=(0, N)` to `shard=(N - 1, N)`. Their files stay as
    they are. Of MDS, the index of all shards is written, too.

    Args:
        output: the `output` of `encode_files`, or the folder of the files if it has those of one output only.
        overwrite: replace the manifest of another run.
        storage_options: as in `Source`, for a URL, of which only manifests are read.

    Returns:
        The files of all parts in their order, and the sums of their numbers.

    Raises:
        FileNotFoundError: there are no parts, or some are missing; the message names them.
        FileExistsError: there is another manifest with this name.
        ValueError: parts were made of other sources, by other tokenizers or with other options; a file has another size
            than its manifest says; or a manifest is damaged.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
    >>> _ = Path("low.jsonl").write_text("\n".join(['{"text": "low"}'] * 5))
    >>> for i in range(2):
    ...     written = tokenizer.encode_files("low.jsonl", "out/low", format="megatron", shard=(i, 2))
    >>> written.ids.name
    'low-00001-of-00002.bin'
    >>> merged = merge_manifests("out")
    >>> merged.manifest.name, merged.num_documents, merged.num_tokens
    ('low.manifest.json', 5, 20)
    """
    output = check_destination("output", output)
    check_flag("overwrite", overwrite)
    if is_url(os.fspath(output)):
        return _merge_remote(os.fspath(output), overwrite, storage_options)
    return _merge(Path(output), overwrite, lambda path: path.stat().st_size if path.is_file() else None)


def _merge_remote(output: str, overwrite: bool, options: StorageOptions | None) -> EncodedFiles:
    """Merge the manifests of a folder on an object store in a local one that stands for it."""
    folder, name = output, ""
    files = sizes(folder, options)
    if not files:
        folder, name = parent_and_name(output)
        files = sizes(folder, options)
    with tempfile.TemporaryDirectory(prefix="hf_bpe-") as stands_for:
        local = Path(stands_for)
        about = [path for path in files if path.endswith(MANIFEST) or path.rpartition("/")[2] == INDEX]
        transfer(download, ((local / path, join(folder, path)) for path in about), options)

        def url(path: Path) -> str:
            return join(folder, path.relative_to(local).as_posix())

        try:
            merged = _merge(local / name, overwrite, lambda path: files.get(path.relative_to(local).as_posix()))
        except (ValueError, OSError) as error:
            raise type(error)(str(error).replace(str(local), without_credentials(folder))) from None
        if (index := Path(merged.manifest).parent / INDEX).exists():
            upload(index, url(index), options)
        upload(Path(merged.manifest), url(Path(merged.manifest)), options)
        return with_urls(merged, url)


def _merge(path: Path, overwrite: bool, size_of: Callable[[Path], int | None]) -> EncodedFiles:
    """Merge the manifests of a folder, in which files have sizes, or None if they are missing."""
    parts = _checked_parts(path, [*_find(path)])
    first = parts[0]
    folder = first.path.parent if first.stem else first.path.parent.parent
    manifest = folder / (f"{first.stem}.{MANIFEST}" if first.stem else MANIFEST)
    shards = [
        {**shard, "files": {part.subfolder + name: size for name, size in shard["files"].items()}}
        for part in parts
        for shard in part.content["shards"]
    ]
    for name, size in (item for shard in shards for item in shard["files"].items()):
        actual = size_of(folder / name)
        if actual != size:
            got = "is missing" if actual is None else f"has {actual} bytes"
            raise ValueError(f"{folder / name} {got}, expected {size} bytes by its manifest; encode that part again")
    merged = {name: value for name, value in first.content.items() if name not in ("shard", "plan")}
    merged |= {name: sum(part.content[name] for part in parts) for name in COUNTS}
    merged["shards"] = shards
    merged["skipped"] = {name: sum(part.content["skipped"][name] for part in parts) for name in SKIPPED}
    merged["sources"] = _joined([source for part in parts for source in part.content["sources"]])
    text = as_json(merged)
    if manifest.exists() and not overwrite and manifest.read_bytes() != text.encode():
        raise FileExistsError(f"{manifest} is of another run; delete it, choose another output, or overwrite it")
    format = FORMATS[first.content["format"]]
    if format.make_index is not None:
        write_atomically(folder / INDEX, _joined_index(parts))
    write_atomically(manifest, text)
    files = [folder / name for shard in shards for name in shard["files"]]
    ids = files[0] if files else folder / f"{first.stem}-{first.share.name}{format.suffixes[0]}"
    return encoded_files(merged, manifest, [ids, *map(ids.with_suffix, format.suffixes[1:])], files)


def _find(output: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield the manifests of shares in a folder, or of an output, and what their names say."""
    folder = output if output.is_dir() else output.parent
    suffixes = [format.suffixes[0] for format in FORMATS.values()]
    name = next((output.name.removesuffix(each) for each in suffixes if output.name.endswith(each)), output.name)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = _SHARE.fullmatch(path.name)
        if match is None or match[1] == "":
            continue
        if path.name.endswith(MANIFEST) and match[1] and (output.is_dir() or match[1] == name):
            yield path, match
        elif match[1] is None and output.is_dir() and (path / MANIFEST).is_file():
            yield path / MANIFEST, match


def _checked_parts(output: Path, matches: Sequence[tuple[Path, re.Match[str]]]) -> list[_SharedManifest]:
    """Return the manifests of all shares in their order."""
    if not matches:
        raise FileNotFoundError(f"{output}: no manifest of a part, such as corpus-00000-of-00002.{MANIFEST}")
    stems = sorted({match[1] or "" for _, match in matches})
    if len(stems) > 1:
        outputs = " or ".join(str(output / stem) if stem else "a folder of MDS" for stem in stems[:_NAMED])
        raise ValueError(f"{output} has parts of several outputs, expected one; give {outputs}")
    counts = sorted({int(match[3]) for _, match in matches})
    if len(counts) > 1:
        numbers = " and of ".join(map(str, counts[:_NAMED]))
        raise ValueError(f"{output} has parts of {numbers}, which do not belong together; delete those of one number")
    there = {int(match[2]): path for path, match in matches}
    if missing := [number for number in range(counts[0]) if number not in there]:
        listed = ", ".join(map(str, missing[:_NAMED])) + (", …" if len(missing) > _NAMED else "")
        raise FileNotFoundError(
            f"{output} lacks {len(missing)} of {counts[0]} parts: {listed}; encode them, then merge again"
        )
    parts = [_read(there[number], stems[0], Share(number, counts[0])) for number in range(counts[0])]
    for part in parts[1:]:
        _check_same(parts[0], part)
    return parts


def _read(path: Path, stem: str, share: Share) -> _SharedManifest:
    try:
        content = check_shape(read_json(path), _MANIFEST)
        if content["shard"] != [*share] or content["format"] not in FORMATS:
            raise ValueError(f"it is of part {content['shard']} in format {short_repr(content['format'])}")
        for number, source in enumerate(content["sources"]):
            if "range" in source:
                check_shape(source, _FILE_RANGE, f"sources[{number}]")
    except ValueError as error:
        raise ValueError(f"{path} is not the manifest of a part, or is damaged: {error}; encode it again") from None
    if unknown := sorted(content.keys() - FILE_ENTRIES.keys() - SETTINGS):
        raise ValueError(
            f"{path} has {short_repr(unknown[0])}, which this version of hf_bpe does not know; encode it again"
        )
    return _SharedManifest(path, stem, share, content)


def _check_same(first: _SharedManifest, other: _SharedManifest) -> None:
    """Raise a ValueError that names what differs in the tokenizer, the options or the sources."""
    own = {*COUNTS, "shard", "shards", "skipped", "sources"}
    for name in [*first.content, *other.content]:
        mine, its = (part.content.get(name) for part in (first, other))
        if name not in own and mine != its:
            what = "the sources, or the times at which they were written," if name == "plan" else name
            raise ValueError(
                f"{other.path}: {what} differ from those of {first.path} ({short_repr(its)}, {short_repr(mine)}); "
                "encode all parts with one tokenizer, the same options and sources, and one version of hf_bpe"
            )


def _joined(sources: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return sources with the ranges of a file as one."""
    joined: list[dict[str, Any]] = []
    for source in sources:
        last = joined[-1] if joined else {}
        continues = "range" in source and "range" in last and last["name"] == source["name"]
        if continues and last["range"][1] == source["range"][0]:
            last["bytes"] += source["bytes"]
            last["range"] = [last["range"][0], source["range"][1]]
        else:
            joined.append(dict(source))
        if joined[-1].get("range") == [0, None]:
            del joined[-1]["range"]
    return joined


def _joined_index(parts: Sequence[_SharedManifest]) -> str:
    """Return the index of all shards, which names them by their folders, as MosaicML's `merge_index` does."""
    shards = []
    for part in parts:
        path = part.path.parent / INDEX
        try:
            index = check_shape(read_json(path), _MDS_INDEX)
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}; encode that part again") from None
        for shard in index["shards"]:
            raw = {**shard["raw_data"], "basename": part.subfolder + shard["raw_data"]["basename"]}
            shards.append({**shard, "raw_data": raw})
    return json.dumps({"version": 2, "shards": shards}, sort_keys=True)
