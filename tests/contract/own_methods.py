"""What only BPETokenizer has, compared with what a fast tokenizer has for the same purpose."""

from itertools import pairwise

from contract.comparisons import Comparison
from tokenizers.decoders import DecodeStream

OF_BPE_TOKENIZER = {}


def plain_ids(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False)


def compared_with(see):
    """Return a decorator of what is seen of a BPETokenizer; `see` is what is seen of a fast tokenizer."""

    def add(function):
        name = function.__name__
        OF_BPE_TOKENIZER[name] = Comparison(name, see, function, is_of_texts=True, decides_ids=True)
        return function

    return add


@compared_with(lambda tokenizer, case: {"ids": [plain_ids(tokenizer, case.text), plain_ids(tokenizer, case.other)]})
def encode_to_numpy(tokenizer, case):
    ids, bounds = tokenizer.encode_to_numpy([case.text, case.other])
    return {"ids": [ids[start:end].tolist() for start, end in pairwise(bounds)]}


@compared_with(lambda tokenizer, case: {"ids": [plain_ids(tokenizer, case.text), plain_ids(tokenizer, case.other)]})
def encode_to_lists(tokenizer, case):
    return {"ids": tokenizer.encode_to_lists([case.text, case.other])}


@compared_with(
    lambda tokenizer, case: {"ids": plain_ids(tokenizer, case.text), "number": [len(plain_ids(tokenizer, case.text))]}
)
def streams(tokenizer, case):
    pieces = [case.text[start : start + 3] for start in range(0, len(case.text), 3)]
    return {"ids": [*tokenizer.encode_iterable(pieces)], "number": tokenizer.count_tokens([case.text])}


@compared_with(lambda tokenizer, case: {"ids": plain_ids(tokenizer, case.text + case.other)})
def session(tokenizer, case):
    session = tokenizer.session(case.text)
    session.append(case.other)
    return {"ids": session.ids}


def decode_stream_of_tokenizers(tokenizer, case):
    """See the text of a stream, without bytes at its end that are no character: theirs keeps some of them back."""
    found = {}
    for skips in (False, True):
        stream = DecodeStream(skip_special_tokens=skips)
        steps = [stream.step(tokenizer.backend_tokenizer, token_id) for token_id in case.ids]
        found[f"skip_special_tokens={skips}"] = "".join(step or "" for step in steps).rstrip("\ufffd")
    return found


@compared_with(decode_stream_of_tokenizers)
def decode_stream(tokenizer, case):
    found = {}
    for skips in (False, True):
        stream = tokenizer.decode_stream(skip_special_tokens=skips)
        found[f"skip_special_tokens={skips}"] = "".join(map(stream.step, case.ids)).rstrip("\ufffd")
    return found
