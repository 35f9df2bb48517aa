"""Long texts for `encoding`, made from Debian's documentation and sources: `python -m benchmarks corpora FOLDER`.

Needs apt-get and dpkg-deb. The packages are those of the Debian release of the machine, so the texts differ between
releases; the results of a benchmark have their SHA-256.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import lzma
import random
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.job import SEPARATOR

_HELP = "libreoffice-help-{}"
PACKAGES = {
    "english": [
        *("linux-doc-6.1", "sagemath-doc", "erlang-doc", "python3.11-doc", "perl-doc", "openjdk-17-doc", "llvm-14-doc"),
        *("libboost1.81-doc", "qtbase5-doc-html", "python-pandas-doc", "python-scipy-doc", "postgresql-doc-15"),
        *("ghc-doc", "debian-handbook", "debian-policy", "git-doc", "octave-doc", _HELP.format("en-us")),
    ],
    "code": ["linux-source-6.1", "golang-1.19-src"],
    "multilingual": [
        *(_HELP.format(code) for code in ("de", "fr", "es", "it", "pt", "pt-br", "nl", "pl", "cs", "sk", "sl", "hu")),
        *(
            _HELP.format(code)
            for code in ("da", "sv", "fi", "et", "tr", "vi", "id", "ca", "eu", "gl", "ru", "el", "ja")
        ),
        *("manpages-de", "manpages-fr", "manpages-es", "manpages-pl", "installation-guide-amd64", "gnome-user-docs"),
    ],
    "nonlatin": [
        *(_HELP.format(code) for code in ("ru", "el", "hi", "ja", "ko", "zh-cn", "zh-tw", "km", "dz")),
        *("gimp-help-ja", "gimp-help-ko", "gimp-help-ru", "kicad-doc-ja", "kicad-doc-zh", "debian-reference-ja"),
        *("manpages-ru", "manpages-uk", "manpages-ja", "aptitude-doc-ja", "aptitude-doc-ru"),
    ],
    "latex": ["texlive-humanities-doc", "texlive-science-doc"],
}
"""Kind of text → packages."""

_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
_BLANK = re.compile(r"\s*\n\s*\n\s*")
_MARKED_UP = (".html", ".htm", ".xhtml", ".xhp", ".page", ".xml")
_CODE = (".c", ".h", ".go", ".py", ".S", ".rs", ".sh", ".s")
_MIN_BYTES, _MAX_BYTES = 500, 1 << 22  # bytes of a document


def make(kind: str, path: Path, size: int) -> int:
    """Write about `size` bytes of a kind of text, if there is so much, and return how many documents it has."""
    packages, seen = PACKAGES[kind], set[bytes]()
    share = 2 * size // len(packages) + 1  # so that no package rules, although most have less
    documents = []
    for package in packages:
        left = size if kind == "code" else share
        for document in _documents(package, kind):
            digest = hashlib.blake2b(document.encode(), digest_size=8).digest()
            if digest not in seen:
                seen.add(digest)
                documents.append(document)
                left -= len(document.encode())
            if left <= 0:
                break
    random.Random(0).shuffle(documents)
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, document in enumerate(documents):
            if file.tell() >= size:
                return number
            file.write(document + SEPARATOR)
    return len(documents)


def _documents(package: str, kind: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if subprocess.run(["apt-get", "download", package], cwd=folder, capture_output=True, check=False).returncode:
            print(f"{package}: not in this release", file=sys.stderr)
            return
        [archive] = folder.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, folder / "files"], check=True)
        paths = sorted(path for path in (folder / "files").rglob("*") if path.is_file() and not path.is_symlink())
        random.Random(0).shuffle(paths)
        for path in paths:
            if path.suffixes[-2:] in ([".tar", ".xz"], [".tar", ".gz"]):
                yield from _in_archive(path)
            elif _is_of_kind(path, kind) and path.stat().st_size <= _MAX_BYTES:
                document = _text(path.name, path.read_bytes())
                if document is not None:
                    yield document


def _is_of_kind(path: Path, kind: str) -> bool:
    if kind == "latex":
        return ".tex" in path.suffixes
    return (path.suffix in _CODE) == (kind == "code")


def _in_archive(path: Path) -> Iterator[str]:
    with tarfile.open(path) as archive:
        for member in archive:
            # One file in six, so that the text is not all of one part of a large source.
            drawn = hashlib.blake2b(member.name.encode(), digest_size=1).digest()[0] % 6 == 0
            if drawn and member.isfile() and member.size <= _MAX_BYTES and member.name.endswith(_CODE):
                opened = archive.extractfile(member)
                document = _text(member.name, opened.read()) if opened is not None else None
                if document is not None:
                    yield document


def _text(name: str, data: bytes) -> str | None:
    """Return the text of a file, without tags; None if it is none, or too short."""
    try:
        if name.endswith(".gz"):
            name, data = name[:-3], gzip.decompress(data)
        if name.endswith(".xz"):
            name, data = name[:-3], lzma.decompress(data)
        text = data.decode()
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError):
        return None
    if name.endswith((".svg", ".js", ".css", ".json", ".po")) or "\0" in text or SEPARATOR in text:
        return None
    if name.endswith(_MARKED_UP):
        text = _BLANK.sub("\n\n", html.unescape(_TAGS.sub("", text)))
    text = text.strip()
    return text if len(text) >= _MIN_BYTES else None


def main(given: Sequence[str] | None = None) -> None:
    """Run as the module's description says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks corpora", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=list(PACKAGES), default=list(PACKAGES), metavar="KIND")
    parser.add_argument("--size", type=int, default=120_000_000, help="bytes of each text (default 120,000,000)")
    options = parser.parse_args(given)
    options.folder.mkdir(parents=True, exist_ok=True)
    for kind in options.kinds:
        path = options.folder / f"{kind}.txt"
        number = make(kind, path, options.size)
        print(f"{path}: {path.stat().st_size:,} bytes, {number:,} documents")
