import os
import random
import signal

import pytest

from hf_bpe import Source, count, distributed, plan
from hf_bpe.distributed import _ray

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hf_bpe[ray]'")

# Ray leaves files and sockets open, of which Python warns when it collects them, whatever test is running then.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

SETTINGS = {"pattern": "cl100k", "special_tokens": ["<|endoftext|>"]}


@pytest.fixture(scope="module")
def cluster():
    """A cluster of this machine, as `ray.init` makes one."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    generator = random.Random(0)
    for number in range(30):
        documents = [" ".join(f"word{generator.randrange(9999)}" for _ in range(500)) for _ in range(40)]
        (folder / f"{number:02}.txt").write_text("<|endoftext|>".join(documents))
    return folder


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("shard_bytes", "fan_in"), [(50_000, 2), (200_000, 3), (1 << 28, 8)])
def test_a_cluster_gives_the_same_counts(corpus, shard_bytes, fan_in):
    events = []
    options = {"shard_bytes": shard_bytes, "fan_in": fan_in, "callback": events.append}
    counts = distributed.count(corpus, **options, **SETTINGS)
    assert counts == count(corpus, **SETTINGS)
    assert counts.sources == count(corpus, **SETTINGS).sources
    assert events[-1].done == events[-1].total == sum(path.stat().st_size for path in corpus.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="kills a process")
@pytest.mark.usefixtures("cluster")
def test_a_lost_worker_changes_nothing(corpus, tmp_path, monkeypatch):
    count_shards, killed = _ray._count, tmp_path / "killed"

    def count_or_die(shards, settings, max_memory):
        result = count_shards(shards, settings, max_memory)
        if any("07.txt" in shard.name for shard in shards) and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    monkeypatch.setattr(_ray, "_count", count_or_die)
    source = Source(corpus, weight="0.7")
    counts = distributed.count(source, shard_bytes=50_000, **SETTINGS)
    assert killed.exists()
    assert counts == count(source, **SETTINGS)


@pytest.mark.usefixtures("cluster")
def test_errors_of_files_are_reported(tmp_path):
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(ray.exceptions.RayTaskError, match=r"bad\.jsonl: line 1: expected a JSON object with a string"):
        distributed.count(tmp_path, **SETTINGS)


@pytest.mark.usefixtures("cluster")
def test_shards_of_a_plan_are_counted(corpus):
    assert distributed.count(plan(corpus)[:1], **SETTINGS) == count(corpus / "00.txt", **SETTINGS)


def test_iterables_are_refused():
    with pytest.raises(TypeError, match="iterable 0 is not a file; other machines can read only files"):
        distributed.count(["low"], **SETTINGS)
    with pytest.raises(ValueError, match="fan_in: expected at least 2, got 1"):
        distributed.count(["low"], fan_in=1, **SETTINGS)
