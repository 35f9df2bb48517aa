"""Token files that replace those of an earlier run: whenever the process ends, the old ones or the new ones are whole.

New files are written to a hidden folder next to the old ones. Once all of them are on disk, the folder is given a name
that says so. From then on the old files are deleted, the manifest first, and the new ones are moved into their place,
the manifest last; if the process is killed, the next run with this output does the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from hf_bpe._utils.files import flush, lock_moves, write_atomically
from hf_bpe._utils.input_files import check_shape
from hf_bpe._utils.work_log import open_own, subfolder
from hf_bpe.token_files._publish.shards import ShardRecord, Target

_ORDER = "replace.json"
_FORMAT = "hf_bpe replacing 1"


def staging_folder(target: Target, work_dir: Path) -> Path:
    """Return the hidden folder for the new files of a run that can be resumed; the same for the same work folder.

    Raises:
        NotADirectoryError: there is a file or a symbolic link.
    """
    digest = hashlib.sha256(os.fsencode(work_dir.absolute())).hexdigest()[:8]
    return subfolder(target.folder, f".{target.manifest.name}.{digest}")


def files_to_replace(target: Target, overwrite: bool) -> list[Path]:
    """Return what is there of an earlier run: what describes it, the only shard, and with `overwrite` its shards."""
    single = target.single_there() if target.shard_tokens is None else []
    shards = files_of_manifest(target) if overwrite else []
    return [path for path in (*target.about_all, *single, *shards) if os.path.lexists(path)]


def files_of_manifest(target: Target) -> list[Path]:
    """Return the shards of an earlier run, as its manifest lists them; none if there is no manifest of ours."""
    try:
        with open_own(target.manifest, "rb") as file:
            manifest = json.loads(file.read())
        names = [name for shard in manifest["shards"] for name in shard["files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    return [path for path in target.shards_there() if path.name in names]


def check_free(target: Target, ours: int, overwrite: bool) -> None:
    """Raise a FileExistsError for shards of another run; as many as are `ours` may be in place already."""
    if target.shard_tokens is None:
        return
    own = {target.folder / name for number in range(ours) for name in target.names(number)}
    own |= {*files_of_manifest(target)} if overwrite else set()
    there = [path for path in target.shards_there() if path not in own]
    if there:
        raise FileExistsError(f"{there[0]} is a shard of another run; delete its shards, or choose another output")


def put_in_place(target: Target, staging: Path, records: Sequence[ShardRecord], overwrite: bool) -> None:
    """Replace the token files of an earlier run by those in a staging folder, which is gone afterwards.

    Raises:
        OSError: a file cannot be deleted or moved; the next run with this output tries again.
    """
    old = files_to_replace(target, overwrite)
    new = [name for record in records for name in reversed(record.files)]
    about = [path.name for path in reversed(target.about_all) if (staging / path.name).exists()]  # the manifest last
    order = {"format": _FORMAT, "old": [path.name for path in old], "new": [*new, *about]}
    write_atomically(staging / _ORDER, json.dumps(order))
    with lock_moves(target.folder):
        _finish(target)  # of another run that ended meanwhile
        flush(staging)
        staging.replace(_ready(target))
        flush(target.folder)
        _finish(target)


def finish_replacement(target: Target) -> None:
    """Put the new files of a run in place that was killed when all of them were whole.

    Raises:
        ValueError, OSError: the folder that a run has left is damaged.
    """
    if os.path.lexists(_ready(target)):
        with lock_moves(target.folder):
            _finish(target)


def _ready(target: Target) -> Path:
    return target.folder / f".{target.manifest.name}.replacing"


def _finish(target: Target) -> None:
    folder, ready = target.folder, subfolder(target.folder, _ready(target).name)
    if not ready.exists():
        return
    if any(ready.iterdir()):  # else all is done
        old, new = _order_in(ready, target)
        left = [name for name in new if os.path.lexists(ready / name)]
        for name in [path.name for path in target.about_all] + old:
            if name in left or name not in new:
                (folder / name).unlink(missing_ok=True)
        flush(folder)
        for name in left:
            (ready / name).replace(folder / name)
        flush(folder)
    shutil.rmtree(ready)


def _order_in(ready: Path, target: Target) -> tuple[list[str], list[str]]:
    """Return the names of the old files and of the new ones; raise a ValueError unless they are names of the output."""
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
