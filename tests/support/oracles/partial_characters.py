"""Characters that begin with the bytes at the end of a text."""

import unicodedata
from functools import cache


def completions(data):
    """Return bytes that complete the character at the end of data, of up to three characters of each category."""
    try:
        data.decode()
        return [b""]
    except UnicodeDecodeError as error:
        return rests_of_characters(data[error.start :]) if error.reason == "unexpected end of data" else []


@cache
def rests_of_characters(partial):
    kinds = {}
    for code in range(0x80, 0x30000):
        char = chr(code)
        if not 0xD800 <= code <= 0xDFFF and char.encode().startswith(partial):
            key = unicodedata.category(char), unicodedata.combining(char), unicodedata.is_normalized("NFC", char)
            kinds.setdefault(key, []).append(char.encode()[len(partial) :])
    return [each for some in kinds.values() for each in some[:3]]


def is_viable(tokenizer, ids, data, more):
    """Say whether some text that continues bytes with one of some texts has ids that begin with these."""
    texts = (data + done + rest.encode() for done in completions(data) for rest in more)
    return any(tokenizer.encode_bytes(text)[: len(ids)] == ids for text in texts)
