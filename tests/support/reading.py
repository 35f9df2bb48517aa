"""Sources read as users read them, and by definition; for the tests of readers."""

import gzip
import re
from contextlib import contextmanager

import pytest
import zstandard
from hypothesis import strategies as st

from hf_bpe import Source, plan
from hf_bpe.counting import _file_formats as formats
from hf_bpe.counting import _readers as readers
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.counting._readers import CountSettings, read
from hf_bpe.pretokenizers import Pattern
from hf_bpe.reference import count_pre_tokens
from support.strategies import texts

SPECIALS = ["<x>", "<x>y", "x>y", "yy", "你<"]
specials = st.lists(st.sampled_from(SPECIALS), max_size=3, unique=True)
documents = st.lists(texts | st.lists(st.sampled_from([*SPECIALS, "a ", "<", "x>"])).map("".join), max_size=5)
PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


def read_all(source, pattern="gpt2", special_tokens=(), batch_bytes=1 << 20, shard_bytes=2**62, skipped=None):
    """Yield the documents of a source, special tokens left out."""
    skipped = Skipped() if skipped is None else skipped
    settings = CountSettings(Pattern.read(pattern), tuple(special_tokens))
    for shard in plan(source, shard_bytes=shard_bytes):
        position = 0
        for batch in read(shard, settings, batch_bytes, skipped):
            assert batch.texts
            assert position <= batch.read <= (shard.size or batch.read)
            position = batch.read
            for text in batch.texts:
                yield from text.documents(settings.pattern, special_tokens, 50)


def count(source, pattern="gpt2", special_tokens=(), **options):
    return count_pre_tokens(read_all(source, pattern, special_tokens, **options), pattern)


def joined(source, **options):
    return b"".join(read_all(source, **options))


def assert_error_or_skip(data, message, kept, skipped, **options):
    """Assert that reading raises a ValueError by default, and leaves `kept` with `on_error="skip"`."""
    with pytest.raises(ValueError, match=message):
        joined(Source(data, **options))
    seen = Skipped()
    assert joined(Source(data, on_error="skip", **options), skipped=seen) == kept
    assert seen == skipped


def split(text, special_tokens):
    """Cut text at special tokens by definition."""
    longest_first = sorted((token.encode() for token in special_tokens), key=len, reverse=True)
    return re.split(b"|".join(map(re.escape, longest_first)), text) if special_tokens else [text]


def expected_counts(all_documents, pattern, special_tokens):
    return count_pre_tokens([part for text in all_documents for part in split(text, special_tokens)], pattern)


@contextmanager
def blocks_of(size):
    """Have files read in blocks of this size, and mapped even if they are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "_BLOCK_BYTES", size)
        patch.setattr(formats, "_PACKED_BYTES", size)
        patch.setattr(formats, "_ROWS", size)
        patch.setattr(formats, "_ARROW_ROWS", size)
        patch.setattr(readers, "_SMALL", size)
        patch.setattr(readers, "_WINDOW", size)
        yield
