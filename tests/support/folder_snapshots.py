"""Everything in a folder, to be compared before and after a call that must change nothing."""

import stat


def snapshot(folder):
    """Return path → content, target of a link, or kind, for all that is in a folder; links are not followed."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            content = "link", str(path.readlink())
        elif stat.S_ISREG(mode):
            content = "file", path.read_bytes()
        else:
            content = "other", stat.S_IFMT(mode)
        contents[path.relative_to(folder).as_posix()] = content
    return contents
