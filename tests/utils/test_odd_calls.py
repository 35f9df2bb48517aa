"""Whatever is given in the place of an argument: a call works, or its error names the argument."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy as copy
from functools import partial
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

import hf_bpe
from hf_bpe import BPEModel, BPETokenizer, Source, WordCounts, alignment, editing
from support.fuzz.odd_calls import ODD, Target, outcomes
from support.profiles import thorough

MODEL = hf_bpe.train(["low lower lowest newest"] * 2, vocab_size=262, special_tokens=["<|x|>"])
TO_PARSE = {"start_anchor": "x", "fields": {"content": {}}}
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
CHAT = [{"role": "user", "content": "low"}]

# Name of an argument → a value that works with most functions.
VALUES: dict[str, object] = {
    **{"text": "low", "texts": ["low", b"low"], "ids": [97], "token_ids": [97], "sequences": [[97], [98]]},
    **{"add_special_tokens": True, "padding": "max_length", "truncation": True, "max_length": 8, "stride": 0},
    **{"is_split_into_words": False, "pad_to_multiple_of": 4, "padding_side": "left", "return_tensors": "np"},
    **{"return_token_type_ids": True, "return_attention_mask": True, "return_overflowing_tokens": True},
    **{"return_special_tokens_mask": True, "return_offsets_mapping": True, "return_length": True},
    **{"verbose": False, "split_special_tokens": False, "skip_special_tokens": False, "num_workers": 1},
    **{"clean_up_tokenization_spaces": True, "token_ids_0": [256, 97], "token_ids_1": [98]},
    **{"source": ["low"], "input": ["low lower"], "vocab_size": 258, "special_tokens": ["<|x|>"], "pattern": "gpt2"},
    **{"normalizer": None, "ignore_merges": False, "max_memory": None, "work_dir": None, "show_progress": False},
    **{"callback": None, "unk_token": "<u>", "errors": "replace", "signature": None, "format": None, "verify": False},
    **{"model_special_tokens": ["<|x|>"], "filename_prefix": "x", "chat_template": TEMPLATE, "tools": None},
    **{"conversation": CHAT, "prefix": "", "add_generation_prompt": False, "model": MODEL, "model_max_length": 10},
}
COLUMNS = "return_token_type_ids return_attention_mask return_overflowing_tokens return_special_tokens_mask"
CALL_OPTIONS = f"add_special_tokens padding truncation max_length stride pad_to_multiple_of padding_side {COLUMNS}"
CALL_OPTIONS += " verbose"
TEXT_OPTIONS = "is_split_into_words return_offsets_mapping split_special_tokens return_length"
LEARNING = {"tie_break": "lexicographic", "min_frequency": 0, "max_token_bytes": 5, "length_penalty": 0.5}
LEARNING |= {"initial_alphabet": "bytes", "initial": None}
TRAINING = "input vocab_size special_tokens pattern num_workers max_memory work_dir show_progress callback"
AS_SET = {"split_special_tokens": None}
PARTS = {"vocab": MODEL.vocab, "merges": MODEL.merges, "special_tokens": ("<|x|>",)}
SOURCE = {"on_error": "raise", "max_document_bytes": None, "max_line_bytes": 100}
SETTINGS = {
    **{"add_prefix_space": False, "add_bos_token": False, "add_eos_token": False, "truncation_side": "left"},
    **{"bos_token": "<|x|>", "eos_token": "<|x|>", "pad_token": "<p>", "extra_special_tokens": ["<y>"]},
    **{"added_tokens_decoder": {}, "clean_up_tokenization_spaces": False, "model_input_names": ["input_ids"]},
    **{"token_type_ids_pattern": "all_zeros", "special_tokens_pattern": "none"},
}
MODEL_AND_SETTINGS = "model errors unk_token model_max_length padding_side split_special_tokens chat_template"
MODEL_AND_SETTINGS += " signature model_special_tokens"
ATTRIBUTES = {"add_bos_token": False, "add_eos_token": False, "pad_token": "<|x|>", "pad_token_id": 256}
ATTRIBUTES |= {"extra_special_tokens": ["<y>"], "padding_side": "left", "truncation_side": "left"}
CHAT_OPTIONS = {
    **{"tools": [{"type": "function"}], "documents": [{"text": "a"}], "continue_final_message": False},
    **{"tokenize": True, "sanitize_control_tokens": False, "return_dict": True, "return_assistant_tokens_mask": False},
    "tokenizer_kwargs": {"stride": 1},
}


OF_TWO_FILES = "pattern normalizer ignore_merges model_special_tokens signature"
LOADING = "padding_side model_max_length"
OF_RANKS = {"format": "tiktoken", "pattern": "auto", "special_tokens": None}
AS_JSON = {"save": False, "add_type_field": True}
PAIRS = {"text": ["low", "lower lowest"], "text_pair": ["a", "b"]}
FIRST = {"truncation_strategy": "only_first", "stride": 1}
FIRST_OF_PAIR = {"ids": [97, 98], "pair_ids": [99], "truncation": "only_first"}
PAD_OPTIONS = "max_length pad_to_multiple_of padding_side return_attention_mask return_tensors verbose"
OF_FILES = {"separator": None, "shard": (0, 1), **AS_SET}
OF_CHATS = "conversation chat_template add_generation_prompt"
TEMPLATE_FILES = {"tokenizer_config": {}, "save_jinja_files": True}
OF_NEW = {"vocab_size": 260, "new_special_tokens": ["<y>"], "special_tokens_map": {"<|x|>": "<z>"}}


def arguments(names: str, given: dict[str, object]) -> dict[str, Callable[[], object]]:
    """Return what makes the arguments of a call: those of `VALUES` that are named, and those given."""
    values = {**{name: VALUES[name] for name in names.split()}, **given}
    return {key: lambda value=value: copy(value) for key, value in values.items()}


def targets(folder: Path) -> list[Target]:
    """Return all that users can call.

    Args:
        folder: an empty one, for what calls read and write.
    """
    text, counts = folder / "text.txt", WordCounts({"low": 2, "lower": 1})
    text.write_text("low lower lowest")
    counts.save(folder / "x.counts")
    tokenizer = BPETokenizer(model=MODEL, pad_token="<|x|>", chat_template=TEMPLATE)
    tokenizer.save_pretrained(folder / "saved")
    tokenizer.convert_to(folder / "x.tiktoken")
    merges, vocab = tokenizer.convert_to(folder / "gpt2", format="gpt2", drop=["names", "chat_template"])
    saved, output = str(folder / "saved"), str(folder / "output")
    plain = PreTrainedTokenizerFast.from_pretrained(folder / "saved")
    offline = partial(BPETokenizer.from_pretrained, local_files_only=True)
    both = {"tokenizer_a": tokenizer, "tokenizer_b": tokenizer}
    pickled, ranks = pickle.dumps(tokenizer), str(folder / "x.tiktoken")

    def listed(**given: object) -> list[int]:
        return [*tokenizer.encode_iterable(**given)]

    def call(name: str, function: Callable[..., object], names: str = "", **given: object) -> Target:
        return Target(name, lambda: function, arguments(names, given))

    def method(name: str, names: str = "", **given: object) -> Target:
        return Target(f"BPETokenizer.{name}", lambda: getattr(pickle.loads(pickled), name), arguments(names, given))

    def step(name: str, make: Callable[[], Callable[..., object]], names: str = "ids", **given: object) -> Target:
        return Target(name, make, arguments(names, given))

    return [
        call("BPEModel", BPEModel, "pattern ignore_merges normalizer", **PARTS),
        call("BPEModel.truncate", MODEL.truncate, "vocab_size"),
        call("BPEModel.with_signature", MODEL.with_signature, signature="x"),
        call("Source", Source, "format", data=["low"], weight=1, column="text", errors="strict", **SOURCE),
        call("plan", hf_bpe.plan, "source", shard_bytes=5),
        call("count", hf_bpe.count, f"source {TRAINING.split(' ', 2)[2]}"),
        call("WordCounts", WordCounts, "pattern special_tokens", words={"low": 1}, scale=1),
        call("WordCounts.top", counts.top, n=1),
        call("WordCounts.prune", counts.prune, min_count=1),
        call("WordCounts.save", counts.save, path=output + ".counts"),
        call("WordCounts.load", WordCounts.load, path=str(folder / "x.counts")),
        call("train", hf_bpe.train, TRAINING, **LEARNING),
        call("train", hf_bpe.train, TRAINING, **LEARNING, vocab_size=None, num_merges=1),
        call("train_bpe", hf_bpe.train_bpe, TRAINING, **LEARNING),
        call("accelerate", hf_bpe.accelerate, tokenizer=plain, prefix_cache=None),
        call("BPETokenizer.train", BPETokenizer.train, f"{TRAINING} normalizer unk_token errors", **LEARNING),
        call("BPETokenizer", BPETokenizer, MODEL_AND_SETTINGS, **SETTINGS),
        call("BPETokenizer", BPETokenizer, OF_TWO_FILES, vocab_file=vocab, merges_file=merges),
        call("BPETokenizer.from_pretrained", offline, LOADING, pretrained_model_name_or_path=saved, subfolder=""),
        call("BPETokenizer.convert_from", BPETokenizer.convert_from, source=ranks, **OF_RANKS),
        call("BPETokenizer.from_definition", BPETokenizer.from_definition, definition=tokenizer.definition),
        call("BPETokenizer.register_for_auto_class", Unregistered.register_for_auto_class, auto_class="AutoTokenizer"),
        call("BPETokenizer.convert_added_tokens", BPETokenizer.convert_added_tokens, obj={}, **AS_JSON),
        call("BPETokenizer.convert_to_native_format", BPETokenizer.convert_to_native_format, tokenizer_file=None),
        method("__call__", f"{CALL_OPTIONS} {TEXT_OPTIONS} return_tensors", **PAIRS, text_target=["low", "low"]),
        method("__call__", "text verbose stride", max_length=None, return_tensors=None),
        method("encode", f"text {CALL_OPTIONS} {TEXT_OPTIONS}", text_pair="low", return_tensors=None),
        method("encode", "text add_special_tokens"),
        method("tokenize", "text split_special_tokens"),
        method("prepare_for_tokenization", "text is_split_into_words"),
        method("prepare_for_model", f"ids {CALL_OPTIONS} return_tensors", **FIRST_OF_PAIR, prepend_batch_axis=True),
        method("pad", f"padding {PAD_OPTIONS}", encoded_inputs={"input_ids": [[97, 98], [99]]}),
        method("truncate_sequences", ids=[97, 98, 99], pair_ids=[97, 98], num_tokens_to_remove=1, **FIRST),
        method("build_inputs_with_special_tokens", "token_ids_0 token_ids_1"),
        method("create_token_type_ids_from_sequences", "token_ids_0 token_ids_1"),
        method("get_special_tokens_mask", "token_ids_0 token_ids_1", already_has_special_tokens=False),
        method("get_special_tokens_mask", "token_ids_0", already_has_special_tokens=True),
        method("num_special_tokens_to_add", pair=True),
        method("convert_tokens_to_ids", tokens=["low"]),
        method("convert_ids_to_tokens", "ids skip_special_tokens"),
        method("convert_tokens_to_string", tokens=["low"]),
        method("clean_up_tokenization", text="low ."),
        method("decode", "token_ids skip_special_tokens clean_up_tokenization_spaces"),
        method("batch_decode", "sequences skip_special_tokens clean_up_tokenization_spaces"),
        method("decode_bytes", "token_ids skip_special_tokens"),
        method("decode_to_texts", "sequences skip_special_tokens"),
        method("decode_stream", "skip_special_tokens ids"),
        step("DecodeStream.step", lambda: tokenizer.decode_stream().step, "token_ids"),
        method("encode_bytes", data=b"low", **AS_SET),
        *(method(f"encode_to_{kind}", "texts num_workers", **AS_SET) for kind in ("lists", "numpy", "arrow")),
        method("encode_to_padded", "texts num_workers", **AS_SET, length=4),
        method("count_tokens", "texts num_workers", **AS_SET),
        step("BPETokenizer.encode_iterable", lambda: listed, "num_workers", pieces=["lo", b"w"], **AS_SET),
        method("encode_files", "num_workers show_progress", paths=[str(text)], output=output + ".npy", **OF_FILES),
        method("add_tokens", new_tokens=["<new>"], special_tokens=False),
        method("add_special_tokens", special_tokens_dict={"cls_token": "<c>"}, replace_extra_special_tokens=True),
        method("apply_chat_template", f"{OF_CHATS} padding truncation max_length return_tensors", **CHAT_OPTIONS),
        method("encode_message_with_chat_template", message=CHAT[0], conversation_history=CHAT),
        method("get_chat_template", "chat_template tools"),
        method("parse_response", "prefix tools", response="low", schema=TO_PARSE),
        method("get_response_parser", "prefix tools", response_template=TO_PARSE),
        method("save_chat_templates", "filename_prefix", save_directory=saved, **TEMPLATE_FILES),
        method("save_vocabulary", "filename_prefix", save_directory=output),
        method("save_pretrained", "filename_prefix verify", save_directory=output, legacy_format=None, portable=False),
        method("convert_to", "verify", path=output + "2", format="gpt2", drop=["pattern"]),
        method("with_model", edited=editing.truncate(MODEL, 258)),
        method("truncate", "vocab_size"),
        method("extend", "input", number=1, special_tokens=["<y>"]),
        method("prune", "input vocab_size num_workers"),
        method("prune", keep=[257]),
        method("session", "text ids split_special_tokens"),
        method("encode_segments", "add_special_tokens", segments=[("low", True), ("low", False)], untrusted="special"),
        method("chat_segments", "conversation add_generation_prompt", trusted_roles=["user"]),
        method("token_bytes", size=300),
        method("spans", "ids skip_special_tokens", continued=False),
        method("encode_pair", context="low", continuation="low", add_special_tokens=False),
        call("align", alignment.align, ids_a=[97], ids_b=[97], **both),
        call("shared_ids", alignment.shared_ids, a=tokenizer, b=tokenizer),
        call("prefix_map", alignment.prefix_map, teacher=tokenizer, student=tokenizer),
        call("Translator", alignment.Translator, a=tokenizer, b=tokenizer, add_special_tokens=False, special={}),
        step("Translator.step", lambda: alignment.Translator(tokenizer, tokenizer).step),
        step("Session.append_ids", lambda: tokenizer.session().append_ids),
        method("train_new_from_iterator", text_iterator=["low lower"], length=1, **OF_NEW),
        *(
            step(
                f"BPETokenizer.{name} = …",
                lambda name=name: partial(set_attribute, pickle.loads(pickled), name),
                "",
                **{name: value},
            )
            for name, value in ATTRIBUTES.items()
        ),
    ]


def set_attribute(tokenizer: BPETokenizer, name: str, **given: object) -> None:
    """Set an attribute to the one value given."""
    setattr(tokenizer, name, given[name])


class Unregistered(BPETokenizer):
    """A class whose registration nobody else sees."""


SHARES = 48


@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=thorough) for share in range(1, SHARES))])
def test_calls_with_an_odd_argument_work_or_name_the_argument(tmp_path, monkeypatch, share):
    problems = []
    for number, target in enumerate(targets(tmp_path)[share::SHARES]):
        folder = tmp_path / f"of-calls-{number}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        ended = [*outcomes(target)]
        assert len(ended) == 1 + len(target.arguments) * len(ODD)
        problems += [outcome.problem for outcome in ended if outcome.problem]
    assert not problems, "\n".join(problems)


def test_table_of_calls_has_each_public_method(tmp_path):
    called = {target.name for target in targets(tmp_path)}
    methods = {name for name in dir(BPETokenizer) if name[0] != "_" and callable(getattr(BPETokenizer, name))}
    missing = {name for name in methods if f"BPETokenizer.{name}" not in called}
    without = {"canonical_ids", "get_added_vocab", "get_vocab"}  # arguments
    assert missing == without | {"push_to_hub", "playground"}  # the network; tests/playground has odd requests
    without_arguments = {"Event", "Listener", "__version__", "patch_transformers", "unpatch_transformers"}
    assert {*hf_bpe.__all__} - called == {*without_arguments, "BPETokenizerFast"}  # its arguments are transformers'
