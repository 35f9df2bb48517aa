"""Our names for those of other libraries, for the messages of attributes that do not exist.

`BPETokenizer` has the methods of transformers. People who come from tokenizers, tiktoken or SentencePiece try the names
that they know; each still raises an AttributeError, which says what to write instead.
"""

from __future__ import annotations

from abc import ABCMeta
from typing import TYPE_CHECKING

_LOADING = "BPETokenizer.from_pretrained(folder), or BPETokenizer.convert_from(file)"
_TRAINING = "BPETokenizer.train(texts, vocab_size=32000)"

# SentencePiece has two spellings of most names.
_ADVICE = {
    'tokenizer(texts)["input_ids"], or encode_to_lists(texts), which adds no special tokens': "encode_batch",
    "encode_to_lists(texts)": "encode_batch_fast",
    "encode_to_lists(texts, split_special_tokens=True)": "encode_ordinary_batch",
    "tokenizer(text)": "encode_plus",
    "tokenizer(texts)": "batch_encode_plus",
    "encode(text, add_special_tokens=False)": "EncodeAsIds encode_as_ids",
    "encode(text, split_special_tokens=True)": "encode_ordinary",
    "encode(text, dropout=0.1, seed=0)": "SampleEncodeAsIds sample_encode_as_ids nbest_encode_as_ids NBestEncodeAsIds",
    "tokenize(text)": "EncodeAsPieces encode_as_pieces",
    "decode(ids, skip_special_tokens=True)": "DecodeIds decode_ids",
    "batch_decode(rows, skip_special_tokens=True)": "decode_batch",
    "decode_bytes(id)": "decode_single_token_bytes id_to_bytes",
    "[tokenizer.decode_bytes(id) for id in ids]": "decode_tokens_bytes",
    "[tokenizer.decode_bytes(ids) for ids in rows]": "decode_bytes_batch",
    "spans(ids), of which characters are the offsets": "decode_with_offsets",
    "convert_tokens_to_string(tokens)": "DecodePieces decode_pieces",
    "convert_tokens_to_ids(token)": "token_to_id encode_single_token PieceToId piece_to_id",
    "convert_ids_to_tokens(id)": "id_to_token IdToPiece id_to_piece",
    "canonical_ids(), which knows how tokens may go on": "encode_with_unstable",
    "len(tokenizer)": "get_vocab_size n_vocab GetPieceSize get_piece_size piece_size",
    "len(tokenizer) - 1": "max_token_value",
    "token_bytes(), or model.vocab.values()": "token_byte_values",
    "added_tokens_decoder": "get_added_tokens_decoder",
    "all_special_tokens": "special_tokens_set special_tokens",
    "all_special_ids": "special_token_ids",
    "id in tokenizer.all_special_ids": "is_special_token",
    "split_special_tokens": "encode_special_tokens",
    "bos_token_id": "bos_id",
    "eos_token_id": "eos_id eot_token",
    "pad_token_id": "pad_id",
    "unk_token_id": "unk_id",
    "tokenizer(texts, padding=True), in each call": "enable_padding no_padding",
    "tokenizer(texts, truncation=True, max_length=512), in each call": "enable_truncation no_truncation",
    "pattern, which is set in training": "pre_tokenizer",
    "template, or add_bos_token and add_eos_token": "post_processor",
    'save_pretrained(folder), or convert_to("tokenizer.json") for the one file': "save save_model",
    "backend_tokenizer.to_str()": "to_str",
    "get_vocab()": "vocab",
    "model.merges": "merges",
    "model.fingerprint": "fingerprint",
    "count_tokens(text)": "count n_tokens",
    "decode_stream()": "stream stream_decode",
    "prefix_cache": "cache",
    "tokenizer(text), whose result has it": "char_to_token word_ids tokens offsets",
    "convert_to(path), or BPETokenizer.convert_from(file)": "convert",
    "the command hf-bpe inspect": "inspect",
    "the command hf-bpe verify; convert_to verifies what it writes": "verify",
    "hf_bpe.analysis.merge_tree(tokenizer, token)": "tree merge_tree",
    "hf_bpe.analysis.show(tokenizer, text)": "show",
    "hf_bpe.analysis.report(tokenizer, texts)": "report fertility",
    "hf_bpe.analysis.compare([tokenizer, other], texts)": "compare",
    "BPETokenizer.convert_from(tokenizers.Tokenizer.from_str(content))": "from_str",
    'BPETokenizer.convert_from("cl100k_base"), with tiktoken installed': "from_tiktoken",
    _LOADING: "from_file Load load LoadFromFile",
    _TRAINING: "train_from_iterator",
}
_ADVICE_OF_PACKAGE = {
    "BPETokenizer": "Tokenizer ByteLevelBPETokenizer Encoding",
    "BPETokenizerFast": "PreTrainedTokenizerFast",
    "BPEModel": "models BPE",
    "transformers.AutoTokenizer, which loads the tokenizers of hf_bpe; or BPETokenizer": "AutoTokenizer",
    "BPETokenizer.from_pretrained(folder)": "from_pretrained",
    'BPETokenizer.convert_from("cl100k_base"), with tiktoken installed': "get_encoding list_encoding_names",
    'BPETokenizer.convert_from("gpt-4o"), with tiktoken installed': "encoding_for_model",
    "BPETokenizer.convert_from(file), then convert_to(file)": "convert",
    "the command hf-bpe inspect": "inspect",
    "the command hf-bpe verify; BPETokenizer.convert_to verifies what it writes": "verify",
    "BPETokenizer.encode": "encode",
    "BPETokenizer.decode": "decode decoders",
    "hf_bpe.pretokenizers": "pre_tokenizers",
    "hf_bpe.formats.Template": "processors",
    "hf_bpe.editing.Remap": "Remap",
    "hf_bpe.editing.embeddings.remap_embeddings": "remap_embeddings",
    "hf_bpe.counting.NormalizedTexts; with normalizer=… train and extend normalize by themselves": "NormalizedTexts",
    _LOADING: "from_file load SentencePieceProcessor",
    _TRAINING: "BpeTrainer Trainer trainers train_from_iterator SentencePieceTrainer",
}

OTHER_NAMES = {name: advice for advice, names in _ADVICE.items() for name in names.split()}
"""Name → what it is in BPETokenizer."""


class TokenizerType(ABCMeta):  # an ABCMeta, so that subclasses may be abstract, too
    """The type of the classes of tokenizers, which says what names of other libraries are here."""

    if not TYPE_CHECKING:  # or type checkers would take any name

        def __getattr__(cls, key: str) -> object:
            message = f"{cls.__name__} has no attribute {key}"
            if key in OTHER_NAMES:
                message += f"; in BPETokenizer it is {OTHER_NAMES[key]}"
            raise AttributeError(message, name=key, obj=cls)


OTHER_NAMES_OF_PACKAGE = {
    **{name: advice for advice, names in _ADVICE_OF_PACKAGE.items() for name in names.split()},
    **{name: f"hf_bpe.analysis.{name}" for name in ("compare", "merge_tree", "report", "show")},
    **{name: f"BPETokenizer.{name}, or hf_bpe.editing.{name}" for name in ("extend", "prune", "truncate")},
    **{name: f"hf_bpe.training.{name}" for name in ("Parity", "Superwords")},
    **{name: f"hf_bpe.encoding.{name}" for name in ("DecodeStream", "PrefixCache", "Session")},
    **{name: f"BPETokenizer.{name}" for name in ("encode_files", "push_to_hub", "tokenize")},
    **dict.fromkeys(("save", "save_pretrained"), "BPETokenizer.save_pretrained(folder)"),
    **dict.fromkeys(("Playground", "serve"), "hf_bpe.playground.Playground"),
}
"""Name → what it is in hf_bpe."""
