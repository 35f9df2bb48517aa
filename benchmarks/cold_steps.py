"""One process of `benchmarks.cold`, run as a file by any Python: `cold_steps.py STEP LIBRARY FOLDER WORK`.

It imports nothing before a step that the step might have to import, and prints seconds and the ids that came out.
"""

import sys
import time

SAMPLE = "Hello world! The naïve café costs 3.50 € — 你好，世界. Привет\n\n\tdef f(x):  return x ** 2  # it's"
WORKERS, BATCH = 4, 100


def timed(work, clock=time.process_time):
    """Return the seconds that `work` takes, and its result."""
    start = clock()
    result = work()
    return clock() - start, result


def megabytes():
    """Return the resident memory of this process."""
    with open("/proc/self/status") as status:  # noqa: PTH123  as the import of pathlib would be missing later
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) * 1024 / 1e6


def import_class(library):
    """Return the class whose tokenizers a user of a library has."""
    if library == "hf_bpe":
        from hf_bpe import BPETokenizer

        return BPETokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast


def load(library, folder, work):
    """Import, load, save, and write a pickle, untimed."""
    measured = {"import": timed(lambda: __import__("hf_bpe" if library == "hf_bpe" else "tokenizers"))[0]}
    seconds, tokenizer_class = timed(lambda: import_class(library))
    measured["import of the class"] = measured["import"] + seconds
    before = megabytes()
    measured["from_pretrained"], tokenizer = timed(lambda: tokenizer_class.from_pretrained(folder))
    measured["memory after loading, MB"] = megabytes() - before
    if library == "transformers":
        measured["accelerate"] = measured["from_pretrained"]  # which it is compared with
    measured["save_pretrained"], _ = timed(lambda: tokenizer.save_pretrained(f"{work}/{library}"))
    import pickle

    with open(f"{work}/{library}.pickle", "wb") as file:  # noqa: PTH123
        pickle.dump(tokenizer, file)
    return measured, tokenizer


def accelerate(library, folder, work):
    """Accelerate a tokenizer that transformers has loaded."""
    tokenizer = import_class("transformers").from_pretrained(folder)
    from hf_bpe import accelerate

    seconds, accelerated = timed(lambda: accelerate(tokenizer))
    return {"accelerate": seconds}, accelerated


def unpickle(library, folder, work):
    """Load the pickle where the class has been imported."""
    import pickle

    import_class(library)
    with open(f"{work}/{library}.pickle", "rb") as file:  # noqa: PTH123
        pickled = file.read()
    seconds, tokenizer = timed(lambda: pickle.loads(pickled))
    return {"unpickling": seconds}, tokenizer


def dataset_map(library, folder, work):
    """Map a dataset in processes, until the first of them has finished a batch."""
    from datasets import Dataset

    tokenizer = import_class(library).from_pretrained(folder)
    rows = Dataset.from_dict({"text": texts(work)})
    start = time.time()
    options = {"batched": True, "batch_size": BATCH, "num_proc": WORKERS, "input_columns": "text"}
    mapped = rows.map(lambda batch: {**tokenizer(batch), "at": [time.time()] * BATCH}, **options)
    return {"datasets.map": min(mapped["at"]) - start}, mapped["input_ids"][:BATCH]


def data_loader(library, folder, work):
    """Take the first batch of spawned processes."""
    from torch.utils.data import DataLoader

    tokenizer = import_class(library).from_pretrained(folder)
    options = {"collate_fn": tokenizer, "num_workers": WORKERS, "multiprocessing_context": "spawn"}
    batches = DataLoader(texts(work), BATCH, persistent_workers=True, **options)  # which end after the time
    seconds, batch = timed(lambda: next(iter(batches)), time.time)
    return {"DataLoader, spawn": seconds}, batch["input_ids"]


def ray_actor(library, folder, work):
    """Give a tokenizer to an actor, which encodes a batch."""
    import ray

    class Encoder:
        def __init__(self, tokenizer):
            self.tokenizer = tokenizer

        def encode(self, batch):
            return self.tokenizer(batch)["input_ids"]

    tokenizer = import_class(library).from_pretrained(folder)
    batch = texts(work)[:BATCH]
    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    start = time.time()
    encoder = ray.remote(Encoder).remote(tokenizer)
    ids = ray.get(encoder.encode.remote(batch))
    return {"Ray actor": time.time() - start}, ids


def texts(work):
    """Return texts for the workers."""
    with open(f"{work}/text.txt", encoding="utf-8") as file:  # noqa: PTH123
        return [file.read(500) for _ in range(WORKERS * BATCH)]


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    step, *arguments = sys.argv[1:]
    seconds, result = globals()[step](*arguments)
    import hashlib
    import json

    ids = result if isinstance(result, list) else result([SAMPLE, *texts(arguments[2])])["input_ids"]
    print(json.dumps([seconds, hashlib.sha256(repr(ids).encode()).hexdigest()]))
