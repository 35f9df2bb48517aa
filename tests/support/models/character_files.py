"""`tokenizer.json` files in the manner of SentencePiece, small and random, with every part that such files hold."""

from hypothesis import strategies as st

SPACE = "▁"
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
PREPEND = {"type": "Prepend", "prepend": SPACE}
NORMALIZERS = {
    "none": None,
    "Gemma, Yi, InternLM": REPLACE,
    "Llama 2, Mistral": {"type": "Sequence", "normalizers": [PREPEND, REPLACE]},
    "prepend last": {"type": "Sequence", "normalizers": [REPLACE, PREPEND]},
    "only prepend": PREPEND,
    "NFKC": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, PREPEND, REPLACE]},
    "strip": {
        "type": "Sequence",
        "normalizers": [{"type": "Strip", "strip_left": True, "strip_right": False}, REPLACE],
    },
    "spaces collapse": {
        "type": "Sequence",
        "normalizers": [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, REPLACE],
    },
}
ALL_NORMALIZERS = tuple(NORMALIZERS.values())
METASPACES = [
    {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split}
    for scheme in ("always", "first", "never")
    for split in (True, False)
]
GEMMA_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
TO_SPACE = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
BYTES, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}


def _sequence(*decoders):
    return {"type": "Sequence", "decoders": [*decoders]}


DECODERS = [
    _sequence(TO_SPACE, BYTES, FUSE, STRIP),
    _sequence(TO_SPACE, BYTES, FUSE),
    _sequence(BYTES, FUSE, TO_SPACE, STRIP),
    _sequence(TO_SPACE, STRIP, BYTES, FUSE),
    _sequence(TO_SPACE, BYTES, FUSE, {**STRIP, "start": 3}),
    TO_SPACE,
    {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True},
    _sequence(BYTES, {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": True}),
    _sequence(BYTES, {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "never", "split": False}),
]
CHARACTERS = [SPACE, "a", "b", "c", "<", ">", "0", "x", "é", "日", "\n", "\t", "🎉", "\u0301", "Ａ"]
CONTENTS = ["<s>", "foo", "a", "ab", "▁b", " a", "a ", "\n\n", "<0x41>", "日", "é ", "▁▁", "b c", "<", "Ａ", "ａb"]
FRAGMENTS = [
    *("a", "b", "c", "ab", "abc", " ", "  ", "   ", "▁", "▁▁", " a", " b", "\n", "\n\n", "\t", "\r\n", "é", "e\u0301"),
    *("日", "本", "日日", "🎉", "👍🏽", "\x00", "\ue000", "\u0378", "\U0010ffff", "\ufffd", "\u200d", "<0x41>", "<0x"),
    *("x", "<s>", "</s>", "<unk>", "foo", "Ａ", "ﬁ", "\u3000", "\xa0", "0", "41>", "<", ">"),
]
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)


@st.composite
def files(draw, *, normalizers=ALL_NORMALIZERS):
    """Draw the content of a `tokenizer.json`.

    Args:
        normalizers: the normalizers to choose from.
    """
    characters = draw(st.lists(st.sampled_from(CHARACTERS), unique=True, min_size=3))
    falls_back = draw(st.booleans())
    unk_token = draw(st.sampled_from(["<unk>", None])) if falls_back else "<unk>"  # or characters are dropped
    # The token of a byte may be missing if its character is a token, as in the files of Gemma 1 and 2.
    missing = draw(st.sets(st.sampled_from([ord(each) for each in characters if each.isascii()] or [-1])))
    fallback = [f"<0x{byte:02X}>" for byte in range(256) if byte not in missing]
    spellings = draw(st.sampled_from([[], ["<0x+A>", "<0xaf>"]]))  # which only decoding takes for bytes
    vocab = ["<unk>", "<s>", "</s>", *(fallback if falls_back else []), *characters, *spellings]
    vocab = draw(st.permutations(vocab)) if draw(st.booleans()) else vocab
    tokens, merges = [*characters], []
    for _ in range(draw(st.integers(0, 24))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        made = "".join(pair)
        if pair in merges or made in ("<s>", "<unk>") or (made.startswith("<0x") and len(made) == 6):
            continue
        merges.append(pair)
        if made not in tokens:
            tokens.append(made)
            vocab.append(made)
    merges = draw(st.permutations(merges))
    normalizer = draw(st.sampled_from(normalizers))
    pre_tokenizers = [None, *METASPACES, *([GEMMA_SPLIT] if normalizer == REPLACE else [])]
    pre_tokenizer = draw(st.sampled_from(pre_tokenizers))
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    ids = {token: token_id for token_id, token in enumerate(vocab)}
    added = [{"content": "<s>", **dict.fromkeys(flags, False), "special": True}]
    for content in draw(st.lists(st.sampled_from(CONTENTS[1:]), unique=True, max_size=4)):
        added.append({"content": content, **{flag: draw(st.booleans()) for flag in flags}})
    if normalizer == PREPEND and pre_tokenizer in METASPACES:  # then there is a space that tokens do not find
        added = [{**token, "normalized": False} for token in added]
    following = len(ids)
    for token in added:
        token["id"] = ids.get(token["content"], following)
        following += token["content"] not in ids
    first, second = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    bos = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [bos, first],
            "pair": [bos, first, bos, second],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [ids["<s>"]], "tokens": ["<s>"]}},
        },
        "decoder": draw(st.sampled_from(DECODERS)),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unk_token,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": draw(st.booleans()),
            "byte_fallback": falls_back or draw(st.booleans()),
            "ignore_merges": False,
            "vocab": ids,
            "merges": [[*pair] for pair in merges],
        },
    }


def as_gemma_2(content):
    """Return the content of Gemma 3's file as Gemma 1 and 2 have it: the tab has the place of the token of its byte."""
    texts = ["\t" if text == "<0x09>" else text for text in content["model"]["vocab"] if text != "\t"]
    vocab = {text: token_id for token_id, text in enumerate(texts)}
    added = content["added_tokens"]
    added = [{**token, "id": vocab.get(token["content"], token["id"] - 1)} for token in added]  # one was dropped
    return {**content, "added_tokens": added, "model": {**content["model"], "vocab": vocab}}


def with_few_merges(content, merges):
    """Return the content of a real `tokenizer.json` with its first merges, and new ids."""
    model = content["model"]
    contents = {token["content"] for token in content["added_tokens"]}
    kept = (
        {token for token in model["vocab"] if len(token) == 1} | contents | {f"<0x{byte:02X}>" for byte in range(256)}
    )
    first = []
    for merge in model["merges"]:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if kept.issuperset(pair) and "".join(pair) not in contents and len(first) < merges:
            first.append([*pair])
            kept.add("".join(pair))
    vocab = {token: number for number, token in enumerate(token for token in model["vocab"] if token in kept)}
    following = len(vocab)
    added = []
    for token in content["added_tokens"]:
        added.append({**token, "id": vocab.get(token["content"], following)})
        following += token["content"] not in vocab
    for name, token in content["post_processor"]["special_tokens"].items():
        token["ids"] = [vocab[name]]
    return {**content, "added_tokens": added, "model": {**model, "vocab": vocab, "merges": first}}
