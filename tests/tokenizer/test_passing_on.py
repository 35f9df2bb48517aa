"""Arguments that only transformers interprets are passed on to it, and give what they give a fast tokenizer."""

import dataclasses
import inspect

import numpy as np
import pytest
from transformers import AutoTokenizer, DataCollatorWithPadding, PreTrainedTokenizerFast, tokenization_utils_base
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

from hf_bpe import BPETokenizer, accelerate
from support.cases import case

TEXTS = ["low lower newest", "<|x|> low", "", "  lowest\n"]
TEMPLATE = "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '<|x|>' }}{% endfor %}"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "tokenizer"
    tokenizer = BPETokenizer.train(
        ["low lower newest widest"], 270, ["<|x|>"], pad_token="<|x|>", bos_token="<|x|>", add_bos_token=True
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def plain(saved):
    return PreTrainedTokenizerFast.from_pretrained(saved)


@pytest.fixture(params=["python", "fast"])
def tokenizer(request, saved):
    if request.param == "python":
        return BPETokenizer.from_pretrained(saved)
    return accelerate(PreTrainedTokenizerFast.from_pretrained(saved))


def test_tokenize_takes_the_options_of_calls(tokenizer, plain):
    for options in (
        *({}, {"pair": "newest low"}, {"add_special_tokens": True}, {"split_special_tokens": True}),
        *({"pair": "newest", "add_special_tokens": True}, {"truncation": True, "max_length": 2}),
        {"truncation": True, "max_length": 2, "add_special_tokens": True},
    ):
        for text in TEXTS:
            with case(text, options):
                assert tokenizer.tokenize(text, **options) == plain.tokenize(text, **options)


def test_batch_decode_does_not_walk_through_all_ids(tokenizer, monkeypatch):
    rows = tokenizer(TEXTS)["input_ids"]

    def walk(_):
        raise AssertionError("transformers converts the ids one by one")

    monkeypatch.setattr(tokenization_utils_base, "to_py_obj", walk)
    for sequences in (rows, [*map(tuple, rows)], np.array([rows[0], rows[0]])):
        assert len(tokenizer.batch_decode(sequences, skip_special_tokens=True)) == len(sequences)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_pad_takes_rows_of_arrays(tokenizer, plain, library):
    array = np.array if library == "numpy" else pytest.importorskip("torch").tensor
    kind = "np" if library == "numpy" else "pt"
    ids, masks = [array([97, 98]), array([97])], [array([1, 1]), array([1])]
    rows = [{"input_ids": row, "attention_mask": mask} for row, mask in zip(ids, masks, strict=True)]
    for given in (rows, {"input_ids": ids, "attention_mask": masks}):
        padded, expected = (each.pad(given, return_tensors=kind) for each in (tokenizer, plain))
        assert {name: value.tolist() for name, value in padded.items()} == {
            name: value.tolist() for name, value in expected.items()
        }


def test_collators_take_rows_of_tensors(tokenizer, plain):
    torch = pytest.importorskip("torch", reason="tensors of torch need torch")
    rows = [{"input_ids": torch.tensor([97, 98])}, {"input_ids": torch.tensor([97])}]
    batch, expected = (DataCollatorWithPadding(each)(rows) for each in (tokenizer, plain))
    assert batch["input_ids"].tolist() == expected["input_ids"].tolist()


@dataclasses.dataclass
class Message:
    role: str
    content: str


TAKES_OBJECTS = "_normalize_chat_messages" in inspect.getsource(inspect.getmodule(PreTrainedTokenizerBase))


@pytest.mark.skipif(not TAKES_OBJECTS, reason="transformers below 5.24 takes dicts only")
def test_messages_may_be_what_transformers_takes(tokenizer, plain):
    class Model:
        def model_dump(self, **_):
            return {"role": "user", "content": "newest"}

    for messages in (
        [Message("user", "low")],
        [Message("user", "low"), Model()],
        [[Message("user", "low")], [Model()]],
    ):
        rendered = tokenizer.apply_chat_template(messages, tokenize=False)
        assert rendered == plain.apply_chat_template(messages, tokenize=False)
        ids = [each.apply_chat_template(messages)["input_ids"] for each in (tokenizer, plain)]
        assert ids[0] == ids[1]


@pytest.mark.parametrize("token", ["<b2>", "low", "<|x|>"])
def test_a_name_given_to_any_token_is_saved(saved, tmp_path, token):
    loaded = {}
    for name, cls in {"ours": BPETokenizer, "plain": PreTrainedTokenizerFast}.items():
        tokenizer = cls.from_pretrained(saved)
        tokenizer.bos_token = token
        before = len(tokenizer)
        tokenizer.save_pretrained(tmp_path / name)
        assert len(tokenizer) == before
        loaded[name] = PreTrainedTokenizerFast.from_pretrained(tmp_path / name)
    loaded |= {cls.__name__: cls.from_pretrained(tmp_path / "ours") for cls in (BPETokenizer, AutoTokenizer)}
    texts = [*TEXTS, f"a{token}b", f"{token}er"]
    expected = loaded["plain"]
    ids = expected(texts, add_special_tokens=False)["input_ids"]
    for each in loaded.values():
        assert (each.bos_token, each.bos_token_id, len(each)) == (token, expected.bos_token_id, len(expected))
        assert each(texts, add_special_tokens=False)["input_ids"] == ids
