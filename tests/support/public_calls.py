"""All that users can call, with arguments that work.

As a program it calls all with every odd value in the place of each argument, and counts how the calls end:
`PYTHONPATH=tests python -m support.public_calls`.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable
from copy import deepcopy as copy
from functools import partial
from pathlib import Path

from transformers import PreTrainedTokenizerFast
from transformers.utils import logging

import hf_bpe
from hf_bpe import BPEModel, BPETokenizer, Source, WordCounts, alignment
from hf_bpe.editing import _edits as editing
from support.odd_calls import Target, outcomes

MODEL = hf_bpe.train(["low lower lowest newest"] * 2, vocab_size=262, special_tokens=["<|x|>"])
TO_PARSE = {"start_anchor": "x", "fields": {"content": {}}}
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"


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

    def call(name: str, function: Callable[..., object], **arguments: object) -> Target:
        return Target(
            name, lambda: function, {key: lambda value=value: copy(value) for key, value in arguments.items()}
        )

    def method(name: str, **arguments: object) -> Target:
        make = lambda: getattr(pickle.loads(pickled), name)  # noqa: E731
        return Target(
            f"BPETokenizer.{name}", make, {key: lambda value=value: copy(value) for key, value in arguments.items()}
        )

    pickled = pickle.dumps(tokenizer)
    chat = [{"role": "user", "content": "low"}]
    bulk = {"texts": ["low", b"low"], "split_special_tokens": None, "num_workers": 1}
    calls = {
        **{"add_special_tokens": True, "padding": "max_length", "truncation": True, "max_length": 8, "stride": 0},
        **{"is_split_into_words": False, "pad_to_multiple_of": 4, "padding_side": "left", "return_tensors": "np"},
        **{"return_token_type_ids": True, "return_attention_mask": True, "return_overflowing_tokens": True},
        **{"return_special_tokens_mask": True, "return_offsets_mapping": True, "return_length": True},
        **{"verbose": False, "split_special_tokens": False},
    }
    of_ids = {"token_ids_0": [256, 97], "token_ids_1": [98]}
    training = {
        **{"input": ["low lower"], "vocab_size": 258, "special_tokens": ["<|x|>"], "pattern": "gpt2"},
        **{"tie_break": "lexicographic", "min_frequency": 0, "max_token_bytes": 5, "length_penalty": 0.5},
        **{"initial_alphabet": "bytes", "initial": None, "num_workers": 1, "max_memory": None, "work_dir": None},
        **{"show_progress": False, "callback": None},
    }
    return [
        call(
            "BPEModel",
            BPEModel,
            vocab=MODEL.vocab,
            merges=MODEL.merges,
            special_tokens=("<|x|>",),
            pattern="gpt2",
            ignore_merges=False,
            normalizer=None,
        ),
        call("BPEModel.truncate", MODEL.truncate, vocab_size=258),
        call("BPEModel.with_signature", MODEL.with_signature, signature="x"),
        call(
            "Source",
            Source,
            data=["low"],
            weight=1,
            format=None,
            column="text",
            errors="strict",
            on_error="raise",
            max_document_bytes=None,
            max_line_bytes=100,
        ),
        call("plan", hf_bpe.plan, source=["low"], shard_bytes=5),
        call(
            "count",
            hf_bpe.count,
            source=["low"],
            pattern="gpt2",
            special_tokens=["<|x|>"],
            num_workers=1,
            max_memory=None,
            work_dir=None,
            show_progress=False,
            callback=None,
        ),
        call("WordCounts", WordCounts, words={"low": 1}, pattern="gpt2", special_tokens=["<|x|>"], scale=1),
        call("WordCounts.top", counts.top, n=1),
        call("WordCounts.prune", counts.prune, min_count=1),
        call("WordCounts.save", counts.save, path=output + ".counts"),
        call("WordCounts.load", WordCounts.load, path=str(folder / "x.counts")),
        call("train", hf_bpe.train, **training),
        call("train", hf_bpe.train, **{**training, "vocab_size": None, "num_merges": 1}),
        call("train_bpe", hf_bpe.train_bpe, **training),
        call(
            "accelerate",
            hf_bpe.accelerate,
            tokenizer=PreTrainedTokenizerFast.from_pretrained(folder / "saved"),
            prefix_cache=None,
        ),
        call("BPETokenizer.train", BPETokenizer.train, **training, normalizer=None, unk_token="<u>", errors="replace"),
        call(
            "BPETokenizer",
            BPETokenizer,
            model=MODEL,
            errors="replace",
            add_prefix_space=False,
            add_bos_token=False,
            add_eos_token=False,
            bos_token="<|x|>",
            eos_token="<|x|>",
            unk_token="<u>",
            pad_token="<p>",
            extra_special_tokens=["<y>"],
            model_max_length=10,
            padding_side="left",
            truncation_side="left",
            split_special_tokens=False,
            chat_template=TEMPLATE,
            added_tokens_decoder={},
            clean_up_tokenization_spaces=False,
            model_input_names=["input_ids"],
            signature=None,
            model_special_tokens=["<|x|>"],
            token_type_ids_pattern="all_zeros",
            special_tokens_pattern="none",
        ),
        call(
            "BPETokenizer",
            BPETokenizer,
            vocab_file=vocab,
            merges_file=merges,
            pattern="gpt2",
            normalizer=None,
            ignore_merges=False,
            model_special_tokens=["<|x|>"],
            signature=None,
        ),
        call(
            "BPETokenizer.from_pretrained",
            partial(BPETokenizer.from_pretrained, local_files_only=True),
            pretrained_model_name_or_path=saved,
            padding_side="left",
            model_max_length=10,
            subfolder="",
        ),
        call(
            "BPETokenizer.convert_from",
            BPETokenizer.convert_from,
            source=str(folder / "x.tiktoken"),
            format="tiktoken",
            pattern="auto",
            special_tokens=None,
        ),
        call("BPETokenizer.from_definition", BPETokenizer.from_definition, definition=tokenizer.definition),
        call("BPETokenizer.register_for_auto_class", Unregistered.register_for_auto_class, auto_class="AutoTokenizer"),
        call(
            "BPETokenizer.convert_added_tokens",
            BPETokenizer.convert_added_tokens,
            obj={},
            save=False,
            add_type_field=True,
        ),
        call("BPETokenizer.convert_to_native_format", BPETokenizer.convert_to_native_format, tokenizer_file=None),
        method("__call__", text=["low", "lower lowest"], text_pair=["a", "b"], text_target=["low", "low"], **calls),
        method("__call__", text="low", verbose=False, max_length=None, stride=0, return_tensors=None),
        method("encode", text="low", text_pair="low", **{**calls, "return_tensors": None}),
        method("encode", text="low", add_special_tokens=True),
        method("tokenize", text="low", split_special_tokens=False),
        method("prepare_for_tokenization", text="low", is_split_into_words=False),
        method(
            "prepare_for_model",
            ids=[97, 98],
            pair_ids=[99],
            **{
                key: value
                for key, value in calls.items()
                if key not in ("is_split_into_words", "return_offsets_mapping", "split_special_tokens", "return_length")
            }
            | {"truncation": "only_first"},
            prepend_batch_axis=True,
        ),
        method(
            "pad",
            encoded_inputs={"input_ids": [[97, 98], [99]]},
            padding="max_length",
            max_length=8,
            pad_to_multiple_of=4,
            padding_side="left",
            return_attention_mask=True,
            return_tensors="np",
            verbose=False,
        ),
        method(
            "truncate_sequences",
            ids=[97, 98, 99],
            pair_ids=[97, 98],
            num_tokens_to_remove=1,
            truncation_strategy="only_first",
            stride=1,
        ),
        method("build_inputs_with_special_tokens", **of_ids),
        method("create_token_type_ids_from_sequences", **of_ids),
        method("get_special_tokens_mask", **of_ids, already_has_special_tokens=False),
        method("get_special_tokens_mask", token_ids_0=[256, 97], already_has_special_tokens=True),
        method("num_special_tokens_to_add", pair=True),
        method("convert_tokens_to_ids", tokens=["low"]),
        method("convert_ids_to_tokens", ids=[97], skip_special_tokens=False),
        method("convert_tokens_to_string", tokens=["low"]),
        method("clean_up_tokenization", text="low ."),
        method("decode", token_ids=[97], skip_special_tokens=False, clean_up_tokenization_spaces=True),
        method("batch_decode", sequences=[[97], [98]], skip_special_tokens=False, clean_up_tokenization_spaces=True),
        method("decode_bytes", token_ids=[97], skip_special_tokens=False),
        method("decode_to_texts", sequences=[[97], [98]], skip_special_tokens=False),
        method("decode_stream", skip_special_tokens=False, ids=[97]),
        Target("DecodeStream.step", lambda: tokenizer.decode_stream().step, {"token_ids": lambda: [97]}),
        method("encode_bytes", data=b"low", split_special_tokens=None),
        method("encode_to_lists", **bulk),
        method("encode_to_numpy", **bulk),
        method("encode_to_arrow", **bulk),
        method("encode_to_padded", **bulk, length=4),
        method("count_tokens", **bulk),
        Target(
            "BPETokenizer.encode_iterable",
            lambda: lambda **given: [*tokenizer.encode_iterable(**given)],
            {"pieces": lambda: ["lo", b"w"], "split_special_tokens": lambda: None, "num_workers": lambda: 1},
        ),
        method(
            "encode_files",
            paths=[str(text)],
            output=output + ".npy",
            separator=None,
            shard=(0, 1),
            split_special_tokens=None,
            num_workers=1,
            show_progress=False,
        ),
        method("add_tokens", new_tokens=["<new>"], special_tokens=False),
        method("add_special_tokens", special_tokens_dict={"cls_token": "<c>"}, replace_extra_special_tokens=True),
        method(
            "apply_chat_template",
            conversation=chat,
            tools=[{"type": "function"}],
            documents=[{"text": "a"}],
            chat_template=TEMPLATE,
            add_generation_prompt=False,
            continue_final_message=False,
            tokenize=True,
            sanitize_control_tokens=False,
            padding="max_length",
            truncation=True,
            max_length=8,
            return_tensors="np",
            return_dict=True,
            return_assistant_tokens_mask=False,
            tokenizer_kwargs={"stride": 1},
        ),
        method("encode_message_with_chat_template", message=chat[0], conversation_history=chat),
        method("get_chat_template", chat_template=TEMPLATE, tools=None),
        method("parse_response", response="low", schema=TO_PARSE, prefix="", tools=None),
        method("get_response_parser", response_template=TO_PARSE, prefix="", tools=None),
        method(
            "save_chat_templates", save_directory=saved, tokenizer_config={}, filename_prefix="x", save_jinja_files=True
        ),
        method("save_vocabulary", save_directory=output, filename_prefix="x"),
        method(
            "save_pretrained",
            save_directory=output,
            legacy_format=None,
            filename_prefix="x",
            portable=False,
            verify=False,
        ),
        method("convert_to", path=output + "2", format="gpt2", drop=["pattern"], verify=False),
        method("with_model", edited=editing.truncate(MODEL, 258)),
        method("truncate", vocab_size=258),
        method("extend", input=["low lower"], number=1, special_tokens=["<y>"]),
        method("prune", input=["low lower"], vocab_size=258, num_workers=1),
        method("prune", keep=[257]),
        method("session", text="low", ids=[97], split_special_tokens=False),
        method(
            "encode_segments", segments=[("low", True), ("low", False)], untrusted="special", add_special_tokens=True
        ),
        method("chat_segments", conversation=chat, trusted_roles=["user"], add_generation_prompt=False),
        method("token_bytes", size=300),
        method("spans", ids=[97], skip_special_tokens=False, continued=False),
        method("encode_pair", context="low", continuation="low", add_special_tokens=False),
        call("align", alignment.align, ids_a=[97], tokenizer_a=tokenizer, ids_b=[97], tokenizer_b=tokenizer),
        call("shared_ids", alignment.shared_ids, a=tokenizer, b=tokenizer),
        call("prefix_map", alignment.prefix_map, teacher=tokenizer, student=tokenizer),
        call("Translator", alignment.Translator, a=tokenizer, b=tokenizer, add_special_tokens=False, special={}),
        Target("Translator.step", lambda: alignment.Translator(tokenizer, tokenizer).step, {"ids": lambda: [97]}),
        Target("Session.append_ids", lambda: tokenizer.session().append_ids, {"ids": lambda: [97]}),
        method(
            "train_new_from_iterator",
            text_iterator=["low lower"],
            vocab_size=260,
            length=1,
            new_special_tokens=["<y>"],
            special_tokens_map={"<|x|>": "<z>"},
        ),
        *(
            Target(
                f"BPETokenizer.{name} = …",
                lambda name=name: partial(set_attribute, pickle.loads(pickled), name),
                {name: lambda value=value: value},
            )
            for name, value in {
                "add_bos_token": False,
                "add_eos_token": False,
                "pad_token": "<|x|>",
                "pad_token_id": 256,
                "extra_special_tokens": ["<y>"],
                "padding_side": "left",
                "truncation_side": "left",
            }.items()
        ),
    ]


def set_attribute(tokenizer: BPETokenizer, name: str, **given: object) -> None:
    """Set an attribute to the one value given."""
    setattr(tokenizer, name, given[name])


class Unregistered(BPETokenizer):
    """A class whose registration nobody else sees."""


def main() -> None:
    """Print how all calls end."""
    logging.set_verbosity(logging.CRITICAL)
    ends: Counter[str] = Counter()
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for target in targets(Path(name)):
            os.chdir(tempfile.mkdtemp(dir=name))
            for outcome in outcomes(target):
                ends["works" if outcome.error is None else type(outcome.error).__name__] += 1
                problems += [] if outcome.problem is None else [outcome.problem]
    print(f"{sum(ends.values())} calls: {dict(ends.most_common())}; {len(problems)} problems")
    print(*problems, sep="\n")


if __name__ == "__main__":
    from support.public_calls import main as main_of_module  # for classes that can be imported

    main_of_module()
