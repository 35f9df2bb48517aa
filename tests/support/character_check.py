"""Files in SentencePiece's manner around real vocabularies, compared with the `tokenizers` library.

Every normalizer of these families is put together with every pre-tokenizer around one of the vocabularies. These take
turns, and so do decoders, what becomes of unknown characters, templates and the flags of more added tokens.

Ids are compared of all texts; of strings, and of every sixteenth batch of texts, also type ids, offsets, words and
decoded text, in turn without special tokens, with them, and as pairs. Lone surrogates in strings stand for U+FFFD, as
which hf_bpe reads them.
"""

import json
import random
import re
import sys
import tempfile
import unicodedata
from collections import Counter
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from hf_bpe import BPETokenizer
from hf_bpe.normalizers._backend import panics_as_errors
from support.character_files import (
    CONTENTS,
    DECODERS,
    FRAGMENTS,
    GEMMA_SPLIT,
    METASPACES,
    NORMALIZERS,
    PREPEND,
    REPLACE,
)

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
UNKNOWN = {"bytes": {}, "unk": {"byte_fallback": False}, "fused unk": {"byte_fallback": False, "fuse_unk": True}}
"""What becomes of characters without a token → what the model says."""
MORE_TOKENS = 6
WORDS = ["the", "low", "er", "Größe", "naïve", "слово", "日本語", "한국어", "ไทย", "العربية", "हिन्दी", "x1", "3.14"]
WORDS += ["//", "</", "{}", "::"]
SPACES = [" ", "  ", "    ", "▁", "▁▁", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x00", "\x7f"]
UNASSIGNED = ["\u0378", "\u038b", "\ue000", "\uf8ff", "\ufdd0", "\U000e0041", "\U0010ffff", "\U00032e88"]
BYTES = ["<0x41>", "<0x0A>", "<0xE2><0x96><0x81>", "<0x", "0x41>"]
SURROGATES = {"high": ["\ud800", "\udbff"], "low": ["\udc00", "\udc80", "\udfff"]}  # not both in a string: they join


def nasty_strings(number, tokens, added):
    """Yield random strings of all that tells tokenizers of characters apart, one in eight with lone surrogates."""
    draw = random.Random(f"{number} 0")
    kinds = [WORDS, WORDS, SPACES, SPACES, FRAGMENTS, UNASSIGNED, BYTES, tokens, added or WORDS]
    for _ in range(number):
        parts = [draw.choice(draw.choice(kinds)) for _ in range(draw.randrange(1, 10))]
        if draw.random() < 0.3:
            code = draw.randrange(0x30000)
            parts.append(chr(code) if unicodedata.category(chr(code)) != "Cs" else "?")
        if draw.random() < 0.125:
            parts.append(draw.choice(SURROGATES[draw.choice([*SURROGATES])]))
        draw.shuffle(parts)
        yield "".join(parts) * draw.choice((1, 1, 1, 2, 17))


def combined(content, number, normalizer, pre_tokenizer):
    """Return what is said of a file with these parts, and its content: all else is chosen by its number."""
    draw = random.Random(number)
    unknown = draw.choice([*UNKNOWN])
    ids = content["model"]["vocab"]
    added = [*content["added_tokens"]]
    contents = {token["content"] for token in added}
    following = max(*ids.values(), *(token["id"] for token in added)) + 1
    for text in draw.sample([text for text in CONTENTS if text not in contents], MORE_TOKENS):
        flags = {flag: draw.random() < 0.5 for flag in FLAGS}
        added.append({"id": ids.get(text, following), "content": text, **flags})
        following += text not in ids
    # Tokens are not searched in text that has another beginning, or in which two are the same.
    if normalizer == NORMALIZERS["strip"] or (normalizer == PREPEND and pre_tokenizer in METASPACES):
        added = [{**token, "normalized": False} for token in added]
    made = {
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "decoder": DECODERS[number % len(DECODERS)],
        "model": {**content["model"], **UNKNOWN[unknown]},
    }
    if number % 4 == 0:
        made["post_processor"] = None
    return unknown, {**content, **made}


def files(folders):
    """Yield the name and the content of each file around the vocabularies of folders."""
    contents = [json.loads((folder / "tokenizer.json").read_text("utf-8")) for folder in folders]
    number = 0
    for name, normalizer in NORMALIZERS.items():
        for pre_tokenizer in [None, *METASPACES, *([GEMMA_SPLIT] if normalizer == REPLACE else [])]:
            which = number % len(folders)
            unknown, content = combined(contents[which], number, normalizer, pre_tokenizer)
            shown = "none" if pre_tokenizer is None else pre_tokenizer["type"]
            if shown == "Metaspace":
                shown += f" {pre_tokenizer['prepend_scheme']}{', split' if pre_tokenizer['split'] else ''}"
            yield f"{folders[which].name}: {name}; {shown}; {unknown}; {number}", content
            number += 1


def check(content, texts, strings):
    """Return kind of comparison → number of rows that differ, or why the file is refused.

    Args:
        content: the content of a `tokenizer.json`.
        texts: what is encoded.
        strings: the number of random strings that are encoded, too.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        path.write_text(json.dumps(content), "utf-8")
        try:
            ours = BPETokenizer.convert_from(path)
        except ValueError as error:
            return str(error).replace(folder, "")
        theirs = Tokenizer.from_file(str(path))
    tokens = [token for token in content["model"]["vocab"] if token]
    added = [token["content"] for token in content["added_tokens"]]
    found = Counter()
    for number, batch in enumerate(batches(texts)):
        expected = [encoding.ids for encoding in theirs.encode_batch_fast(batch, add_special_tokens=False)]
        note(found, "ids", batch, ours.encode_to_lists(batch), expected)
        if number % 16 == 0:
            compare_all(found, ours, theirs, batch, number // 16)
    for number, batch in enumerate(batches(nasty_strings(strings, tokens, added))):
        compare_all(found, ours, theirs, batch, number)
    return found


def batches(texts):
    stream = iter(texts)
    while batch := [*islice(stream, 250)]:
        yield batch


def note(found, kind, texts, ours, theirs):
    """Count the rows that differ, and print the first ones."""
    for text, row, expected in zip(texts, ours, theirs, strict=True):
        if row != expected:
            found[kind] += 1
            if found.total() <= 3:
                print(
                    f"  {kind}: {text!r:.100}\n    ours   {row!r:.200}\n    theirs {expected!r:.200}", file=sys.stderr
                )


def compare_all(found, ours, theirs, texts, number):
    kind = ("text", "text with special tokens", "pair")[number % 3]
    columns = (texts[::2], [*texts[1::2], texts[-1]]) if kind == "pair" else (texts,)
    rows = [*zip(*columns, strict=False)]
    added = kind != "text"
    encodings = encode(theirs, rows, added)
    rows = [row for row, encoding in zip(rows, encodings, strict=True) if encoding is not None]
    encodings = [encoding for encoding in encodings if encoding is not None]
    how = {"return_offsets_mapping": True, "return_token_type_ids": True}
    got = ours(*([row[i] for row in rows] for i in range(len(columns))), add_special_tokens=added, **how)
    note(found, kind, rows, got["input_ids"], [encoding.ids for encoding in encodings])
    if ours.template is not None:  # without a template they are documented to be 0
        note(found, "type ids", rows, got["token_type_ids"], [encoding.type_ids for encoding in encodings])
    note(found, "offsets", rows, got["offset_mapping"], [encoding.offsets for encoding in encodings])
    words = [got.word_ids(i) for i in range(len(rows))]
    note(found, "words", rows, words, [encoding.word_ids for encoding in encodings])
    decoded = theirs.decode_batch(got["input_ids"], skip_special_tokens=False)
    note(found, "decode", rows, ours.batch_decode(got["input_ids"]), decoded)


def encode(theirs, rows, added):
    """Return what `tokenizers` makes of texts or pairs, with None where it panics."""
    read = [[re.sub("[\ud800-\udfff]", "\ufffd", text) for text in row] for row in rows]
    try:
        with panics_as_errors():
            return theirs.encode_batch([row if row[1:] else row[0] for row in read], add_special_tokens=added)
    except ValueError:
        return [encoding for row in rows for encoding in encode(theirs, [row], added)] if len(rows) > 1 else [None]
