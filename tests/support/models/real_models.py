"""The pipelines of real files, each loaded once."""

from functools import cache

from hf_bpe import BPETokenizer


@cache
def real_pipeline(test_data, name):
    return BPETokenizer.convert_from(test_data / "tokenizers" / name / "tokenizer.json").pipeline
