"""What is written to object stores equals what is written locally, whatever fails and whoever is killed."""

import importlib.util
import json
import os
import signal
import threading
import time
from functools import partial
from random import Random

import pytest

from hf_bpe import BPETokenizer, Source, WordCounts, count
from hf_bpe._utils import object_stores
from hf_bpe.distributed import ArrowEncoder
from hf_bpe.token_files import merge_manifests
from support.cases import case
from support.commands import error, run
from support.fuzz.killing import forked
from support.profiles import by_profile, scaled
from support.servers.s3_server import BUCKET, s3_server
from support.token_files import END, set_limits, write_jsonl

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install fsspec")
needs_s3 = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("moto", "s3fs", "werkzeug"))),
    reason="moto or s3fs is not installed: pip install 'moto[server]' s3fs",
)
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


class Store:
    """A place on an object store.

    Attributes:
        url: of an empty folder.
        options: the storage options.
        app: the server, if there is one.
    """

    def __init__(self, url, options, app=None):
        self.url, self.options, self.app = url, options, app

    def files(self, folder):
        """Return the content of all files in a folder by their names."""
        system, path = fsspec.core.url_to_fs(f"{self.url}/{folder}", **self.options)
        system.invalidate_cache()
        return {
            name.removeprefix(path).lstrip("/"): system.cat_file(name)
            for name in system.find(path)
            if not name.endswith(".uploading")
        }

    def put(self, name, data):
        system, path = fsspec.core.url_to_fs(f"{self.url}/{name}", **self.options)
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        system.pipe_file(path, data)


@pytest.fixture(scope="module")
def server():
    with s3_server() as (app, options):
        import boto3

        client = boto3.client(
            "s3",
            endpoint_url=options["endpoint_url"],
            aws_access_key_id=options["key"],
            aws_secret_access_key=options["secret"],
            region_name="us-east-1",
        )
        client.create_bucket(Bucket=BUCKET)
        yield app, options


@pytest.fixture
def s3(server, tmp_path, monkeypatch):
    app, options = server
    app.faults = app.delay = 0.0
    yield Store(f"s3://{BUCKET}/{tmp_path.name}", options, app)
    app.faults = app.delay = 0.0


@pytest.fixture(params=["memory", pytest.param("s3", marks=needs_s3)])
def store(request, tmp_path):
    if request.param == "s3":
        return request.getfixturevalue("s3")
    return Store(f"memory://{tmp_path.name}", {})


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "abc":
        write_jsonl(folder / f"{name}.jsonl", [f"widest {name} {at} 你好\n" * (at % 7) for at in range(100)])
    return folder


def local_files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "options",
    [
        {"format": "megatron"},
        {"format": "npy"},
        {"format": "mds", "shard_tokens": 200},
        {"format": "datatrove", "shard_tokens": 500},
        {"format": "parquet", "shard": (1, 3)},
        {"format": "mds", "shard": (1, 3)},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
@pytest.mark.parametrize("has_work_dir", [False, True])
def test_files_on_a_store_are_those_of_a_local_run(tokenizer, corpus, store, tmp_path, options, has_work_dir):
    if options["format"] == "parquet":
        pytest.importorskip("pyarrow")
    name = "c.npy" if options["format"] == "npy" else "c"
    local = tokenizer.encode_files(corpus, tmp_path / "out" / name, **options)
    is_known = has_work_dir or "shard" in options  # else it looks like another run
    where = {"work_dir": tmp_path / "work" if has_work_dir else None, "storage_options": store.options}
    for is_again in (False, True):  # a run that is repeated writes the same
        written = tokenizer.encode_files(
            corpus, f"{store.url}/out/{name}", overwrite=is_again and not is_known, **where, **options
        )
        assert store.files("out") == local_files(tmp_path / "out")
    names = [path.relative_to(tmp_path / "out").as_posix() for path in local.files]
    assert [str(path) for path in written.files] == [f"{store.url}/out/{name}" for name in names]
    assert written[2:4] == local[2:4]
    assert not [*tmp_path.glob("s3*"), *tmp_path.glob("memory*")]


def test_sources_on_a_store_are_encoded_and_counted(tokenizer, corpus, store, tmp_path):
    for path in corpus.iterdir():
        store.put(f"in/{path.name}", path.read_bytes())
    local = tokenizer.encode_files(corpus, tmp_path / "c.npy")
    for name, paths in {"URL": f"{store.url}/in", "glob": f"{store.url}/in/*.jsonl"}.items():
        with case(name):
            written = tokenizer.encode_files(paths, tmp_path / "s.npy", storage_options=store.options)
            assert written.ids.read_bytes() == local.ids.read_bytes()
    source = Source(f"{store.url}/in", storage_options=store.options)
    assert count(source) == count(corpus)
    assert "testing" not in repr(source)
    assert not any(b"testing" in data for data in local_files(tmp_path).values())


def test_parts_on_a_store_are_merged_there(tokenizer, corpus, store, tmp_path):
    for format in ("megatron", "mds"):
        for index in range(3):
            for output in (tmp_path / format / "c", f"{store.url}/{format}/c"):
                tokenizer.encode_files(corpus, output, format=format, shard=(index, 3), storage_options=store.options)
        merged = merge_manifests(f"{store.url}/{format}/c", storage_options=store.options)
        local = merge_manifests(tmp_path / format / "c")
        assert store.files(format) == local_files(tmp_path / format)
        assert (merged.num_tokens, len(merged.files)) == (local.num_tokens, len(local.files))
    again = merge_manifests(f"{store.url}/megatron", storage_options=store.options)
    assert again.manifest == f"{store.url}/megatron/c.manifest.json"
    store.put("megatron/c-00001-of-00003.bin", b"")
    with pytest.raises(ValueError, match=rf"{store.url}/megatron/c-00001-of-00003\.bin has 0 bytes, expected"):
        merge_manifests(f"{store.url}/megatron", storage_options=store.options)


def test_runs_replace_only_their_own_files(tokenizer, corpus, store, tmp_path):
    output, options = f"{store.url}/out/c", {"format": "megatron", "storage_options": store.options}
    tokenizer.encode_files(corpus, output, shard_tokens=300, **options)
    with pytest.raises(FileExistsError, match=rf"{store.url}/out/c\.manifest\.json is of another run"):
        tokenizer.encode_files(corpus / "a.jsonl", output, shard_tokens=300, **options)
    tokenizer.encode_files(corpus / "a.jsonl", output, shard_tokens=300, overwrite=True, **options)
    tokenizer.encode_files(corpus / "a.jsonl", tmp_path / "out" / "c", format="megatron", shard_tokens=300)
    assert store.files("out") == local_files(tmp_path / "out")
    store.put("a.parquet", b"precious")
    source = Source(f"{store.url}/a.parquet", errors="bytes")
    with pytest.raises(ValueError, match=r"output: .*/a\.parquet is a source; choose another output"):
        tokenizer.encode_files(source, f"{store.url}/a.parquet", format="parquet", storage_options=store.options)


class Broken(fsspec.get_filesystem_class("memory")):
    """A store in memory that refuses files whose names end in `refused`."""

    protocol = "broken"
    refused = ()

    def put_file(self, lpath, rpath, **options):
        if rpath.rpartition("/")[2].split(".uploading")[0].rpartition(".")[0].endswith(self.refused):
            raise OSError("the store is full")
        super().put_file(lpath, rpath, **options)


@pytest.fixture
def broken(tmp_path, monkeypatch):
    fsspec.register_implementation("broken", Broken, clobber=True)
    monkeypatch.setattr(Broken, "refused", ())
    return Store(f"broken://{tmp_path.name}", {})


def test_manifest_is_gone_before_files_are_replaced(tokenizer, corpus, broken, monkeypatch):
    encode = {"format": "megatron", "overwrite": True}
    tokenizer.encode_files(corpus, f"{broken.url}/c", **encode)
    monkeypatch.setattr(Broken, "refused", (".idx",))
    with pytest.raises(OSError, match=r"c\.idx cannot be written: the store is full"):
        tokenizer.encode_files(corpus, f"{broken.url}/c", **encode)
    assert sorted(broken.files("")) == ["c.bin", "c.idx"]
    monkeypatch.setattr(Broken, "refused", ())
    tokenizer.encode_files(corpus, f"{broken.url}/c", **encode)
    assert sorted(broken.files("")) == ["c.bin", "c.idx", "c.manifest.json"]


def test_shards_of_an_earlier_run_go_only_with_overwrite(tokenizer, corpus, broken, tmp_path, monkeypatch):
    output, options = f"{broken.url}/c", {"format": "megatron", "shard_tokens": 100}
    tokenizer.encode_files(corpus, output, **options)
    before = broken.files("")
    for path in corpus.iterdir():
        path.write_text(path.read_text(encoding="utf-8")[:1000].rpartition("\n")[0], encoding="utf-8")
    with pytest.raises(FileExistsError, match="of another run"):
        tokenizer.encode_files(corpus, output, **options)
    assert broken.files("") == before
    tokenizer.encode_files(corpus, tmp_path / "out" / "c", **options)
    monkeypatch.setattr(Broken, "refused", ("-00001.bin",))
    with pytest.raises(OSError, match=r"c-00001\.bin cannot be written: the store is full"):
        tokenizer.encode_files(corpus, output, overwrite=True, **options)
    monkeypatch.setattr(Broken, "refused", ())
    tokenizer.encode_files(corpus, output, overwrite=True, **options)
    assert broken.files("") == local_files(tmp_path / "out")


@pytest.mark.parametrize("shard_tokens", [None, 100])
def test_files_of_other_runs_are_replaced_only_with_overwrite(tokenizer, corpus, broken, monkeypatch, shard_tokens):
    output, options = f"{broken.url}/c", {"format": "megatron", "shard_tokens": shard_tokens}
    first = "c.bin" if shard_tokens is None else "c-00000.bin"
    broken.put(first, b"precious")
    with pytest.raises(FileExistsError, match=rf"broken://.*/{first} is of another run; .*overwrite=True"):
        tokenizer.encode_files(corpus, output, **options)
    assert broken.files("") == {first: b"precious"}
    tokenizer.encode_files(corpus, output, overwrite=True, **options)
    before = broken.files("")
    path = corpus / "a.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("widest", "tsediw"), encoding="utf-8")  # of equal size
    with pytest.raises(FileExistsError, match=r"c\.manifest\.json is of another run; .*overwrite=True"):
        tokenizer.encode_files(corpus, output, **options)
    assert broken.files("") == before


@pytest.mark.parametrize("options", [{}, {"shard_tokens": 100}, {"shard": (0, 2)}], ids=str)
def test_interrupted_uploads_are_done_again(tokenizer, corpus, broken, monkeypatch, options):
    output, options = f"{broken.url}/c", {"format": "megatron", **options}
    monkeypatch.setattr(Broken, "refused", ("manifest.json",))
    with pytest.raises(OSError, match=r"manifest\.json cannot be written"):
        tokenizer.encode_files(corpus, output, **options)
    assert len(broken.files("")) >= 2
    monkeypatch.setattr(Broken, "refused", ())
    with pytest.raises(FileExistsError, match="is of another run"):
        tokenizer.encode_files(corpus, output, begin_token=END, **options)
    written = tokenizer.encode_files(corpus, output, **options)
    assert len(broken.files("")) == len(written.files) + 1
    assert not object_stores.exists(f"{written.manifest}.uploading")


@pytest.mark.parametrize("manifest", [b"{}", b"\xff"], ids=["other", "damaged"])
def test_merging_replaces_a_manifest_only_with_overwrite(tokenizer, corpus, tmp_path, manifest):
    there = Store(f"memory://{tmp_path.name}", {})
    output = f"{there.url}/c"
    tokenizer.encode_files(corpus, output, shard=(0, 1), format="megatron")
    there.put("c.manifest.json", manifest)
    with pytest.raises(FileExistsError, match=rf"{output}\.manifest\.json is of another run"):
        merge_manifests(output)
    assert there.files("")["c.manifest.json"] == manifest
    assert merge_manifests(output, overwrite=True).manifest == f"{output}.manifest.json"
    merge_manifests(output)  # of the same run
    assert json.loads(there.files("")["c.manifest.json"])["tokens"]


def test_tokenizers_and_counts_go_to_a_store_and_back(tokenizer, corpus, store, tmp_path):
    folder, options = f"{store.url}/tok", {"storage_options": store.options}
    tokenizer.save_pretrained(tmp_path / "tok")
    for _ in range(2):
        assert f"{folder}/tokenizer.json" in tokenizer.save_pretrained(folder, **options)
        assert store.files("tok") == local_files(tmp_path / "tok")
    assert BPETokenizer.convert_from(folder, **options).encode("lower 42") == tokenizer.encode("lower 42")
    store.put("tok/model.safetensors", b"large")
    assert BPETokenizer.convert_from(folder, **options).model == tokenizer.model
    with pytest.raises(FileNotFoundError, match=r"no file of a tokenizer in '.*/none': expected tokenizer.json, "):
        BPETokenizer.convert_from(f"{store.url}/none", **options)
    counts = count(corpus)
    counts.save(f"{store.url}/x.counts", **options)
    assert WordCounts.load(f"{store.url}/x.counts", **options) == counts
    with pytest.raises(FileNotFoundError, match=rf"{store.url}/none.counts cannot be read: "):
        WordCounts.load(f"{store.url}/none.counts", **options)
    with pytest.raises(ValueError, match="push_to_hub: expected False with a URL"):
        tokenizer.save_pretrained(folder, push_to_hub=True, **options)


def test_only_files_of_a_tokenizer_are_downloaded(tokenizer, tmp_path, monkeypatch):
    url = f"memory://{tmp_path.name}"
    tokenizer.chat_template = {"default": "{{ messages }}", "tools": "{{ tools }}"}
    system = fsspec.filesystem("memory")
    written = tokenizer.save_pretrained(url)
    for name in ("corpus.json", "train.txt", "other.model", "data/tokenizer.json", "data/tools.jinja", "a/b.tiktoken"):
        system.pipe(f"{url}/{name}", b"no file of this tokenizer")
    downloaded, download = [], object_stores.download
    monkeypatch.setattr(object_stores, "download", lambda *given: [downloaded.append(given[1]), download(*given)])
    loaded = BPETokenizer.convert_from(url)
    assert loaded.chat_template == tokenizer.chat_template
    assert sorted(downloaded) == sorted(written)


def test_work_folders_are_local(tokenizer, corpus):
    for work in (partial(count, corpus), partial(tokenizer.encode_files, corpus, "c.npy")):
        with pytest.raises(ValueError, match="work_dir: expected a local path, got the URL 'memory://b/work'"):
            work(work_dir="memory://b/work")


def test_commands_write_to_stores(tokenizer, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer.save_pretrained("tok")
    there = Store(f"memory://{tmp_path.name}", {})
    for shards, name in (((), "d.bin"), (("--shard-tokens", "100"), "d-00000.bin")):
        there.put(f"{len(shards)}/{name}", b"precious")
        output = f"{there.url}/{len(shards)}/d"
        arguments = ["encode-files", "tok", "in", "-o", output, "--format", "megatron", *shards]
        assert "is of another run" in error(*arguments)
        assert [*there.files(str(len(shards))).values()] == [b"precious"]
        run(*arguments, "--force")
        assert "d.manifest.json already exists; give --force" in error(*arguments)
    run("encode-files", "tok", "in", "-o", f"{there.url}/out/c", "--format", "megatron", "--shard", "0/1")
    printed = json.loads(run("encode-files", "--merge", f"{there.url}/out", "--json").stdout)
    assert printed["manifest"] == f"{there.url}/out/c.manifest.json"
    run("count", "in", "-o", f"{there.url}/x.counts", "--work-dir", "work")
    assert "already exists; give --force" in error("count", "in", "-o", f"{there.url}/x.counts")
    assert WordCounts.load(f"{there.url}/x.counts") == count(corpus)


def test_errors_name_the_place_and_the_cause(tokenizer, corpus, broken, monkeypatch):
    monkeypatch.setattr(Broken, "refused", ("",))
    with pytest.raises(OSError, match=r"/c\.manifest\.json\.uploading cannot be written: the store is full"):
        tokenizer.encode_files(corpus, f"{broken.url}/c", format="megatron")
    for output, message in (
        ("simplecache::s3://b/c.npy", "output: expected a path or a plain URL"),
        ("memory://bucket/c", r"^output: expected a name that ends in \.npy, got 'c'$"),  # not of a local folder
    ):
        with pytest.raises(ValueError, match=message):
            tokenizer.encode_files(corpus, output, format="npy")


def test_store_that_does_not_answer_is_not_taken_for_empty(monkeypatch):
    class Down(fsspec.get_filesystem_class("memory")):
        protocol = "down"
        isfile = fsspec.AbstractFileSystem.isfile

        def info(self, *_, **__):
            raise OSError("no answer")

    fsspec.register_implementation("down", Down, clobber=True)
    with pytest.raises(OSError, match=r"down://b/c cannot be read: no answer"):
        object_stores.exists("down://b/c")
    assert not object_stores.exists("memory://none/c")


def test_first_error_ends_a_transfer(tmp_path):
    begun = []

    def move(file, url, options):
        begun.append(url)
        time.sleep(0.02)
        raise OSError("no answer")

    with pytest.raises(OSError, match="no answer"):
        object_stores.transfer(move, [(tmp_path, f"memory://{number}") for number in range(100)], None)
    assert len(begun) < 50


@needs_s3
def test_missing_buckets_are_named(tokenizer, corpus, s3):
    message = r"s3://no-bucket/c\.manifest\.json\.uploading cannot be written: .*bucket.*credentials"
    with pytest.raises(FileNotFoundError, match=message):
        tokenizer.encode_files(corpus, "s3://no-bucket/c", format="megatron", storage_options=s3.options)
    with pytest.raises(OSError, match=r"s3://b/c\.manifest\.json cannot be read: .*unexpected keyword .*'no_such'"):
        tokenizer.encode_files(corpus, "s3://b/c", format="megatron", storage_options={"no_such": 1})


def test_arrow_encoders_load_from_a_store(tokenizer, tmp_path):
    pa = pytest.importorskip("pyarrow")
    tokenizer.save_pretrained(f"memory://{tmp_path.name}/tok")
    encoded = ArrowEncoder(f"memory://{tmp_path.name}/tok")(pa.table({"text": ["lower"]}))
    assert encoded["input_ids"].to_pylist() == tokenizer.encode_to_lists(["lower"])


@needs_s3
def test_errors_and_slow_answers_change_nothing(tokenizer, corpus, s3, tmp_path, monkeypatch):
    """Let a fifth of all requests fail, half of these after they had their effect."""
    local = tokenizer.encode_files(corpus, tmp_path / "out" / "c", format="megatron", shard_tokens=500)
    s3.app.faults, s3.app.delay = 0.2, 0.02
    options = {"format": "megatron", "shard_tokens": 500, "storage_options": s3.options}
    tokenizer.encode_files(corpus, f"{s3.url}/out/c", work_dir=tmp_path / "work", **options)
    tokenizer.save_pretrained(f"{s3.url}/tok", storage_options=s3.options)
    s3.app.faults = s3.app.delay = 0.0
    assert s3.files("out") == local_files(tmp_path / "out")
    loaded = BPETokenizer.convert_from(f"{s3.url}/tok", storage_options=s3.options)
    assert loaded.encode("low") == tokenizer.encode("low")
    assert local.num_tokens > 500


@needs_s3
def test_large_files_are_uploaded_in_parts(s3, tmp_path):
    import s3fs

    data = os.urandom(1 << 20) * 12
    (tmp_path / "large").write_bytes(data)
    system = s3fs.S3FileSystem(**s3.options, skip_instance_cache=True)
    put = system.put_file
    # Parts of 5 MiB, the smallest that S3 takes; s3fs chooses 50 MiB and more.
    system.put_file = lambda local, remote: put(local, remote, chunksize=5 << 20)
    patched = pytest.MonkeyPatch()
    patched.setattr(object_stores, "file_system", lambda url, options=None: (system, system._strip_protocol(url)))
    try:
        s3.app.calls.clear()
        object_stores.upload(tmp_path / "large", f"{s3.url}/large", s3.options)
    finally:
        patched.undo()
    assert sum(method == "PUT" for method, _ in s3.app.calls) == 3
    assert s3.files("")["large"] == data


@scaled
@needs_s3
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_parts_run_again_on_other_machines(tokenizer, corpus, s3, tmp_path, monkeypatch):
    """Kill a run again and again at random times, with nothing left but the store, until it survives."""
    options = {"format": "megatron", "shard_tokens": 400, "shard": (0, 1)}
    whole = tokenizer.encode_files(corpus, tmp_path / "whole" / "c", **options)
    set_limits(monkeypatch, unit_bytes=1, piece_ids=100, block_bytes=200)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    options |= {"num_workers": 1, "storage_options": s3.options}
    s3.app.faults, s3.app.delay = 0.03, 0.005
    random, kills, wanted = Random(0), 0, by_profile(quick=4, thorough=20)

    def encode():
        tokenizer.encode_files(corpus, f"{s3.url}/out/c", **options)

    while kills < wanted:
        delay = random.uniform(0.1, 2.5)

        def encode_and_be_killed(delay=delay):
            def kill():
                time.sleep(delay)
                os.kill(os.getpid(), signal.SIGKILL)

            threading.Thread(target=kill, daemon=True).start()
            encode()
            time.sleep(60)  # it is killed all the same

        assert forked(encode_and_be_killed) == -signal.SIGKILL
        kills += 1
        there = s3.files("out")
        if "c-00000-of-00001.manifest.json" in there:  # it is written last
            assert there == local_files(tmp_path / "whole")
    assert forked(encode) == 0
    s3.app.faults = s3.app.delay = 0.0
    assert s3.files("out") == local_files(tmp_path / "whole")
    assert len(whole.files) > 4
