"""The post-processor of a `tokenizer.json`, which adds special tokens to sequences."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from hf_bpe.tokenizer._files.added_tokens import AddedVocabulary
from hf_bpe.tokenizer._template import Template, as_template


def template_settings(processor: Any, added: AddedVocabulary) -> dict[str, Any]:
    """Return the settings of BPETokenizer that are equivalent to a post-processor.

    Args:
        processor: the post-processor in the file.
        added: the added tokens of the tokenizer.

    Returns:
        `template`, and `bos_token` and `eos_token` if it adds special tokens in their positions.

    Raises:
        ValueError: it is not one TemplateProcessing of added tokens.

    Warns:
        UserWarning: it trims offsets, which is ignored.
    """
    parts = [] if processor is None else processor.get("processors", [processor])
    if any(part["type"] == "ByteLevel" and part.get("trim_offsets", True) for part in parts):
        warnings.warn(
            "the post-processor's trim_offsets is ignored: offsets of tokens include their spaces", stacklevel=7
        )
    templates = [part for part in parts if part["type"] != "ByteLevel"]
    if not templates:
        return {}
    if len(templates) > 1 or templates[0]["type"] != "TemplateProcessing":
        raise ValueError(
            f"its post-processor {json_excerpt(processor)} is not one TemplateProcessing; the tokens that it adds to "
            "sequences would be lost"
        )
    try:
        template = as_template(templates[0])
    except ValueError as error:
        raise ValueError(f"its post-processor {json_excerpt(processor)}: {error}") from None
    if template is None:
        return {}
    for token in template.tokens:
        ids = templates[0]["special_tokens"][token]["ids"]
        if token not in added.ids or ids != [added.ids[token]]:
            raise ValueError(
                f"its post-processor adds {token!r} as the ids {ids}; expected an added token, with its own id"
            )
    return {"template": template, **_names(template, added)}


def template_processing(template: Template, ids: Mapping[str, int]) -> dict[str, Any]:
    """Return the post-processor of a `tokenizer.json` for a template, with the ids of its tokens."""
    special_tokens = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in template.tokens}
    return {"type": "TemplateProcessing", **template.to_json(), "special_tokens": special_tokens}


def json_excerpt(part: Any) -> str:
    """Return a part of a `tokenizer.json` for a message, shortened."""
    text = json.dumps(part, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def _names(template: Template, added: AddedVocabulary) -> dict[str, str]:
    """Return the names of the tokens in a bos/eos template, except for tokens that the name would make special."""
    before, after = template.special_tokens(1)
    bos, eos = next(iter(before), None), next(iter(after), None)
    tokens = {name: token for name, token in (("bos_token", bos), ("eos_token", eos)) if token is not None}
    are_special = all(added.tokens[added.ids[token]].special for token in tokens.values())
    return tokens if are_special and template.bos_eos(bos, eos) is not None else {}
