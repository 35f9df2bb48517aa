"""`tokenizer.json` of the `tokenizers` library: one file with a whole tokenizer, including pattern and flags.

The format can express more than byte-level BPE: other models and normalizers, chains of splits. Such features are
refused by name if they would change ids.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any, cast

from tokenizers import AddedToken

from hf_bpe._utils.input_files import decode, parse_json_object, read_bounded
from hf_bpe._utils.messages import warn_caller
from hf_bpe.core._arrays import WrittenVocab, change_tokens, find_tokens
from hf_bpe.core._checks import check_vocab_ids
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.encoding._encoder import as_tuples
from hf_bpe.encoding._preparation import normalized_tokens
from hf_bpe.encoding._splitting import pre_tokenize
from hf_bpe.formats._added_tokens import AddedVocabulary
from hf_bpe.formats._definition import FLAGS, Definition
from hf_bpe.formats._files.character_model import definition_of_characters, falls_back_to_bytes, is_of_characters
from hf_bpe.formats._files.native_readers import FileModel, model_of_json, read_model
from hf_bpe.formats._files.post_processor import json_excerpt, processor_settings
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.formats._format import Format, Peer
from hf_bpe.formats._verification.sides import side_of_loaded
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.pretokenizers._byte_level import from_printable
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.pretokenizers._stages import ByteLevel, Metaspace, PreTokenizer

_LOAD_ELSEWHERE = "load it with PreTrainedTokenizerFast of transformers"
_USE_OTHER = f"it is not byte-level BPE; {_LOAD_ELSEWHERE}"

TOKENIZER_JSON_FEATURES = frozenset(
    {
        *("pattern", "special_tokens", "flags", "added_tokens", "prefix_space", "trim_offsets", "bos_eos", "template"),
        *("normalizer", "ignore_merges", "missing_bytes", "unused_tokens", "characters", "decoding"),
    }
)
"""Names of the FEATURES that a `tokenizer.json` carries."""


def parse_tokenizer_json(path: str | os.PathLike[str], content: bytes) -> dict[str, Any]:
    """Return the content of a `tokenizer.json`, with a `FileModel` if it is regular."""
    path = Path(path)
    as_text = b'"ByteLevel"' not in content
    if (model := read_model(content, as_text=as_text)) is not None:
        with suppress(ValueError):  # which tells the place in the remaining JSON
            parsed = parse_json_object(path, decode(path, model[0]))
            if is_of_characters(parsed) == as_text:  # or it is a token, or written with escapes
                parsed["model"] |= {"vocab": model[1].vocab, "merges": model[1]}
                return parsed
    return parse_json_object(path, decode(path, content))


def definition_of_json(
    content: Mapping[str, Any], added: AddedVocabulary | None = None, of_file: AddedVocabulary | None = None
) -> Definition:
    """Return the definition in the parsed content of a `tokenizer.json`.

    Special tokens that the template adds before and after each sequence become `bos_token` and `eos_token`; the token
    of unknown bytes becomes `unk_token`. Without it, bytes without a token are dropped. The added tokens are those of
    the file, which are `of_file` if the caller has them, unless a reader gives `added`.
    """
    try:
        return _definition(content, added, of_file)
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a tokenizer.json: {error!r:.200}") from None


def added_tokens_of_json(content: Mapping[str, Any]) -> AddedVocabulary:
    """Return the added tokens in the content of a `tokenizer.json`, with the ids that `tokenizers` gives them."""
    try:
        _check_model(content["model"])
        return _added_tokens(content.get("added_tokens") or [], _vocab(content["model"]))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"not a tokenizer.json: {error!r:.200}") from None


def read_tokenizer_json(path: str | os.PathLike[str]) -> Definition:
    """Read a `tokenizer.json`."""
    content = parse_tokenizer_json(path, read_bounded(Path(path)))
    try:
        return definition_of_json(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _definition(
    content: Mapping[str, Any], added: AddedVocabulary | None, of_file: AddedVocabulary | None
) -> Definition:
    data = content["model"]
    of_file = added_tokens_of_json(content) if of_file is None else of_file
    if is_of_characters(content):
        try:
            return definition_of_characters(content, added or of_file, padding_and_truncation(content))
        except ValueError as error:
            raise ValueError(f"{error}; {_LOAD_ELSEWHERE}") from None
    pattern, add_prefix_space = _pattern_and_prefix_space(content.get("pre_tokenizer"))
    _check_decoder(content.get("decoder"))
    added = of_file if added is None else added
    how = pattern, bool(data.get("ignore_merges")), Normalizer.parse(content.get("normalizer"))
    model, unused = _model(data, of_file.tokens, how)
    if model.lacks_bytes:
        _check_missing_bytes(data, added, model.merges)
        model = model.with_checked(drop_missing_bytes=data.get("unk_token") is None)
    if model.normalizer is not None:
        normalized_tokens(as_tuples(added.tokens.items()), model.normalization)  # checks them
    settings = {
        "add_prefix_space": add_prefix_space or None,
        "unk_token": data.get("unk_token") if data.get("unk_token") in added.ids else None,
        "unused_tokens": {text: i for text, i in unused.items() if i not in added.tokens} or None,
        **processor_settings(content.get("post_processor"), added),
        **padding_and_truncation(content),
    }
    return Definition(model, added.tokens, settings)


def _check_model(data: Mapping[str, Any]) -> None:
    if data.get("type", "BPE") != "BPE":
        raise ValueError(f"model: is {data['type']!s:.40}, expected BPE with merges: {_USE_OTHER}")
    if not isinstance(data.get("merges"), list | FileModel):
        raise ValueError(f"model: merges: expected a list, got {data.get('merges')!r:.80}")
    if data.get("dropout"):
        raise ValueError(f"model: dropout {data['dropout']!r:.40}, which makes ids random, would be lost")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if data.get(name):
            raise ValueError(f"model: {name} {data[name]!r:.40}: {_USE_OTHER}")


def _vocab(data: Mapping[str, Any]) -> WrittenVocab:
    if isinstance(data["merges"], FileModel):
        return data["merges"].vocab
    if not isinstance(data["vocab"], dict):
        raise ValueError(f"model: vocab: expected an object of token to id, got {type(data['vocab']).__name__}")
    check_vocab_ids(data["vocab"], "model: vocab")
    return WrittenVocab(more=data["vocab"])


def _added_tokens(tokens: Sequence[Mapping[str, Any]], vocab: WrittenVocab) -> AddedVocabulary:
    flags = (*FLAGS, "special")
    for token in tokens:
        if {*map(type, map(token.get, flags, repeat(False)))} != {bool}:
            raise ValueError(f"added_tokens: expected flags that are true or false, got {token!r:.200}")
    added = AddedVocabulary(vocab)
    added.add([AddedToken(token["content"], **{flag: token.get(flag, False) for flag in flags}) for token in tokens])
    for token in tokens:
        text, token_id = token["content"], token["id"]
        expected = added.ids.get(text, token_id)
        if type(token_id) is not int or token_id != expected:
            raise ValueError(
                f"added_tokens: {text!r:.80} has the id {token_id!r:.40}, where tokenizers gives it {expected}: a "
                "token of the vocabulary has its id there, and others follow without a gap"
            )
    return added


def _model(
    data: Mapping[str, Any], added: Mapping[int, AddedToken], how: tuple[Pattern, bool, Normalizer]
) -> tuple[BPEModel, dict[str, int]]:
    """Return the model with pattern, ignore_merges and normalizer, and the entries that no text is encoded to.

    Special added tokens belong to the model, except tokens whose bytes an ordinary token has.

    An added token is also an ordinary token if merges make it, or if a whole pre-token may equal it, which `tokenizers`
    looks up in the vocabulary where text is not searched for the added token.
    """
    ids, unmerged, tokens, merges = model_of_json(data["vocab"], data["merges"])
    pattern, ignore_merges, normalizer = how
    changes: dict[int, bytes | None] = {}
    specials: dict[str, int] = {}
    unused: dict[str, int] = {}
    outside = ((token.content, i) for i, token in added.items() if token.content not in ids)
    for text, token_id in chain(unmerged.items(), outside):
        if not text:  # Whisper has such an entry; no text is encoded to it, and it decodes to nothing
            changes[token_id] = None
            unused[text] = token_id
            continue
        token = from_printable(text) if text in unmerged else None
        is_added = added.get(token_id)
        is_word = ignore_merges and is_added and token is not None and pre_tokenize(token, pattern) == [token]
        if token is not None and (len(token) == 1 or is_word):
            continue
        if is_added is not None and is_added.special:
            changes[token_id] = text.encode()
            specials[text] = token_id
        elif is_added is not None:
            changes[token_id] = None
        elif token is None:
            changes[token_id] = None
            unused[text] = token_id
        elif text.strip("<>") == f"|unused_{token_id}|":  # the names of `placeholders`
            changes[token_id] = None
    for token, token_id in find_tokens(tokens, map(str.encode, specials)).items():
        if token_id not in changes:  # it is an ordinary token
            changes[specials.pop(token.decode())] = None
    model = BPEModel.of(
        change_tokens(tokens, changes),
        merges,
        specials,
        pattern,
        ignore_merges=ignore_merges,
        normalizer=normalizer,
    )
    return model, unused


def _check_missing_bytes(data: Mapping[str, Any], added: AddedVocabulary, merges: Iterable[Merge]) -> None:
    """Refuse treatments of missing bytes other than dropping them or one added token for each."""
    unk_token = data.get("unk_token")
    if falls_back_to_bytes(data, _vocab(data)):
        raise ValueError("model: byte_fallback, with bytes that have no token, would be lost")
    if unk_token is None:
        return
    if unk_token not in added.ids or unk_token not in data["vocab"]:
        raise ValueError(
            f"model: unk_token {unk_token!r:.80} is not an added token of the vocabulary; expected one, as naming it "
            "as unk_token in tokenizer_config.json makes it"
        )
    if data.get("fuse_unk"):
        raise ValueError("model: fuse_unk, which makes one unk_token of several unknown bytes, would be lost")
    token = from_printable(unk_token)
    for rank, merge in enumerate(merges):
        if token in merge:
            raise ValueError(
                f"model: merge {rank} has unk_token {unk_token!r:.80} as a part, which stands for unknown bytes"
            )


def _pattern_and_prefix_space(pre_tokenizer: Any) -> tuple[Pattern, bool]:
    if pre_tokenizer is None:
        raise ValueError(f"it has no pre-tokenizer, expected one with ByteLevel: {_USE_OTHER}")
    try:
        chain = PreTokenizer.from_json(pre_tokenizer)
        [*earlier, last] = chain.stages
        if isinstance(last, Metaspace):
            raise ValueError("expected one with ByteLevel, as the decoder is")
        if not earlier and isinstance(last, ByteLevel) and last.add_prefix_space:  # a setting of BPETokenizer
            return Pattern.parse([replace(last, add_prefix_space=False)]), True
        return Pattern.parse(chain), False
    except ValueError as error:
        shown = json_excerpt(pre_tokenizer)
        if '"ByteLevel"' not in json.dumps(pre_tokenizer):
            raise ValueError(f"its pre-tokenizer {shown} has no ByteLevel: {_USE_OTHER}") from None
        raise ValueError(f"its pre-tokenizer {shown}: {error}") from None


def _check_decoder(decoder: Any) -> None:
    parts = [] if decoder is None else decoder.get("decoders", [decoder])
    if [part["type"] for part in parts] != ["ByteLevel"]:
        raise ValueError(f"its decoder {json_excerpt(decoder)} is not ByteLevel; decoded text would differ")


def padding_and_truncation(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that transformers reads from padding and truncation, which otherwise depend on each call."""
    settings: dict[str, Any] = {}
    truncation, padding = content.get("truncation"), content.get("padding")
    if truncation is not None:
        settings |= {"model_max_length": truncation["max_length"], "truncation_side": truncation["direction"].lower()}
    if padding is not None:
        settings |= {"pad_token": padding["pad_token"], "padding_side": padding["direction"].lower()}
    if settings:
        warn_caller(
            "padding and truncation are ignored, because each call decides them; sides, pad_token and "
            "model_max_length are",
        )
    return settings


def resolve_unk_token(definition: Definition, named: str | None) -> str | None:
    """Return the `unk_token` of a tokenizer: what its other files or its class name, or what the model needs."""
    if not definition.model.refuses_bytes:
        return named
    needed = definition.setting("unk_token")
    if named not in (None, needed):
        raise ValueError(
            f"bytes without a token become {needed!r:.80}, the unk_token of its model, and unk_token is {named!r:.80}; "
            f"set unk_token={needed!r:.80}"
        )
    return cast("str", needed)


def _matches(path: Path, head: bytes) -> bool:
    return path.name == "tokenizer.json" or (path.suffix == ".json" and b'"added_tokens"' in head)


def _write(definition: Definition, path: Path) -> None:
    path.write_bytes(render_tokenizer_json(definition))


def _peer(path: Path, definition: Definition) -> Peer:
    import tokenizers

    return side_of_loaded(tokenizers.Tokenizer.from_file(str(path)), f"tokenizers {tokenizers.__version__}").peer


FORMAT = Format(
    name="tokenizer.json",
    what="the file of the tokenizers library",
    is_file=True,
    carries=TOKENIZER_JSON_FEATURES,
    matches=_matches,
    read=lambda path, hints: read_tokenizer_json(path),
    write=_write,
    peer=_peer,
    suffix=".json",
)
