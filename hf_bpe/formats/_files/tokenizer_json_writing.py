"""The content of a `tokenizer.json`; `tokenizer_json` has the format and the reader."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Collection, Mapping
from typing import Any

from hf_bpe.core._arrays import WrittenVocab
from hf_bpe.core._checks import check_gaps, unused_name
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition, token_to_json
from hf_bpe.formats._files.post_processor import post_processor
from hf_bpe.pretokenizers._pattern import GPT2, Pattern
from hf_bpe.pretokenizers._stages import ByteLevel, PreTokenizer

# `tokenizers` itself splits with the expression of GPT-2 if ByteLevel has use_regex.
_quote = json.encoder.encode_basestring


def render_tokenizer_json(definition: Definition) -> bytes:
    """Return the content of a `tokenizer.json` that gives the same ids.

    Unused ids get placeholders, so that `tokenizers` counts them. Added tokens outside the model must follow it without
    a gap, or have ids that it leaves unused.
    """
    model = definition.model
    add_prefix_space = bool(definition.setting("add_prefix_space"))
    check_prefix_space(model.pre_tokenizer, add_prefix_space)
    ids = {token.content: token_id for token_id, token in definition.added_tokens.items()}
    names = {token_id: token.content for token_id, token in definition.tokens_added_later.items()}
    alphabet, decoding, template = model.alphabet, definition.setting("decoding"), definition.template
    vocab = WrittenVocab(model.token_arrays, not alphabet.is_bytes, model.special_ids(), definition.unused_tokens)
    vocab = vocab.with_more(placeholders(vocab, names))
    unk_token = None if model.drop_missing_bytes else definition.setting("unk_token")
    if not alphabet.is_bytes:
        unk_token = alphabet.unk_token
    if unk_token is not None and not vocab.find([unk_token]):  # `tokenizers` searches it only here
        vocab = vocab.with_more({text: i for text, i in ids.items() if i <= ids.get(unk_token, -1)})
    content: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": token_id, **token_to_json(token)} for token_id, token in definition.added_tokens.items()
        ],
        "normalizer": model.normalization.json,
        "pre_tokenizer": _pre_tokenizer(model.pre_tokenizer, add_prefix_space, alphabet.is_bytes),
        "post_processor": post_processor(definition, vocab.find(template.tokens if template else ()) | ids),
        "decoder": json.loads(decoding) if decoding else ByteLevel(add_prefix_space=True, use_regex=True).to_json(),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unk_token,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": alphabet.fuse_unk,
            "byte_fallback": alphabet.byte_fallback,
            "ignore_merges": model.ignore_merges,
            # Special tokens are listed here with their ids; otherwise `tokenizers` moves them to the end.
            "vocab": {},
            "merges": [],
        },
    }
    return _with_vocab_and_merges(json.dumps(content, ensure_ascii=False, indent=2) + "\n", vocab, model)


def _with_vocab_and_merges(text: str, vocab: WrittenVocab, model: BPEModel) -> bytes:
    """Return the text of `json.dumps` with vocabulary and merges, which it would write slowly when it indents."""
    tokens, merges = model.token_arrays, model.merge_ids
    if model.alphabet.is_bytes:  # strings, which every version of `tokenizers` reads, and faster than pairs
        specials: Collection[int] | None = vocab.special.values()
        around = '\n      "', " ", '",'
    else:  # whose parts may have spaces
        specials, around = None, ('\n      [\n        "', '",\n        "', '"\n      ],')
    entries = tokens.write("json", specials, ('      "', '": ', ",\n"))
    entries += "".join(f"      {_quote(text)}: {token_id},\n" for text, token_id in vocab.more.items()).encode()
    joined = tokens.write("json", specials, around, merges).removesuffix(b",")
    in_braces = b"{\n%s\n    }" % entries.removesuffix(b",\n") if entries else b"{}"
    in_brackets = b"[%s\n    ]" % joined if joined else b"[]"
    head, empty, tail = text.rpartition('"vocab": {},\n    "merges": []')  # the last one, as the model is last
    assert empty
    return b'%s"vocab": %s,\n    "merges": %s%s' % (head.encode(), in_braces, in_brackets, tail.encode())


def check_prefix_space(pattern: Pattern, add_prefix_space: bool) -> None:
    """Refuse a prefix space that `tokenizer.json` cannot express: ByteLevel adds it only if it splits by itself."""
    if add_prefix_space and pattern.canonical not in ("gpt2", None):
        raise ValueError(
            f"add_prefix_space=True with the pattern {pattern.canonical!r:.80}: tokenizer.json cannot say that, so "
            "others would get other ids; put the space into the text, or use the pattern 'gpt2'"
        )


def _pre_tokenizer(pattern: Pattern, add_prefix_space: bool, of_bytes: bool) -> dict[str, Any] | None:
    if not of_bytes:
        return None if pattern.canonical is None else pattern.chain.to_json()
    chain = pattern.hub_chain
    if add_prefix_space:
        chain = PreTokenizer((ByteLevel(add_prefix_space=True, use_regex=pattern == GPT2),))
    return chain.to_json()


def placeholders(vocab: WrittenVocab, names: Mapping[int, str]) -> dict[str, int]:
    """Return a placeholder for each unused id below the highest of a vocabulary.

    Unused ids between it and added tokens, given as id → content, also get placeholders.
    """
    ids = vocab.ids
    size = max(ids, default=-1) + 1
    later = {token_id for token_id in names if token_id >= size}
    if max(later, default=size - 1) >= size + len(later):
        size = max(later) + 1
    if size == len(ids):
        return {}
    check_gaps(size, len(ids) + len(later))
    unused = {token_id: names.get(token_id, f"<|unused_{token_id}|>") for token_id in {*range(size)}.difference(ids)}
    taken = vocab.find(unused.values())
    added: dict[str, int] = {}
    for token_id, placeholder in sorted(unused.items()):
        if placeholder in taken or placeholder in added:
            placeholder = unused_name(ChainMap(added, vocab.entries), placeholder)
        added[placeholder] = token_id
    return added
