"""Repositories in the local cache of the Hub."""

from pathlib import Path


def add_to_cache(folder: Path, cache: Path) -> Path:
    """Add a folder to a cache as the repository `me/it`, with links to its files; return its snapshot."""
    repository = cache / "models--me--it"
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    for path in folder.iterdir():
        if path.is_file():
            (snapshot / path.name).symlink_to(path)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    return snapshot
