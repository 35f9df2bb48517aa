"""One tokenizer in several threads, processes and copies; `datasets` and data loaders, which share it that way."""

import copy
import gc
import itertools
import json
import multiprocessing
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from transformers import AddedToken, AutoTokenizer

from hf_bpe import BPETokenizer
from hf_bpe.token_files import _documents as documents
from support.cases import case
from support.processes import PATIENCE, run_code
from support.profiles import thorough
from support.samples import SHORT_CORPUS

TEXTS = [f"the {kind}est<|endoftext|> {number} 你好 👋" for number, kind in enumerate(["low", "wid", "new"] * 8)]
CHAT_TEMPLATE = "{% for message in messages %}<|user|>{{ message.content }}{% endfor %}"
CHAT = [{"role": "user", "content": "lower"}]


def make_tokenizer(corpus=SHORT_CORPUS):
    return BPETokenizer.train(
        corpus, num_merges=24, special_tokens=["<|endoftext|>", "<pad>", "<|user|>"], pad_token="<pad>"
    )


@pytest.fixture
def tokenizer():
    tokenizer = make_tokenizer()
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


@pytest.fixture(scope="module")
def expected():
    return [make_tokenizer().encode(text) for text in TEXTS]


# Copies


def test_what_was_called_is_freed_with_its_tokenizer():
    tokenizer = BPETokenizer.train(["low"], vocab_size=257, bos_token="<s>", add_bos_token=True)
    assert tokenizer.encode("low")[0] == tokenizer("low")["input_ids"][0] == tokenizer.bos_token_id
    pipeline = weakref.ref(tokenizer.pipeline)
    del tokenizer
    gc.collect()
    assert pipeline() is None


# Threads and processes


def test_threads_that_share_a_tokenizer_get_what_one_alone_gets(tokenizer, expected):
    def call(number):
        """Ask for another padding, truncation or way each time: with state in the tokenizer they would mix."""
        text, length = TEXTS[number % len(TEXTS)], 5 + number % 7
        padded = tokenizer(text, padding="max_length", truncation=True, max_length=length)["input_ids"]
        return tokenizer.encode(text), padded, tokenizer.decode(padded), tokenizer.encode_to_lists([text])

    wanted = [call(number) for number in range(200)]
    assert [ids for ids, *_ in wanted[: len(TEXTS)]] == expected
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(200))) == wanted


# Tokens added while others use the tokenizer


def state_of(tokenizer):
    """Return what depends on the added tokens, in every way that they can be asked for."""
    vocab = tokenizer.get_vocab()
    names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    return {
        "sizes": {len(tokenizer), len(vocab), max(vocab.values()) + 1},
        "added": {*tokenizer.get_added_vocab()} ^ {str(token) for token in tokenizer.added_tokens_decoder.values()},
        "unknown": {name for name in names if name is None or tokenizer.convert_tokens_to_ids(name) != vocab[name]},
        "not found in text": [name for name in tokenizer.get_added_vocab() if len(tokenizer.encode(name)) != 1],
        "not special": [
            name for name in tokenizer.all_special_tokens if tokenizer.decode([vocab[name]], skip_special_tokens=True)
        ],
    }


def is_whole(tokenizer):
    sizes, *problems = state_of(tokenizer).values()
    return len(sizes) == 1 and not any(problems)


class AddsWhenPickled:
    """Part of a tokenizer that adds a token to it while it is pickled or copied."""

    def __init__(self, add):
        self._add = add

    def __reduce__(self):
        self._add()
        return str, ()

    def __deepcopy__(self, memo):
        self._add()
        return ""


def adding(tokenizer):
    """Return what adds tokens, others each time, in one way or the other."""
    numbers = itertools.count()

    def add():
        number = next(numbers)
        tokens = [f"<one {number}>", f"<two {number}>"]
        if number % 2:
            tokenizer.add_special_tokens({"extra_special_tokens": tokens, "pad_token": f"<pad {number}>"})
        else:
            tokenizer.add_tokens([tokens[0], AddedToken(tokens[1], special=number % 4 == 0)])

    return add


def test_added_tokens_can_be_gone_through_while_more_are_added(tokenizer):
    add = adding(tokenizer)
    views = tokenizer.get_added_vocab(), tokenizer.added_tokens_decoder, tokenizer._added_tokens_decoder
    for view in (*views, tokenizer._special_tokens_map, tokenizer._extra_special_tokens):
        assert [add() for _ in view] == [None] * len(view)
    assert is_whole(tokenizer)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_made_while_tokens_are_added_has_none_of_them(tokenizer, is_first, make_copy):
    before, adds = len(tokenizer), AddsWhenPickled(adding(tokenizer))
    attributes = vars(tokenizer).copy()
    vars(tokenizer).clear()
    vars(tokenizer).update({"first": adds, **attributes} if is_first else attributes)
    if not is_first:
        tokenizer.init_kwargs["added"] = adds
    twin = make_copy(tokenizer)
    assert is_whole(twin)
    assert len(twin) == before < len(tokenizer)


def test_a_folder_saved_while_tokens_are_added_is_of_one_moment(tokenizer, tmp_path, monkeypatch):
    add, before = adding(tokenizer), tokenizer.get_vocab()
    write = BPETokenizer._save_pretrained

    def add_and_write(*arguments):
        add()
        return write(*arguments)

    monkeypatch.setattr(BPETokenizer, "_save_pretrained", add_and_write)
    tokenizer.save_pretrained(tmp_path)
    assert len(tokenizer) > len(before)
    assert BPETokenizer.from_pretrained(tmp_path).get_vocab() == before
    assert AutoTokenizer.from_pretrained(tmp_path).get_vocab() == before


def test_files_encoded_while_tokens_are_added_are_encoded_alike(tokenizer, tmp_path, monkeypatch):
    read = documents.follow_documents

    def add_and_read(*arguments):
        tokenizer.add_tokens(["newest", "low"])
        return read(*arguments)

    for name in "ab":
        (tmp_path / name).write_text("the newest low", encoding="utf-8")
    expected = tokenizer.encode("the newest low")
    monkeypatch.setattr(documents, "follow_documents", add_and_read)
    written = tokenizer.encode_files([tmp_path / "a", tmp_path / "b"], tmp_path / "ids.npy", append_separator=False)
    assert np.load(written.ids).tolist() == expected * 2


def test_threads_see_all_tokens_that_another_adds_or_none(tokenizer, tmp_path):
    add = adding(tokenizer)
    ways = [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]

    def use(number):
        for _ in range(8):
            twin = ways[number](tokenizer)
            assert is_whole(twin)
            assert tokenizer.decode(tokenizer.encode(TEXTS[0])) == TEXTS[0]
            assert json.loads(tokenizer.backend_tokenizer.to_str())["added_tokens"]
            twin.save_pretrained(tmp_path / str(number), verify=False)

    with ThreadPoolExecutor(len(ways)) as pool:
        users = [pool.submit(use, number) for number in range(len(ways))]
        for _ in range(300):
            if not all(user.done() for user in users):
                add()
    assert [user.exception() for user in users] == [None] * len(ways)
    assert is_whole(tokenizer)


# Fingerprints: `datasets` finds what it has computed before by a hash of all that the tokenizer holds


@pytest.fixture
def hash_of():
    pytest.importorskip("datasets", reason="a fingerprint needs datasets")
    from datasets.fingerprint import Hasher

    return Hasher.hash


def stream(tokenizer):
    decoder = tokenizer.decode_stream(skip_special_tokens=True)
    return "".join(map(decoder.step, tokenizer.encode(TEXTS[0]))) + decoder.finish()


CALLS = {
    "a text": lambda tokenizer, _: tokenizer(TEXTS[0]),
    "a batch": lambda tokenizer, _: tokenizer(TEXTS),
    "pairs, truncated": lambda tokenizer, _: tokenizer(
        TEXTS, TEXTS, truncation="only_first", padding="max_length", max_length=60
    ),
    "padded arrays": lambda tokenizer, _: tokenizer(TEXTS, padding=True, return_tensors="np"),
    "offsets": lambda tokenizer, _: tokenizer(TEXTS, return_offsets_mapping=True).word_ids(0),
    "windows": lambda tokenizer, _: tokenizer(
        TEXTS, truncation=True, max_length=8, stride=2, return_overflowing_tokens=True
    ),
    "tokenize": lambda tokenizer, _: tokenizer.tokenize(TEXTS[0]),
    "decode": lambda tokenizer, _: tokenizer.decode(range(283), skip_special_tokens=True),
    "batch_decode": lambda tokenizer, _: tokenizer.batch_decode([[1, 2], [3]]),
    "decode_stream": lambda tokenizer, _: stream(tokenizer),
    "the bulk API": lambda tokenizer, _: [tokenizer.encode_to_numpy(TEXTS), tokenizer.encode_to_padded(TEXTS)],
    "attributes": lambda tokenizer, _: [len(tokenizer), tokenizer.model, tokenizer.bpe_ranks, tokenizer.get_vocab()],
    "apply_chat_template": lambda tokenizer, _: tokenizer.apply_chat_template(CHAT),
    "repr": lambda tokenizer, _: repr(tokenizer),
    "pickle": lambda tokenizer, _: pickle.dumps(tokenizer),
    "save_pretrained": lambda tokenizer, folder: tokenizer.save_pretrained(folder),
}


def test_calls_do_not_change_the_attributes(tokenizer, tmp_path):
    """`datasets` takes the attributes themselves, not what `__getstate__` gives, so this is tested without it, too."""
    before = {name: pickle.dumps(value) for name, value in vars(tokenizer).items()}
    for name, call in CALLS.items():
        call(tokenizer, tmp_path)
        with case(name):
            assert {name: pickle.dumps(value) for name, value in vars(tokenizer).items()} == before


def test_another_tokenizer_has_another_fingerprint(tokenizer, hash_of):
    others = [make_tokenizer([*SHORT_CORPUS, "other words"]), *(copy.deepcopy(tokenizer) for _ in range(3))]
    others[1].add_tokens(["newest"])
    others[2].padding_side = "left"
    others[3].eos_token = None
    assert len({hash_of(each) for each in (tokenizer, *others)}) == 5


def test_copies_have_the_fingerprint_of_the_original(tokenizer, hash_of):
    tokenizer(TEXTS)
    assert hash_of(copy.deepcopy(tokenizer)) == hash_of(tokenizer)
    assert hash_of(pickle.loads(pickle.dumps(tokenizer))) == hash_of(tokenizer)


LOAD_AND_HASH = """
import hf_bpe
from datasets.fingerprint import Hasher
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
tokenizer("what another process does first", return_offsets_mapping=True)
print(json.dumps(Hasher.hash(tokenizer)))
"""


def test_the_fingerprint_is_the_same_in_another_process(tokenizer, tmp_path, hash_of):
    tokenizer.save_pretrained(tmp_path)
    here = hash_of(AutoTokenizer.from_pretrained(tmp_path))
    assert run_code(LOAD_AND_HASH, tmp_path, PYTHONHASHSEED="1") == here


# datasets and data loaders


def test_datasets_map_in_processes_finds_the_ids_again(tokenizer, expected, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="Dataset.map needs datasets")
    datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(tmp_path / "data")

    def encode():
        data = datasets.load_from_disk(tmp_path / "data")  # on disk, for only such are cached
        return data.map(lambda rows: tokenizer(rows["text"]), batched=True, batch_size=5, num_proc=2)

    first = encode()
    assert first["input_ids"][:] == expected
    assert first["attention_mask"][:] == [[1] * len(ids) for ids in expected]
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "data").iterdir()}
    tokenizer.batch_decode(tokenizer(["something else"], padding=True)["input_ids"])
    second = encode()
    assert second.cache_files == first.cache_files
    assert len(second.cache_files) == 2
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "data").iterdir()} == written


class Encoded:
    """A data set that encodes where an item is taken, which is in a worker of the data loader."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __len__(self):
        return len(TEXTS)

    def __getitem__(self, index):
        return self.tokenizer(TEXTS[index], padding="max_length", max_length=40, return_tensors="pt")["input_ids"][0]


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=thorough)])
def test_workers_of_a_data_loader_give_the_ids(tokenizer, start):
    torch = pytest.importorskip("torch", reason="a data loader needs torch")
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {start}")
    wanted = tokenizer(TEXTS, padding="max_length", max_length=40)["input_ids"]  # before the workers are forked
    collate = partial(tokenizer, padding="max_length", max_length=40, return_tensors="pt")
    settings = {"batch_size": 5, "num_workers": 2, "multiprocessing_context": start, "timeout": PATIENCE}
    encoded_together = torch.utils.data.DataLoader(TEXTS, collate_fn=collate, **settings)
    assert torch.cat([batch["input_ids"] for batch in encoded_together]).tolist() == wanted
    encoded_alone = torch.utils.data.DataLoader(Encoded(tokenizer), **settings)
    assert torch.cat(list(encoded_alone)).tolist() == wanted


def test_token_added_while_settings_change_is_found(tokenizer):
    interval, is_done = sys.getswitchinterval(), threading.Event()

    def change_settings():
        for errors in itertools.cycle(["strict", "replace"]):
            if is_done.is_set():
                return
            tokenizer.errors = errors

    thread = threading.Thread(target=change_settings)
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for number in range(1000):
            tokenizer.add_tokens([f"<added {number}>"])
            assert tokenizer.encode(f"<added {number}>") == [tokenizer.convert_tokens_to_ids(f"<added {number}>")]
    finally:
        is_done.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_methods_are_known_as_those_of_the_public_class():
    for name in ("encode_to_lists", "decode_bytes", "tokenize", "save_pretrained", "convert_to"):
        method = getattr(BPETokenizer, name)
        assert pickle.loads(pickle.dumps(method)) is method
