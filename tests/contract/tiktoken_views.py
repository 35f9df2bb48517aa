"""An encoding of tiktoken as a user sees it, compared with what our tokenizers have for it.

tiktoken repairs lone surrogates and finds special tokens where `allowed_special` says so; its offsets are those of
`decode_with_offsets`, the beginnings of tokens.
"""

from functools import partial

from contract.comparisons import compared_with

OF_TIKTOKEN = {}
compared = partial(compared_with, OF_TIKTOKEN)


@compared(
    lambda encoding, case: {
        "encode": encoding.encode(case.text, allowed_special="all"),
        "as text": encoding.encode(case.text, disallowed_special=()),
        "a batch": encoding.encode_batch([case.text, case.other], allowed_special="all"),
    }
)
def ids_of_tiktoken(tokenizer, case):
    return {
        "encode": tokenizer.encode(case.text),
        "as text": tokenizer.encode(case.text, split_special_tokens=True),
        "a batch": tokenizer([case.text, case.other])["input_ids"],
    }


@compared(
    lambda encoding, case: {
        "decode": encoding.decode([*case.ids]),
        "part of a character": encoding.decode([*case.ids[1:]]),
        "batch_decode": encoding.decode_batch([[*case.ids], []]),
    }
)
def text_of_ids_of_tiktoken(tokenizer, case):
    return {
        "decode": tokenizer.decode([*case.ids]),
        "part of a character": tokenizer.decode([*case.ids[1:]]),
        "batch_decode": tokenizer.batch_decode([[*case.ids], []]),
    }


@compared(lambda encoding, case: {"starts": encoding.decode_with_offsets([*case.ids])[1]})
def offsets_of_tiktoken(tokenizer, case):
    return {"starts": [start for start, _ in tokenizer(case.text, return_offsets_mapping=True)["offset_mapping"]]}


def tokens_of_encoding(encoding, case):
    special = {encoding.encode_single_token(token) for token in encoding.special_tokens_set}
    return {"n_vocab": encoding.n_vocab, "special ids": special}


@compared(tokens_of_encoding, is_of_texts=False)
def size_of_tiktoken(tokenizer, case):
    return {"n_vocab": len(tokenizer), "special ids": {*tokenizer.all_special_ids}}
