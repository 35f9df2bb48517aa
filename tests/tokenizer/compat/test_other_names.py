"""Names of tokenizers, tiktoken and SentencePiece: AttributeErrors that say what to write instead."""

import abc
import re

import pytest
import tiktoken
import tokenizers

import hf_bpe
from hf_bpe import BPETokenizer
from support.cases import case

TOKENIZER = BPETokenizer.train(["low"], vocab_size=257, pad_token="<pad>")
OF_LIBRARIES = {*dir(tokenizers.Tokenizer), *dir(tokenizers.ByteLevelBPETokenizer), *dir(tiktoken.Encoding)}
# Those of SentencePiece, and of transformers 4.
NAMES = """
EncodeAsIds encode_as_ids SampleEncodeAsIds sample_encode_as_ids EncodeAsPieces encode_as_pieces DecodeIds decode_ids
DecodePieces decode_pieces PieceToId piece_to_id IdToPiece id_to_piece GetPieceSize get_piece_size piece_size Load load
LoadFromFile bos_id eos_id pad_id unk_id encode_plus batch_encode_plus from_tiktoken max_token_value
vocab merges fingerprint count stream cache word_ids convert inspect verify tree merge_tree show report compare
"""
NAMES_OF_PACKAGE = """
Tokenizer ByteLevelBPETokenizer Encoding PreTrainedTokenizerFast models AutoTokenizer from_pretrained get_encoding
encoding_for_model convert encode decode decoders pre_tokenizers processors Remap remap_embeddings NormalizedTexts
from_file load SentencePieceProcessor BpeTrainer Trainer trainers train_from_iterator SentencePieceTrainer compare
merge_tree report show extend prune truncate Parity Superwords BPE list_encoding_names inspect verify DecodeStream
PrefixCache Session encode_files push_to_hub tokenize save save_pretrained Playground serve
"""


def advice_for(owner, name):
    """Return what the error for a name that an object does not have says it is here; None for no advice."""
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError) as raised:
        getattr(owner, name)
    assert raised.value.name == name
    found = re.search(r"has no attribute '?(\w+)'?; in (?:BPETokenizer|hf_bpe) it is (.+)$", str(raised.value))
    assert found is None or found[1] == name
    return found and found[2]


def test_name_of_another_library_says_what_it_is_here():
    unknown = {name for name in OF_LIBRARIES if not name.startswith("_") and not hasattr(TOKENIZER, name)}
    known = {name for name in unknown if advice_for(TOKENIZER, name)}
    assert len(known) >= 30
    assert {name for name in unknown - known if hasattr(tiktoken.Encoding, name)} == set()
    for name in (*NAMES.split(), *known):
        with case(name):
            advice = advice_for(TOKENIZER, name)
            assert advice == advice_for(BPETokenizer, name)
            calls = advice.replace('"tokenizer.json"', "path")
            words = {*re.findall(r"\b(?:tokenizer|BPETokenizer)\.(\w+)", calls), *re.findall(r"or (\w+)\(", calls)}
            words |= {*re.findall(r"^(\w+)(?:$|[(,. ])", calls)}
            words -= {"tokenizer", "BPETokenizer", "tokenizers", "hf_bpe", "len", "id", "the"}
            assert [word for word in words if not hasattr(TOKENIZER, word)] == []


def test_subclasses_may_have_the_other_names():
    class Loader(abc.ABC):  # noqa: B024 - its metaclass matters
        @classmethod
        def load(cls):
            return cls.__name__

        def from_file(self):
            return self.encode("low")

    class Tokenizer(BPETokenizer, Loader):
        from_str = 3

    tokenizer = Tokenizer.train(["low"], vocab_size=257)
    assert (Tokenizer.load(), tokenizer.load(), tokenizer.from_str) == ("Tokenizer", "Tokenizer", 3)
    assert tokenizer.from_file() == tokenizer.encode("low")
    tokenizer.from_tiktoken = 4
    assert tokenizer.from_tiktoken == 4


def test_transformers_looks_up_attributes_first():
    assert TOKENIZER.pad_token_id == 256
    with pytest.raises(AttributeError, match=r"BPETokenizer has no attribute nothing$"):
        TOKENIZER.nothing  # noqa: B018


def test_package_says_what_names_are_here():
    for name in NAMES_OF_PACKAGE.split():
        with case(name):
            for path in re.findall(r"hf_bpe(?:\.\w+)+", advice_for(hf_bpe, name)):
                found = hf_bpe
                for part in path.split(".embeddings")[0].split(".")[1:]:  # embeddings needs torch
                    found = getattr(found, part)
