"""The same corpus through every engine gives the same files and manifests, whoever is killed, locally and on S3."""

import importlib.util
import json
import os
import signal
import sys
import threading
import time
from random import Random

import pytest

from hf_bpe import BPETokenizer
from hf_bpe.distributed import _parts
from hf_bpe.token_files import merge_manifests
from support.killing import forked
from support.s3_server import BUCKET, s3_server

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]

END = "<|endoftext|>"
PARTS = 7
KILLS = 3  # of each part
FORMAT = "datatrove"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a tokenizer, and a corpus of one file a part, all of the same size."""
    folder = tmp_path_factory.mktemp("files")
    BPETokenizer.train(["low lower widest newest 12345 你好"], num_merges=15, special_tokens=[END]).save_pretrained(
        folder / "tok"
    )
    (folder / "in").mkdir()
    random = Random(0)
    for name in range(PARTS):
        lines = [
            json.dumps(
                {"text": " ".join(random.choices(["low", "widest", "你好", "1\n2", END], k=random.randrange(1, 40)))}
            )
            for _ in range(300)
        ]
        data = "\n".join(lines).encode() + b"\n"
        assert len(data) < 100_000
        (folder / "in" / f"{name}.jsonl").write_bytes(data.ljust(100_000, b"\n"))
    return folder


@pytest.fixture(scope="module")
def whole(files):
    """What one process writes."""
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    return tokenizer.encode_files(files / "in", files / "whole" / "c", format=FORMAT, num_workers=1)


def parts_in(folder):
    """Return the content of the files of ids and of their indices, by their names."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("c-*")) if path.suffix != ".json"}


def manifest(path, *without):
    content = json.loads(path.read_text("utf-8"))
    return {name: value for name, value in content.items() if name not in without}


def in_shards(files, output, parts=None):
    parts = parts or parts_of(files, output)
    for number in range(PARTS):
        parts.encode(number)
    return parts.merge()


def parts_of(files, output, kind=_parts.Parts, **options):
    given = {"format": FORMAT, "num_workers": 1, **options}
    return kind.checked(files / "tok", files / "in", output, PARTS, f"{output}.work", given)


def on_ray(files, output, parts=None):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hf_bpe[ray]'")
    from hf_bpe.distributed import ray as engine

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        with pytest.MonkeyPatch.context() as patch:
            given = parts or parts_of(files, output)
            patch.setattr(engine.Parts, "checked", lambda *_: given)
            return engine.encode_files("", "", "", parts=PARTS, max_retries=2 * KILLS)
    finally:
        ray.shutdown()


def on_spark(files, output, parts=None):
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'hf_bpe[spark]', and a Java runtime")
    from pyspark.sql import SparkSession

    from hf_bpe.distributed import spark as engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master(f"local[2,{3 * KILLS}]").config("spark.ui.enabled", "false")
        session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            given = parts or parts_of(files, output)
            patch.setattr(engine.Parts, "checked", lambda *_: given)
            return engine.encode_files(session, "", "", "", parts=PARTS)
        finally:
            session.stop()


def on_datatrove(files, output):
    pytest.importorskip("datatrove", reason="datatrove is not installed: pip install 'hf_bpe[datatrove]'")
    pytest.importorskip("orjson", reason="orjson is not installed: pip install 'hf_bpe[datatrove]'")
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader

    from hf_bpe.distributed.datatrove import DocumentTokenizer, DocumentTokenizerMerger

    steps = [
        JsonlReader(str(files / "in")),
        DocumentTokenizer(files / "tok", output, format=FORMAT),
    ]
    logs = output.with_name("logs")
    LocalPipelineExecutor(steps, tasks=PARTS, workers=2, logging_dir=str(logs / "a")).run()
    LocalPipelineExecutor([DocumentTokenizerMerger(output)], logging_dir=str(logs / "b")).run()
    return merge_manifests(output)


ENGINES = {"shards": in_shards, "Ray": on_ray, "Spark": on_spark, "datatrove": on_datatrove}


def test_two_workers_write_the_same_as_one(files, whole, tmp_path):
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    two = tokenizer.encode_files(files / "in", tmp_path / "c", format=FORMAT, num_workers=2)
    for ours, theirs in zip((*two.files, two.manifest), (*whole.files, whole.manifest), strict=True):
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_engine_writes_what_one_process_writes(files, whole, tmp_path, engine):
    in_shards(files, tmp_path / "shards" / "c")
    merged = engine(files, tmp_path / "out" / "c")
    assert parts_in(tmp_path / "out") == parts_in(tmp_path / "shards")
    ids = b"".join(path.read_bytes() for path in merged.files if path.suffix == ".ds")
    assert ids == whole.ids.read_bytes()
    unknown = ("sources",) if engine is on_datatrove else ()  # it reads them
    there, expected = tmp_path / "out" / "c.manifest.json", tmp_path / "shards" / "c.manifest.json"
    assert manifest(there, *unknown) == manifest(expected, *unknown)
    assert manifest(there, "shards", *unknown) == manifest(whole.manifest, "shards", *unknown)


class Folder:
    """Where files are written: a local folder, or one on a server of S3 that often fails or answers late.

    Attributes:
        output: for the corpus `c`.
        options: those of `encode_files`.
        seconds: about as long as a part takes.
    """

    def __init__(self, path, options=None):
        self.path, self.output, self.options = path, f"{path}/out/c", options or {}
        self.seconds = 4 if options else 1.5

    def files(self):
        """Return the content of all files but those of runs, by their names."""
        import fsspec

        system, root = fsspec.core.url_to_fs(f"{self.path}/out", **self.options.get("storage_options", {}))
        names = [name for name in system.find(root) if not name.startswith(f"{root}/c.work/")]
        return {name.removeprefix(f"{root}/"): system.cat_file(name) for name in names}


@pytest.fixture(params=["local", "S3"])
def place(request, tmp_path):
    if request.param == "local":
        yield Folder(tmp_path)
        return
    if not all(map(importlib.util.find_spec, ("moto", "s3fs", "werkzeug"))):
        pytest.skip("moto or s3fs is not installed: pip install 'moto[server]' s3fs")
    import s3fs

    with s3_server() as (app, storage_options):
        s3fs.S3FileSystem(**storage_options, skip_instance_cache=True).makedirs(BUCKET, exist_ok=True)
        app.faults, app.delay = 0.03, 0.02
        yield Folder(f"s3://{BUCKET}/{tmp_path.name}", {"storage_options": storage_options})
        assert len(app.calls) > 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes")
@pytest.mark.parametrize("engine", [in_shards, on_ray, on_spark], ids=["shards", "Ray", "Spark"])
def test_workers_killed_at_random_change_nothing(files, whole, tmp_path, place, engine):
    """Kill the worker of each part three times, at a random time after it has begun: 21 kills."""

    seconds = place.seconds  # workers cannot unpickle `place`

    class Killing(_parts.Parts):
        def encode(self, part):
            marks = [tmp_path / f"killed-{part}-{number}" for number in range(KILLS)]
            mark = next((mark for mark in marks if not mark.exists()), None)
            if mark is not None:
                mark.touch()
                delay = Random(mark.name).uniform(0, seconds)

                def kill():
                    time.sleep(delay)
                    os.kill(os.getpid(), signal.SIGKILL)

                threading.Thread(target=kill, daemon=True).start()
            _parts.Parts.encode(self, part)
            if mark is not None:
                time.sleep(10)  # it is killed, if not before then now

    class Forking(Killing):
        def encode(self, part):
            while forked(lambda: Killing.encode(self, part)) != 0:
                pass

    kind = Forking if engine is in_shards else Killing
    engine(files, place.output, parts_of(files, place.output, kind, **place.options))
    assert len([*tmp_path.glob("killed-*")]) == PARTS * KILLS
    in_shards(files, tmp_path / "shards" / "c")
    expected = {path.name: path.read_bytes() for path in (tmp_path / "shards").glob("c*") if path.is_file()}
    there = place.files()
    assert there == expected
    assert b"".join(there[name] for name in sorted(there) if name.endswith(".ds")) == whole.ids.read_bytes()
