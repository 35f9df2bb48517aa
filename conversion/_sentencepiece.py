"""Recognize SentencePiece models, to say what can be done instead of reading them."""

ADVICE = (
    "a SentencePiece model, which transformers reads: load its folder with transformers.AutoTokenizer, save it, and "
    "load what it has saved, if that is BPE; or train a byte-level tokenizer on your text with hf-bpe train (the guide "
    "'Migrate from SentencePiece' maps the options)"
)


def matches(head: bytes) -> bool:
    r"""Tell whether a file begins as the protocol buffer of a SentencePiece model: with a piece and its score.

    >>> matches(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02\n\x0c\n\x03<s>")
    True
    >>> matches(b"\n\n\n# Text that begins with empty lines")
    False
    """
    if len(head) < 4 or head[0] != 0x0A or head[2] != 0x0A or head[1] >= 0x80:
        return False
    end = 4 + head[3]
    return head[end : end + 1] == b"\x15" and end + 5 <= 2 + head[1] <= len(head)
