"""The post-processor of a `tokenizer.json`, which adds special tokens to sequences and trims offsets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hf_bpe.formats._added_tokens import AddedVocabulary
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._template import Template, TemplatePiece, as_template
from hf_bpe.pretokenizers._stages import ByteLevel


def processor_settings(processor: object, added: AddedVocabulary) -> dict[str, Any]:
    """Return the settings of BPETokenizer that are equivalent to a post-processor.

    These are `template`, with `bos_token` and `eos_token` if it adds special tokens there, and `trim_offsets`.
    """
    parts = _parts(processor)
    templates = [part for part in parts if part["type"] in _TEMPLATES]
    if len(templates) > 1 or not all(part["type"] in (*_TEMPLATES, "ByteLevel") for part in parts):
        raise ValueError(
            f"its post-processor {json_excerpt(processor)} is not one of {', '.join(_TEMPLATES)} with ByteLevel; the "
            "tokens that it adds to sequences would be lost"
        )
    settings: dict[str, Any] = {}
    if trims := [part for part in parts if part["type"] in _TRIMMING and part.get("trim_offsets", True)]:
        if len({part["add_prefix_space"] for part in trims}) > 1:
            raise ValueError(f"its post-processor {json_excerpt(processor)} trims offsets in two ways; expected one")
        settings["trim_offsets"] = "prefix" if trims[0]["add_prefix_space"] else True
    for part in templates:
        try:
            template = as_template(_TEMPLATES[part["type"]](part, added))
        except ValueError as error:
            raise ValueError(f"its post-processor {json_excerpt(processor)}: {error}") from None
        if template is not None:
            settings |= {"template": template, **_names(template, added)}
    return settings


def template_with_type_ids(processor: object, added: AddedVocabulary) -> Template:
    """Return the template of a post-processor for which `processor_settings` does not raise, with all type ids.

    Without a template the sequences of a pair have the type ids 0 and 1.
    """
    for part in _parts(processor):
        if part["type"] in _TEMPLATES:
            return _TEMPLATES[part["type"]](part, added)
    first, second = TemplatePiece("A", True), TemplatePiece("B", True, 1)
    return Template((first,), (first, second))


def post_processor(definition: Definition, ids: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the post-processor of a `tokenizer.json`; `ids` has the ids of the template's tokens."""
    parts: list[dict[str, Any]] = []
    if trims := definition.setting("trim_offsets"):
        parts.append(ByteLevel(add_prefix_space=trims == "prefix", use_regex=True).to_json())
    if (template := definition.template) is not None:
        special_tokens = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in template.tokens}
        parts.append({"type": "TemplateProcessing", **template.to_json(), "special_tokens": special_tokens})
    return {"type": "Sequence", "processors": parts} if len(parts) == 2 else next(iter(parts), None)


def _parts(processor: Any) -> list[Mapping[str, Any]]:
    if processor is None:
        return []
    if processor["type"] == "Sequence":
        return [part for each in processor["processors"] for part in _parts(each)]
    return [processor]


def _template_of_processing(part: Mapping[str, Any], added: AddedVocabulary) -> Template:
    """Return the template of a TemplateProcessing, in which one name may stand for several tokens."""
    template = Template.from_json(part)

    def pieces(each: Iterable[TemplatePiece]) -> tuple[TemplatePiece, ...]:
        return tuple(
            token
            for piece in each
            for token in ([piece] if piece.is_sequence else [piece._replace(name=name) for name in names[piece.name]])
        )

    names = {
        name: [_checked(token, token_id, added) for token, token_id in zip(entry["tokens"], entry["ids"], strict=True)]
        for name, entry in part["special_tokens"].items()
    }
    if missing := [token for token in template.tokens if token not in names]:
        raise ValueError(f"it adds {missing[0]!r}, which is not among its special_tokens")
    return Template(pieces(template.single), pieces(template.pair))


def _template_of_roberta(part: Mapping[str, Any], added: AddedVocabulary) -> Template:
    cls, sep = _ends(part, added)
    first, second = TemplatePiece("A", True), TemplatePiece("B", True)
    return Template((cls, first, sep), (cls, first, sep, sep, second, sep))


def _template_of_bert(part: Mapping[str, Any], added: AddedVocabulary) -> Template:
    cls, sep = _ends(part, added)
    single = cls, TemplatePiece("A", True), sep
    return Template(single, (*single, TemplatePiece("B", True, 1), sep._replace(type_id=1)))


def _ends(part: Mapping[str, Any], added: AddedVocabulary) -> tuple[TemplatePiece, TemplatePiece]:
    (cls, cls_id), (sep, sep_id) = part["cls"], part["sep"]
    return TemplatePiece(_checked(cls, cls_id, added)), TemplatePiece(_checked(sep, sep_id, added))


_TEMPLATES: dict[str, Callable[[Mapping[str, Any], AddedVocabulary], Template]] = {
    "TemplateProcessing": _template_of_processing,
    "RobertaProcessing": _template_of_roberta,
    "BertProcessing": _template_of_bert,
}
_TRIMMING = ("ByteLevel", "RobertaProcessing")


def _checked(token: str, token_id: int, added: AddedVocabulary) -> str:
    """Return the token if it has this id."""
    if added.id_of(token) != token_id:
        raise ValueError(f"it adds {token!r:.80} as the id {token_id}; expected a token with its own id")
    return token


def json_excerpt(part: object) -> str:
    """Return a part of a `tokenizer.json` for a message, shortened to its first 200 characters."""
    text = json.dumps(part, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def _names(template: Template, added: AddedVocabulary) -> dict[str, str]:
    """Return the names of the tokens in a bos/eos template, except for tokens that the name would make special."""
    before, after = template.special_tokens(1)
    bos, eos = next(iter(before), None), next(iter(after), None)
    tokens = {name: token for name, token in (("bos_token", bos), ("eos_token", eos)) if token is not None}
    are_special = all(token in added.ids and added.tokens[added.ids[token]].special for token in tokens.values())
    return tokens if are_special and template.bos_eos(bos, eos) is not None else {}
