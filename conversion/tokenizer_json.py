"""`tokenizer.json` of the `tokenizers` library: the one file that carries a whole tokenizer, pattern and flags too."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_bpe.byte_level import to_printable
from hf_bpe.model import BPEModel
from hf_bpe.patterns import PATTERNS, canonical_pattern, pattern_expression

# `tokenizers` splits with the expression of GPT-2 by itself where ByteLevel is told to.
_BUILT_IN = "gpt2"


def render_tokenizer_json(
    model: BPEModel,
    *,
    added_tokens: Mapping[int, Mapping[str, Any]],
    extra_vocab: Mapping[str, int] | None = None,
    add_prefix_space: bool = False,
    unk_token: str | None = None,
    prefix_tokens: Sequence[str] = (),
    suffix_tokens: Sequence[str] = (),
) -> str:
    """Return the contents of a `tokenizer.json` that gives the same ids.

    Args:
        model: the model.
        added_tokens: id → content and flags (`special`, `lstrip`, `rstrip`, `single_word`, `normalized`) of every
            added token, the model's special tokens included. Those beyond the model must follow it without a gap.
        extra_vocab: entries for ids that the model leaves out, so that `tokenizers` counts them.
        add_prefix_space: put a space before text that begins with none. Only for patterns "gpt2" and None.
        unk_token: what a byte without a token becomes, a special or added token; without it `tokenizers` drops such
            bytes silently.
        prefix_tokens: special tokens before each sequence (bos).
        suffix_tokens: special tokens behind each sequence (eos).

    Raises:
        ValueError: `add_prefix_space` with another pattern, which `tokenizers` cannot express.
    """
    check_prefix_space(model.pattern, add_prefix_space)
    ids = {str(token["content"]): token_id for token_id, token in added_tokens.items()}
    vocab = {**model.printable_vocab(), **(extra_vocab or {})}
    if unk_token is not None and unk_token not in vocab:  # `tokenizers` looks for it here only
        vocab.update(ids)
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": token_id, **token} for token_id, token in sorted(added_tokens.items())],
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(model.pattern, add_prefix_space),
        "post_processor": _template(prefix_tokens, suffix_tokens, ids) if prefix_tokens or suffix_tokens else None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unk_token,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            # Special tokens stand here at their ids, else `tokenizers` moves them to the end.
            "vocab": vocab,
            "merges": [[to_printable(first), to_printable(second)] for first, second in model.merges],
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def read_pre_tokenizer(path: str | os.PathLike[str]) -> tuple[str | None, bool]:
    """Return the pattern and `add_prefix_space` of a `tokenizer.json`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such file, or it prepares text in a way that a BPEModel cannot carry.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["normalizer"] is not None:
            raise ValueError(f"its normalizer {content['normalizer']} changes the text; this would be lost")
        return _pattern_and_prefix_space(content["pre_tokenizer"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else f"not a tokenizer.json: {error!r}"
        raise ValueError(f"{path}: {reason}") from None


def _pattern_and_prefix_space(pre_tokenizer: Any) -> tuple[str | None, bool]:
    parts = [] if pre_tokenizer is None else pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    types = [part["type"] for part in parts]
    byte_level = parts[-1] if parts else {}
    if types == ["ByteLevel"]:
        pattern = _BUILT_IN if byte_level.get("use_regex", True) else None
        return pattern, bool(byte_level["add_prefix_space"])
    if types == ["Split", "ByteLevel"] and not byte_level.get("use_regex", True) and not byte_level["add_prefix_space"]:
        split = parts[0]
        if (split["behavior"], split["invert"], [*split["pattern"]]) == ("Isolated", False, ["Regex"]):
            expression = split["pattern"]["Regex"]
            if expression in (*PATTERNS, "none"):
                raise ValueError(f"its expression {expression!r} is the name of a pattern here, and not that pattern")
            return canonical_pattern(expression), False
    raise ValueError(f"its pre-tokenizer {pre_tokenizer} is not a split by one pattern and then ByteLevel")


def check_prefix_space(pattern: str | None, add_prefix_space: bool) -> None:
    """Refuse a prefix space where `tokenizer.json` could not carry it: ByteLevel adds it only as it splits itself."""
    if add_prefix_space and pattern not in (_BUILT_IN, None):
        raise ValueError(
            f"add_prefix_space=True with the pattern {pattern!r}: tokenizer.json cannot say that, so others would get "
            "other ids; put the space into the text, or use the pattern 'gpt2'"
        )


def _pre_tokenizer(pattern: str | None, add_prefix_space: bool) -> dict[str, Any]:
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": pattern == _BUILT_IN,
    }
    if pattern in (_BUILT_IN, None):
        return byte_level
    expression = {"Regex": pattern_expression(pattern)}
    split = {"type": "Split", "pattern": expression, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, byte_level]}


def _template(prefix: Sequence[str], suffix: Sequence[str], ids: Mapping[str, int]) -> dict[str, Any]:
    def sequence(name: str, type_id: int) -> list[dict[str, Any]]:
        def special(token: str) -> dict[str, Any]:
            return {"SpecialToken": {"id": token, "type_id": type_id}}

        return [*map(special, prefix), {"Sequence": {"id": name, "type_id": type_id}}, *map(special, suffix)]

    return {
        "type": "TemplateProcessing",
        "single": sequence("A", 0),
        # As transformers' special_tokens_pattern has it: with both, bos stands only once, at the beginning.
        "pair": [*sequence("A", 0), *(sequence("B", 0)[len(prefix) if suffix else 0 :])],
        "special_tokens": {
            token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in {*prefix, *suffix}
        },
    }
