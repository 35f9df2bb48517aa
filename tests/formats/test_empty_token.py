"""GPT-2's two files with the token "", as those of multilingual Whisper models have it."""

import json

import pytest
from transformers import GPT2Tokenizer

from hf_bpe import BPETokenizer, train
from hf_bpe.conversion import write_gpt2
from support.samples import CORPUS


def test_two_files_with_empty_token(tmp_path):
    model = train(CORPUS, num_merges=40, special_tokens=["<|endoftext|>"])
    vocab_file, merges_file = write_gpt2(model, tmp_path)
    vocab = {**model.printable_vocab(), "": model.vocab_size}
    vocab_file.write_text(json.dumps(dict(sorted(vocab.items()))))
    theirs = GPT2Tokenizer(vocab=str(vocab_file), merges=str(merges_file))
    tokenizers = [
        BPETokenizer.from_pretrained(tmp_path),
        BPETokenizer(vocab_file, merges_file),
        BPETokenizer.convert_from(tmp_path, format="gpt2"),
    ]
    for ours in tokenizers:
        assert ours.model == model
        assert ours.get_vocab() == vocab == theirs.get_vocab()
        assert ours(CORPUS)["input_ids"] == theirs(CORPUS)["input_ids"]
        ids = [97, vocab[""], 98]
        assert ours.decode(ids) == theirs.decode(ids) == "ab"


def test_empty_token_with_the_id_of_another_is_refused(tmp_path):
    vocab_file, merges_file = write_gpt2(train(CORPUS, num_merges=40), tmp_path)
    vocab_file.write_text(vocab_file.read_text().replace("{", '{"": 97, ', 1))
    with pytest.raises(ValueError, match="tokens '' and 'a' have the same id, 97"):
        BPETokenizer(vocab_file, merges_file)
