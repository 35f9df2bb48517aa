#!/usr/bin/env python3
"""Keep what a commit writes, and compare it with what the installed hf_bpe writes and reads.

    python tools/past.py keep /srv/past a11ae29    # a wheel of the commit, an environment with it, and its files
    python tools/past.py compare /srv/past         # with the hf_bpe that this Python has
    python tools/past.py write /srv/files          # the files alone, with the hf_bpe that this Python has

HF_BPE_TEST_DATA names the test data. `files/` of the kept folder has saved folders, counts, work folders to resume
from, token files of each format, remaps and converted files; `said.json` has what the commit's hf_bpe said of them:
signatures, sizes, and digests of ids, offsets and text.

`compare` writes all again and lists the files whose bytes differ or that only one side has; loads each kept file, and
lists those of which something else is said; resumes the kept work folders; and lets the commit's hf_bpe load what was
written now. It ends with 1 if anything differs.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

END = "<|endoftext|>"
TEXTS = ("english", "code", "multilingual", "nonlatin", "docs")
TEXT_BYTES = 200_000
FORMATS = ("npy", "megatron", "datatrove", "nanogpt", "llm.c", "mds", "parquet", "arrow")  # of token files
CONVERTED = {"gpt2": "gpt2", "text": "text", "x.json": None, "x.tiktoken": None, "x.gguf": None}  # path → format
PLACE = Path(tempfile.gettempdir(), "hf_bpe_past")  # where all is written, for manifests name the corpus by its path
KILLED_AFTER = {"counting": 3, "training": 9, "encoding": 14}
"""Work folder → the flush to disk at which the process that writes it ends."""


def keep(folder: Path, commit: str) -> None:
    """Build the commit's wheel, install it in an environment of its own, and let it write."""
    folder.mkdir(parents=True)
    source, environment = folder / "source", folder / "environment"
    source.mkdir()
    archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source)
    run(sys.executable, "-m", "venv", environment)
    (wheel,) = folder.glob("*.whl")
    run(environment / "bin" / "pip", "install", "--quiet", f"{wheel}[gguf,parquet]", "tiktoken", "jinja2")
    run(environment / "bin" / "python", Path(__file__).resolve(), "write", folder / "files")


def write(folder: Path) -> None:
    """Write files of each kind, and `said.json`."""
    PLACE.mkdir()
    os.chdir(PLACE)
    write_corpus()
    write_folders()
    write_counts()
    write_edits()
    write_token_files()
    write_converted()
    for kind in KILLED_AFTER:
        subprocess.run([sys.executable, Path(__file__).resolve(), "start", kind], check=True)
    for lock in Path("work").rglob("lock"):
        lock.unlink()
    Path("said.json").write_text(json.dumps(describe(Path()), indent=1) + "\n", encoding="utf-8")
    shutil.move(PLACE, folder)


def data() -> Path:
    """Return the folder of the test data."""
    return Path(os.environ["HF_BPE_TEST_DATA"])


def sample(name: str, end: int = TEXT_BYTES) -> str:
    """Return the beginning of one of the texts."""
    with (data() / "text" / f"{name}.txt").open("rb") as file:
        return file.read(end).decode("utf-8", "ignore")


def write_corpus() -> None:
    """Write records of text, which all that follows is made of."""
    Path("corpus").mkdir()
    for name in TEXTS:
        rows = [json.dumps({"text": each, "from": name}) + "\n" for each in sample(name).split("\n\n")]
        Path("corpus", f"{name}.jsonl").write_text("".join(rows), encoding="utf-8", newline="")


CORPUS = [f"corpus/{name}.jsonl" for name in TEXTS]


def write_folders() -> None:
    """Save tokenizers of each kind that is trained, and each of the real files."""
    from tokenizers import AddedToken

    from hf_bpe import BPETokenizer
    from hf_bpe.pretokenizers import Metaspace
    from hf_bpe.training import Parity, Superwords

    chain = [
        {"type": "Punctuation", "behavior": "MergedWithPrevious"},
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ]
    words = r"\p{L}+|\p{N}{1,2}|[^\p{L}\p{N}]+"
    sizes = {"vocab_size": 3000, "special_tokens": [END, "<pad>"]}
    trained = {
        "plain": {"pad_token": "<pad>", "eos_token": END, **sizes},
        "llama3": {"pattern": "llama3", "bos_token": END, "add_bos_token": True, "min_frequency": 3, **sizes},
        "huggingface": {"pattern": "cl100k", "tie_break": "huggingface", "normalizer": "NFKC", **sizes},
        "expression": {"pattern": words, "max_token_bytes": 4, "length_penalty": 0.5, **sizes},
        "chain": {"pattern": {"type": "Sequence", "pretokenizers": chain}, "trim_offsets": True, **sizes},
        "observed": {"pattern": None, "initial_alphabet": "observed", "num_merges": 50,
                     "special_tokens": ["<unk>"], "unk_token": "<unk>"},
        "superwords": {"superwords": Superwords(after=1500, max_words=3), **sizes},
        "characters": {"pattern": Metaspace(), "unk_token": "<unk>", "vocab_size": 5000, "special_tokens": ["<unk>"]},
    }  # fmt: skip
    for name, options in trained.items():
        tokenizer = BPETokenizer.train([*CORPUS[:1]] if name == "observed" else CORPUS, **options)
        if name == "plain":
            tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}<|endoftext|>{% endfor %}"
            tokenizer.save_pretrained("folders/portable", portable=True)
        if name == "llama3":
            tokenizer.add_tokens([AddedToken("<|a|>", lstrip=True, rstrip=True, normalized=False), "lowest"])
            tokenizer.add_special_tokens({"mask_token": AddedToken("<mask>", lstrip=True)})
        tokenizer.save_pretrained(Path("folders", name))
    languages = {name: CORPUS[number] for number, name in enumerate(TEXTS[2:4], 2)}
    parity = BPETokenizer.train(languages, parity=Parity(), vocab_size=2000)
    parity.save_pretrained("folders/parity")
    for folder in sorted(path for path in (data() / "tokenizers").iterdir() if path.is_dir()):
        BPETokenizer.from_pretrained(folder).save_pretrained(Path("real", folder.name))


def write_counts() -> None:
    """Write counts files, one of them weighted."""
    from hf_bpe import Source, count

    Path("counts").mkdir()
    count(CORPUS[:2], special_tokens=[END]).save("counts/plain.counts")
    count([Source(CORPUS[2], weight="0.25"), Source(CORPUS[3])], pattern="qwen2").save("counts/weighted.counts")


def write_edits() -> None:
    """Write remaps, and the edited tokenizers."""
    from hf_bpe import WordCounts, editing

    model, counts = load(Path("folders/plain")).model, WordCounts.load("counts/plain.counts")
    Path("remaps").mkdir()
    edited = {
        "extended": editing.extend(model, CORPUS[2:3], 100),
        "pruned": editing.prune(model, counts=counts, vocab_size=2000),
    }
    for name, (model, remap) in edited.items():
        remap.save(f"remaps/{name}.json")
        load(model).save_pretrained(Path("folders", name))


def write_token_files() -> None:
    """Write token files of each format, and packed ones."""
    tokenizer = load(Path("folders/plain"))
    for name in FORMATS:
        Path("token_files").mkdir(exist_ok=True)
        output = Path("token_files", name, *([] if name == "mds" else ["tokens.npy" if name == "npy" else "tokens"]))
        output.parent.mkdir(exist_ok=True)
        tokenizer.encode_files(CORPUS, output, format=name, shard_tokens=100_000)
    Path("token_files/packed").mkdir()
    tokenizer.encode_files(CORPUS, "token_files/packed/tokens", format="megatron", pack=128)


def write_converted() -> None:
    """Write one tokenizer in the formats of other tools."""
    tokenizer = load(Path("folders/plain"))
    tokenizer.chat_template = None
    Path("converted").mkdir()
    for name, format in CONVERTED.items():
        tokenizer.convert_to(Path("converted", name), format=format)


def work(kind: str) -> object:
    """Do what has a work folder, or go on with it."""
    from hf_bpe import WordCounts, count, train

    if kind == "counting":
        return count(CORPUS, work_dir="work/counting", num_workers=1).fingerprint
    if kind == "training":
        counts = WordCounts.load("counts/plain.counts")
        return train(counts, vocab_size=2000, min_frequency=2, work_dir="work/training").signature
    options = {"format": "megatron", "shard_tokens": 50_000, "work_dir": "work/encoding", "num_workers": 1}
    load(Path("folders/plain")).encode_files(CORPUS, "work/output/tokens", **options)
    return digests(Path("work/output"))


def start(kind: str) -> None:
    """Do so in a process that ends in the middle of it."""
    fsync, calls = os.fsync, []

    def stop(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == KILLED_AFTER[kind]:
            os._exit(0)
        fsync(descriptor)

    os.fsync = stop
    Path("work/output").mkdir(parents=True, exist_ok=True)
    work(kind)


def load(source: object) -> object:
    """Return the tokenizer of a folder, a file or a model."""
    from hf_bpe import BPETokenizer

    if isinstance(source, Path) and (source / "tokenizer_config.json").exists():
        return BPETokenizer.from_pretrained(source)
    return BPETokenizer.convert_from(source)


def describe(root: Path) -> dict[str, object]:
    """Return what the installed hf_bpe says of each file, by its path."""
    from hf_bpe import WordCounts, train
    from hf_bpe.editing import Remap

    said: dict[str, object] = {}
    converted = [root / "converted" / name for name in CONVERTED]
    for path in sorted([*root.glob("folders/*"), *root.glob("real/*"), *converted]):
        said[str(path.relative_to(root))] = attempt(describe_tokenizer, path)
    for path in sorted(root.glob("counts/*")):
        counts = WordCounts.load(path)
        model = train(counts, vocab_size=1000)
        said[str(path.relative_to(root))] = [counts.fingerprint, model.signature, model.fingerprint]
    for path in sorted(root.glob("remaps/*")):
        said[str(path.relative_to(root))] = digest(repr(Remap.load(path).__getstate__()))
    return said


def attempt(function, *arguments):  # type: ignore[no-untyped-def]
    """Return the result, or the error in words."""
    try:
        return function(*arguments)
    except (ValueError, OSError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def describe_tokenizer(path: Path) -> dict[str, object]:
    """Return size and signatures of a tokenizer, and digests of what it makes of the texts."""
    tokenizer = load(path)
    said = {"size": len(tokenizer), "signature": tokenizer.model.signature, "fingerprint": tokenizer.model.fingerprint}
    for name in TEXTS:
        encoded = tokenizer(sample(name, 50_000), return_offsets_mapping=True)
        ids = encoded["input_ids"]
        said[name] = digest([ids, encoded["offset_mapping"], tokenizer.decode(ids), tokenizer.tokenize(name)])
    return said


def digest(value: object) -> str:
    """Return a short digest of a JSON value."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def digests(root: Path) -> dict[str, str]:
    """Return the digest of each file below a folder by its path."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files}


def compare(folder: Path) -> bool:
    """Compare what is kept with the installed hf_bpe; return whether all is equal."""
    with tempfile.TemporaryDirectory() as scratch:
        now = Path(scratch, "files")
        run(sys.executable, Path(__file__).resolve(), "write", now)
        then = json.loads((folder / "files" / "said.json").read_text("utf-8"))
        python = folder / "environment" / "bin" / "python"
        read_then = subprocess.run([python, __file__, "describe", now], check=True, stdout=subprocess.PIPE)
        said_now = json.loads((now / "said.json").read_text("utf-8"))
        results = [
            differences("written", without(digests(folder / "files")), without(digests(now))),
            differences("said of what is kept", then, json.loads(json.dumps(describe(folder / "files")))),
            differences("said by the commit of what is written now", said_now, json.loads(read_then.stdout)),
        ]
        for kind in KILLED_AFTER:
            outcomes = [resume(kind, files) for files in (folder / "files", now)]
            results.append(differences(f"resumed {kind}", {kind: outcomes[1]}, {kind: outcomes[0]}))
    return not any(results)


def resume(kind: str, files: Path) -> object:
    """Go on with a work folder in a copy of the files that are with it, and return what comes of it."""
    shutil.copytree(files, PLACE)
    try:
        os.chdir(PLACE)
        return attempt(work, kind)
    finally:
        shutil.rmtree(PLACE)


def without(files: dict[str, str]) -> dict[str, str]:
    """Leave out what no promise is about: the process was killed at a flush, which may move."""
    return {path: value for path, value in files.items() if not path.startswith(("work/", "said.json"))}


def differences(what: str, then: dict[str, object], now: dict[str, object]) -> int:
    """Print which values differ, and return their number."""
    differing = [path for path in sorted({*then, *now}) if then.get(path) != now.get(path)]
    for path in differing:
        print(f"  {path}: {then.get(path, 'nothing')} → {now.get(path, 'nothing')}")
    print(f"{what}: {len(then)} kept, {len(now)} now, {len(differing)} differ")
    return len(differing)


def run(*command: object) -> None:
    """Run a command that must succeed."""
    subprocess.run([str(each) for each in command], check=True)


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    if verb == "keep":
        keep(Path(arguments[0]).resolve(), arguments[1])
    elif verb == "write":
        write(Path(arguments[0]).resolve())
    elif verb == "start":
        start(arguments[0])
    elif verb == "describe":
        print(json.dumps(describe(Path(arguments[0]).resolve())))
    elif verb == "compare":
        sys.exit(not compare(Path(arguments[0]).resolve()))
    else:
        sys.exit(__doc__)
