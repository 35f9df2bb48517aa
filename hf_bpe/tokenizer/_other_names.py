"""What the names of other libraries are called here, for the messages of attributes that do not exist.

`BPETokenizer` has the methods of transformers. People who come from tokenizers, tiktoken or SentencePiece try the names
that they know; each still raises an AttributeError, which says what to write instead.
"""

from __future__ import annotations

_IDS_OF_TEXT = "encode(text, add_special_tokens=False)"
_IDS_OF_TEXTS = 'tokenizer(texts)["input_ids"], or encode_to_lists(texts), which adds no special tokens'
_TOKENS = "tokenize(text)"
_TEXT_OF_IDS = "decode(ids, skip_special_tokens=True)"
_TEXTS_OF_IDS = "batch_decode(rows, skip_special_tokens=True)"
_ID = "convert_tokens_to_ids(token)"
_TOKEN = "convert_ids_to_tokens(id)"
_SIZE = "len(tokenizer)"
_PADDING = "tokenizer(texts, padding=True), in each call"
_TRUNCATION = "tokenizer(texts, truncation=True, max_length=512), in each call"
_SAVING = 'save_pretrained(folder), or convert_to("tokenizer.json") for the one file'
_LOADING = "BPETokenizer.from_pretrained(folder), or BPETokenizer.convert_from(file)"
_TRAINING = "BPETokenizer.train(texts, vocab_size=32000)"

OTHER_NAMES: dict[str, str] = {
    # tokenizers.
    "encode_batch": _IDS_OF_TEXTS,
    "encode_batch_fast": "encode_to_lists(texts)",
    "decode_batch": _TEXTS_OF_IDS,
    "token_to_id": _ID,
    "id_to_token": _TOKEN,
    "get_vocab_size": _SIZE,
    "get_added_tokens_decoder": "added_tokens_decoder",
    "encode_special_tokens": "split_special_tokens",
    "enable_padding": _PADDING,
    "no_padding": _PADDING,
    "enable_truncation": _TRUNCATION,
    "no_truncation": _TRUNCATION,
    "pre_tokenizer": "pattern, which is set in training",
    "post_processor": "template, or add_bos_token and add_eos_token",
    "train_from_iterator": _TRAINING,
    "to_str": "backend_tokenizer.to_str()",
    "save": _SAVING,
    "save_model": _SAVING,
    "from_file": _LOADING,
    "from_str": "BPETokenizer.convert_from(tokenizers.Tokenizer.from_str(content))",
    # transformers 4.
    "encode_plus": "tokenizer(text)",
    "batch_encode_plus": "tokenizer(texts)",
    # tiktoken.
    "encode_ordinary": "encode(text, split_special_tokens=True)",
    "encode_ordinary_batch": "encode_to_lists(texts, split_special_tokens=True)",
    "encode_single_token": _ID,
    "encode_with_unstable": "canonical_ids(), which knows how tokens may go on",
    "decode_single_token_bytes": "decode_bytes(id)",
    "decode_tokens_bytes": "[tokenizer.decode_bytes(id) for id in ids]",
    "decode_bytes_batch": "[tokenizer.decode_bytes(ids) for ids in rows]",
    "decode_with_offsets": "spans(ids), of which characters are the offsets",
    "token_byte_values": "token_bytes(), or model.vocab.values()",
    "n_vocab": _SIZE,
    "max_token_value": "len(tokenizer) - 1",
    "eot_token": "eos_token_id",
    "special_tokens_set": "all_special_tokens",
    "is_special_token": "id in tokenizer.all_special_ids",
    # SentencePiece, which has two spellings of most names.
    **dict.fromkeys(("EncodeAsIds", "encode_as_ids"), _IDS_OF_TEXT),
    **dict.fromkeys(("EncodeAsPieces", "encode_as_pieces"), _TOKENS),
    **dict.fromkeys(("SampleEncodeAsIds", "sample_encode_as_ids"), "encode(text, dropout=0.1, seed=0)"),
    **dict.fromkeys(("DecodeIds", "decode_ids"), _TEXT_OF_IDS),
    **dict.fromkeys(("DecodePieces", "decode_pieces"), "convert_tokens_to_string(tokens)"),
    **dict.fromkeys(("PieceToId", "piece_to_id"), _ID),
    **dict.fromkeys(("IdToPiece", "id_to_piece"), _TOKEN),
    **dict.fromkeys(("GetPieceSize", "get_piece_size", "piece_size"), _SIZE),
    **dict.fromkeys(("Load", "load", "LoadFromFile"), _LOADING),
    # What people try for the encodings of tiktoken.
    "from_tiktoken": 'BPETokenizer.convert_from("cl100k_base"), with tiktoken installed',
    **{f"{name}_id": f"{name}_token_id" for name in ("bos", "eos", "pad", "unk")},
}
"""Name → what it is in BPETokenizer."""

OTHER_NAMES_OF_PACKAGE: dict[str, str] = {
    # tokenizers and transformers.
    "Tokenizer": "BPETokenizer",
    "ByteLevelBPETokenizer": "BPETokenizer",
    "PreTrainedTokenizerFast": "BPETokenizerFast",
    "AutoTokenizer": "transformers.AutoTokenizer, which loads the tokenizers of hf_bpe; or BPETokenizer",
    "from_pretrained": "BPETokenizer.from_pretrained(folder)",
    "from_file": _LOADING,
    **dict.fromkeys(("BpeTrainer", "Trainer", "trainers", "train_from_iterator"), _TRAINING),
    "pre_tokenizers": "hf_bpe.pretokenizers",
    "processors": "hf_bpe.formats.Template",
    "decoders": "BPETokenizer.decode",
    "models": "BPEModel",
    # tiktoken.
    "Encoding": "BPETokenizer",
    "get_encoding": 'BPETokenizer.convert_from("cl100k_base"), with tiktoken installed',
    "encoding_for_model": 'BPETokenizer.convert_from("gpt-4o"), with tiktoken installed',
    # SentencePiece.
    "SentencePieceProcessor": _LOADING,
    "SentencePieceTrainer": _TRAINING,
    # What is a method here, or in another package.
    "load": _LOADING,
    "convert": "BPETokenizer.convert_from(file), then convert_to(file)",
    "encode": "BPETokenizer.encode",
    "decode": "BPETokenizer.decode",
    **{name: f"hf_bpe.analysis.{name}" for name in ("compare", "merge_tree", "report", "show")},
    **{name: f"BPETokenizer.{name}, or hf_bpe.editing.{name}" for name in ("extend", "prune", "truncate")},
    **{name: f"hf_bpe.training.{name}" for name in ("Parity", "Superwords")},
    "Remap": "hf_bpe.editing.Remap",
    "remap_embeddings": "hf_bpe.editing.embeddings.remap_embeddings",
    "NormalizedTexts": "hf_bpe.counting.NormalizedTexts; with normalizer=… train and extend normalize by themselves",
}
"""Name → what it is in hf_bpe."""
