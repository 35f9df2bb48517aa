"""Methods that only BPETokenizer has, compared with what a fast tokenizer has for the same purpose."""

from functools import partial
from itertools import pairwise

from contract.comparisons import compared_with
from tokenizers.decoders import DecodeStream

OF_BPE_TOKENIZER = {}
compared = partial(compared_with, OF_BPE_TOKENIZER)


def plain_ids(tokenizer, text, **options):
    return tokenizer.encode(text, add_special_tokens=False, **options)


@compared(lambda tokenizer, case: {"ids": [plain_ids(tokenizer, case.text), plain_ids(tokenizer, case.other)]})
def encode_to_numpy(tokenizer, case):
    ids, bounds = tokenizer.encode_to_numpy([case.text, case.other])
    return {"ids": [ids[start:end].tolist() for start, end in pairwise(bounds)]}


@compared(lambda tokenizer, case: {"ids": [plain_ids(tokenizer, case.text), plain_ids(tokenizer, case.other)]})
def encode_to_lists(tokenizer, case):
    return {"ids": tokenizer.encode_to_lists([case.text, case.other])}


@compared(
    lambda tokenizer, case: {"ids": plain_ids(tokenizer, case.text), "number": [len(plain_ids(tokenizer, case.text))]}
)
def streams(tokenizer, case):
    pieces = [case.text[start : start + 3] for start in range(0, len(case.text), 3)]
    return {"ids": [*tokenizer.encode_iterable(pieces)], "number": tokenizer.count_tokens([case.text])}


@compared(
    lambda tokenizer, case: {
        "lists": [plain_ids(tokenizer, text, split_special_tokens=True) for text in (case.text, case.other)],
        "stream": plain_ids(tokenizer, case.text, split_special_tokens=True),
    }
)
def special_tokens_as_text(tokenizer, case):
    options = {"split_special_tokens": True, "num_workers": 2}
    ids, bounds = tokenizer.encode_to_numpy([case.text, case.other], **options)
    lists = tokenizer.encode_to_lists([case.text, case.other], **options)
    assert [ids[start:end].tolist() for start, end in pairwise(bounds)] == lists
    assert tokenizer.count_tokens([case.text, case.other], **options) == [*map(len, lists)]
    return {"lists": lists, "stream": [*tokenizer.encode_iterable([case.text], **options)]}


@compared(lambda tokenizer, case: {"ids": plain_ids(tokenizer, case.text + case.other)})
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


@compared(decode_stream_of_tokenizers)
def decode_stream(tokenizer, case):
    found = {}
    for skips in (False, True):
        stream = tokenizer.decode_stream(skip_special_tokens=skips)
        found[f"skip_special_tokens={skips}"] = "".join(map(stream.step, case.ids)).rstrip("\ufffd")
    return found
