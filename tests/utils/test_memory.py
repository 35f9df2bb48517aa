"""The memory that is left is what the system and the control group of a container leave."""

import sys
from pathlib import Path

import pytest

from hf_bpe._utils import memory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere it is not known")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a file of the system; others are not there."""
    monkeypatch.setattr(memory, "Path", lambda path: tmp_path / Path(path).relative_to("/"))

    def write(path, text):
        file = tmp_path / Path(path).relative_to("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write("/proc/meminfo", "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n")
    return write


def write_group(write, limit, used, cached):
    write("/sys/fs/cgroup/memory.stat", f"anon 7\ninactive_file {cached}\n")
    write("/sys/fs/cgroup/memory.current", f"{used}\n")
    write("/sys/fs/cgroup/memory.max", f"{limit}\n")


@pytest.mark.parametrize(
    ("limit", "used", "cached", "expected"),
    [
        (500_000, 200_000, 0, 300_000),
        (500_000, 200_000, 50_000, 350_000),  # files in the cache give way
        (500_000, 600_000, 0, 0),
        (9_000_000, 200_000, 0, 1_024_000),
        ("max", 200_000, 0, 1_024_000),
    ],
)
def test_memory_is_left_by_the_group_and_the_system(write, limit, used, cached, expected):
    assert memory.available_bytes() == 1_024_000  # without a group
    write_group(write, limit, used, cached)
    assert memory.available_bytes() == expected


def test_memory_is_unknown_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory.available_bytes() is None


def test_memory_is_unknown_where_proc_is_not_mounted(tmp_path, monkeypatch):
    resident = memory.resident_bytes()
    monkeypatch.setattr(memory, "Path", lambda path: tmp_path / Path(path).relative_to("/"))
    assert memory.available_bytes() is None
    assert memory.resident_bytes() > resident / 2
