"""Write where a release is into pyproject.toml, README.md and CITATION.cff, for wheels.yml; not to be committed.

    python tools/prepare_release.py https://host/owner/hf_bpe v0.1.0

Where the repository is becomes the URLs of the project, and the links of README absolute: it is the long description,
which is read elsewhere. Any name of a commit does in place of the tag; a tag must be that of the version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACEHOLDER = "# [project.urls]: tools/prepare_release.py\n"
PICTURES = (".png", ".svg")


def main(url: str, ref: str) -> None:
    """Prepare the files of this clone for a release from a repository."""
    version = re.search(r'__version__ = "(.*)"', read("hf_bpe/_version.py"))[1]
    if re.fullmatch(r"v\d.*", ref) and ref != f"v{version}":
        sys.exit(f"the tag is {ref}, and hf_bpe/_version.py has {version}: expected v{version}")
    section = re.search(rf"^## {version} \((.*)\)$", read("CHANGELOG.md"), re.MULTILINE)
    if section is None or (ref == f"v{version}" and section[1] == "unreleased"):
        sys.exit(f"CHANGELOG.md has no section with a date for {version}: write the section, or its date")
    citation = read("CITATION.cff")
    if ref == f"v{version}" and f"version: {version}\ndate-released: {section[1]}\n" not in citation:
        sys.exit(f"CITATION.cff is not of {version} and {section[1]}, the date in CHANGELOG.md")
    write("pyproject.toml", replaced(read("pyproject.toml"), PLACEHOLDER, project_urls(url, ref)))
    write("README.md", absolute_links(read("README.md"), url, ref))
    write("CITATION.cff", f'{citation}repository-code: "{url}"\n')


def project_urls(url: str, ref: str) -> str:
    """Return the table of pyproject.toml, under the labels that indexes know."""
    pages = {
        "Homepage": url,
        "Documentation": f"{url}/tree/{ref}/docs",
        "Source": url,
        "Issues": f"{url}/issues",
        "Changelog": f"{url}/blob/{ref}/CHANGELOG.md",
    }
    return "".join(["[project.urls]\n", *(f'{label} = "{page}"\n' for label, page in pages.items())])


def absolute_links(page: str, url: str, ref: str) -> str:
    """Return a page of the root folder whose links to files lead into the repository, as it was at a commit."""

    def absolute(link: re.Match[str]) -> str:
        target = link[1]
        if "://" in target or target.startswith("#"):
            return link[0]
        kind = "raw" if target.endswith(PICTURES) else "tree" if (ROOT / target).is_dir() else "blob"
        return f"]({url}/{kind}/{ref}/{target})"

    return re.sub(r"\]\(([^)\s]+)\)", absolute, page)


def replaced(text: str, old: str, new: str) -> str:
    """Return a text in which something that is there once is replaced."""
    if text.count(old) != 1:
        sys.exit(f"expected {old!r} once, got it {text.count(old)} times: is this clone prepared already?")
    return text.replace(old, new)


def read(name: str) -> str:
    """Return the text of a file of this clone."""
    return (ROOT / name).read_text("utf-8")


def write(name: str, text: str) -> None:
    """Replace the text of a file of this clone."""
    (ROOT / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
