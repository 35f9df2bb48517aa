"""Models of a `tokenizer.json` whose alphabet is characters, in the manner of SentencePiece."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tokenizers import AddedToken

from hf_bpe.core._alphabet import BYTE_TOKENS, CharacterAlphabet
from hf_bpe.core._arrays import MergeIds, TokenArrays, WrittenVocab, change_tokens
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import as_tuples
from hf_bpe.encoding._preparation import normalized_tokens
from hf_bpe.formats._added_tokens import AddedVocabulary
from hf_bpe.formats._decoder import canonical_decoding
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.native_readers import model_of_json
from hf_bpe.formats._files.post_processor import json_excerpt, processor_settings
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.pretokenizers._stages import stage_of_json


def is_of_characters(content: Mapping[str, Any]) -> bool:
    """Return whether neither the pre-tokenizer nor the decoder of a `tokenizer.json` makes bytes of text."""
    return not any('"ByteLevel"' in json.dumps(content.get(name)) for name in ("pre_tokenizer", "decoder"))


def falls_back_to_bytes(data: Mapping[str, Any], ids: WrittenVocab) -> bool:
    """Return whether `byte_fallback` of the model of a `tokenizer.json` has an effect: only with tokens of bytes."""
    return bool(data.get("byte_fallback")) and bool(ids.find(map(bytes.decode, BYTE_TOKENS)))


def definition_of_characters(content: Mapping[str, Any], added: AddedVocabulary, more: Mapping[str, Any]) -> Definition:
    """Return the definition in the content of a `tokenizer.json` with all added tokens, and with more settings."""
    from hf_bpe.encoding._character_encoder import check_character_tokens  # imports numpy

    model, unused = _model(content, added.tokens)
    if model.normalizer is not None:
        normalized_tokens(as_tuples(added.tokens.items()), model.normalization)  # checks them
    check_character_tokens(model, as_tuples(added.tokens.items()))
    unk_token = content["model"].get("unk_token")
    settings = {
        "unk_token": unk_token if unk_token in added.ids else None,
        "unused_tokens": {text: i for text, i in unused.items() if i not in added.tokens} or None,
        "decoding": _decoding(content.get("decoder")),
        **processor_settings(content.get("post_processor"), added),
        **more,
    }
    return Definition(model, added.tokens, settings)


def _decoding(decoder: Any) -> str | None:
    if decoder is None:
        raise ValueError("it has no decoder, so that tokenizers puts spaces between tokens; expected one")
    try:
        return canonical_decoding(decoder)
    except ValueError as error:
        raise ValueError(f"its decoder {json_excerpt(decoder)}: {error}") from None


def _model(content: Mapping[str, Any], added: Mapping[int, AddedToken]) -> tuple[BPEModel, dict[str, int]]:
    """Return the model, and text → id of entries to which no text is encoded."""
    data = content["model"]
    ids, unmerged, tokens, merges = model_of_json(data["vocab"], data["merges"], as_text=True)
    normalizer = Normalizer.parse(content.get("normalizer"))
    pattern = _pattern(content.get("pre_tokenizer"), normalizer)
    alphabet = CharacterAlphabet(falls_back_to_bytes(data, ids), data.get("unk_token"), bool(data.get("fuse_unk")))
    stand_ins = {*map(bytes.decode, alphabet.stand_ins)}
    changes: dict[int, bytes | None] = {}
    specials: list[str] = []
    unused: dict[str, int] = {}
    if isinstance(tokens, TokenArrays) and not unmerged.keys() >= ids.find(stand_ins).keys():
        merges = MergeIds.pairs(cast("MergeIds", merges), tokens.to_dict())  # to be refused by the model
    for text, token_id in unmerged.items():
        is_added = added.get(token_id)
        if not text:
            changes[token_id] = None
            unused[text] = token_id
        elif is_added is not None and is_added.special and len(text) > 1:
            specials.append(text)
        elif len(text) == 1 or text in stand_ins:
            continue
        elif is_added is not None or text.strip("<>") == f"|unused_{token_id}|":
            changes[token_id] = None
    for token_id, token in added.items():
        # `tokenizers` looks up characters, and the tokens of bytes, only in the vocabulary.
        is_text = len(token.content) == 1 or token.content.encode() in BYTE_TOKENS
        if token.content not in ids and token.special and not is_text:
            specials.append(token.content)
            changes[token_id] = token.content.encode()
    model = BPEModel.of(
        change_tokens(tokens, changes),
        merges,
        specials,
        pattern,
        ignore_merges=bool(data.get("ignore_merges")),
        normalizer=normalizer,
        alphabet=alphabet,
    )
    return model, unused


def _pattern(pre_tokenizer: Any, normalizer: Normalizer) -> Pattern:
    if pre_tokenizer is None:
        return Pattern(None)
    shown = json_excerpt(pre_tokenizer)
    parts = pre_tokenizer["pretokenizers"] if pre_tokenizer["type"] == "Sequence" else [pre_tokenizer]
    # Gemma's Split at spaces finds none, because its normalizer has replaced them.
    kept = [part for part in parts if not (_splits_at_spaces(part) and normalizer.leaves_no_space)]
    if not kept:
        return Pattern(None)
    if len(kept) == 1 and kept[0]["type"] == "Metaspace":
        if kept[0].get("prepend_scheme") == "first" and not normalizer.keeps_beginning:
            raise ValueError(
                f"its pre-tokenizer {shown} treats the beginning of a text differently, and its normalizer may "
                "remove that; expected a normalizer that does not, or another prepend_scheme"
            )
        try:
            return Pattern.parse([stage_of_json(kept[0])])
        except ValueError as error:
            raise ValueError(f"its pre-tokenizer {shown}: {error}") from None
    raise ValueError(
        f"its pre-tokenizer {shown} has no ByteLevel, and is neither Metaspace nor a Split at spaces that the "
        "normalizer has replaced: it is neither byte-level BPE nor in the manner of SentencePiece"
    )


def _splits_at_spaces(part: Mapping[str, Any]) -> bool:
    return part["type"] == "Split" and part["pattern"] == {"String": " "} and not part.get("invert", False)
