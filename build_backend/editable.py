"""Contents of an editable install in the environment."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path


def keep_folders_off_the_path(wheel: Path) -> None:
    """Leave out of the .pth file of an editable wheel the folders that it would put on the path.

    These are the clone and, because `conversion` is installed inside hf_bpe, the folder above it. Whatever lies beside
    the clone could then be imported: a folder named `ray` was taken for Ray. hf_bpe needs neither folder: the finder
    that the file imports knows its modules.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = {entry.filename: (entry, archive.read(entry)) for entry in archive.infolist()}
    (pth,) = [name for name in files if name.endswith(".pth")]
    (record,) = [name for name in files if name.endswith(".dist-info/RECORD")]
    entry, content = files[pth]
    content = b"".join(line for line in content.splitlines(keepends=True) if line.startswith(b"import "))
    files[pth] = entry, content
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    entry, listed = files[record]
    lines = [line for line in listed.decode().splitlines() if not line.startswith(f"{pth},")]
    files[record] = entry, "\n".join([*lines, f"{pth},sha256={digest},{len(content)}", ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in files.values():
            archive.writestr(entry, content)
