"""What an earlier run with the same output has left, and its replacement.

Whenever the process ends, the old files or the new ones are whole: new files are written to a hidden folder next to the
old ones. Once all are on disk, the folder is given a name that says so. Then the old files are deleted, the manifest
first, and the new ones moved into place, the manifest last; after a kill the next run with this output does the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_bpe._utils.files import flush, lock_moves, write_atomically
from hf_bpe._utils.input_files import check_shape
from hf_bpe._utils.work_log import open_own, subfolder
from hf_bpe.token_files._shards import OutputFiles, ShardRecord

_ORDER = "replace.json"
_FORMAT = "hf_bpe replacing 1"


def staging_folder(target: OutputFiles, work_dir: Path) -> Path:
    """Return the hidden folder for the new files of a resumable run, which depends on its work folder."""
    digest = hashlib.sha256(os.fsencode(work_dir.absolute())).hexdigest()[:8]
    return subfolder(target.folder, f".{target.manifest.name}.{digest}")


def files_to_replace(target: OutputFiles, overwrite: bool) -> list[Path]:
    """Return the files of an earlier run: manifest, index, a single shard, and with `overwrite` numbered shards."""
    single = target.single_shard_paths() if target.shard_tokens is None else []
    shards = files_of_manifest(target) if overwrite else []
    return [path for path in (*target.manifest_files, *single, *shards) if os.path.lexists(path)]


def names_in(manifest: Any) -> list[str]:
    """Return the names of the files that a manifest lists; none if it is not one of ours."""
    try:
        return [name for shard in manifest["shards"] for name in shard["files"]]
    except (KeyError, TypeError):
        return []


def files_of_manifest(target: OutputFiles) -> list[Path]:
    """Return the shards that the manifest of an earlier run lists; none if there is no manifest of ours."""
    try:
        with open_own(target.manifest, "rb") as file:
            names = names_in(json.loads(file.read()))
    except (OSError, ValueError, RecursionError):
        return []
    return [path for path in target.existing_shards() if path.name in names]


def check_free(target: OutputFiles, num_own_shards: int, overwrite: bool) -> None:
    """Raise a FileExistsError for shards of another run; `num_own_shards` may be in place already."""
    if target.shard_tokens is None:
        return
    own = {target.folder / name for number in range(num_own_shards) for name in target.names(number)}
    own |= {*files_of_manifest(target)} if overwrite else set()
    there = [path for path in target.existing_shards() if path not in own]
    if there:
        raise FileExistsError(f"{there[0]} is a shard of another run; delete its shards, or choose another output")


def put_in_place(target: OutputFiles, staging: Path, records: Sequence[ShardRecord], overwrite: bool) -> None:
    """Replace the token files of an earlier run by the files in a staging folder, and delete the folder.

    After an OSError the next run with this output tries again.
    """
    old = files_to_replace(target, overwrite)
    new = [name for record in records for name in reversed(record.files)]
    manifests = [path.name for path in reversed(target.manifest_files) if (staging / path.name).exists()]
    order = {"format": _FORMAT, "old": [path.name for path in old], "new": [*new, *manifests]}
    write_atomically(staging / _ORDER, json.dumps(order))
    with lock_moves(target.folder):
        _finish_locked(target)  # of another run that ended meanwhile
        flush(staging)
        staging.replace(_replacing_folder(target))
        flush(target.folder)
        _finish_locked(target)


def finish(target: OutputFiles) -> None:
    """Put the new files in place of a run that was killed when all were whole."""
    if os.path.lexists(_replacing_folder(target)):
        with lock_moves(target.folder):
            _finish_locked(target)


def _replacing_folder(target: OutputFiles) -> Path:
    return target.folder / f".{target.manifest.name}.replacing"


def _finish_locked(target: OutputFiles) -> None:
    folder, ready = target.folder, subfolder(target.folder, _replacing_folder(target).name)
    if not ready.exists():
        return
    if any(ready.iterdir()):  # else all is done
        old, new = _order_in(ready, target)
        left = [name for name in new if os.path.lexists(ready / name)]
        for name in [path.name for path in target.manifest_files] + old:
            if name in left or name not in new:
                (folder / name).unlink(missing_ok=True)
        flush(folder)
        for name in left:
            (ready / name).replace(folder / name)
        flush(folder)
    shutil.rmtree(ready)


def _order_in(ready: Path, target: OutputFiles) -> tuple[list[str], list[str]]:
    """Return the names of the old and the new files; a ValueError unless all are names of the output."""
    path = ready / _ORDER
    with open_own(path, "rb") as file:
        data = file.read()
    try:
        order = check_shape(json.loads(data), {"format": str, "old": [str], "new": [str]})
        wrong = [name for name in (*order["old"], *order["new"]) if not target.has_name(name)]
        if wrong or order["format"] != _FORMAT:
            raise ValueError(f"{wrong[0]!r} is no file of this output" if wrong else f"its format is not {_FORMAT!r}")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is damaged ({error}); move what you need out of {ready}, and delete that folder"
        ) from None
    return order["old"], order["new"]
