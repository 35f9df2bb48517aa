"""Vocabularies with the token "", as the files of multilingual Whisper models have it."""

import json
import pickle

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoTokenizer, GPT2Tokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, accelerate, train
from hf_bpe.conversion import write_gpt2
from support.samples import CORPUS

TEXTS = [*CORPUS, "", "\x00 \u00e9\u0301 \U0001f600"]
TEXTS += ["<|startoftranscript|><|en|> Hello<|0.00|> w\u00f6rld \n\n <|endoftext|>"]


def whisper_folder(folder, vocab, merges):
    """Write a folder like those of Whisper: the empty token follows the vocabulary, then come special tokens."""
    vocab = {**vocab, "": len(vocab)}
    vocab["<|endoftext|>"] = len(vocab)
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    before, after = ["<|startoftranscript|>", "<|notimestamps|>"], ["<|endoftext|>"]
    backend.add_special_tokens([*after, before[0], "<|en|>", before[1]])
    backend.add_tokens([AddedToken("<|0.00|>", normalized=False)])
    backend.post_processor = processors.TemplateProcessing(
        single=[*before, "$A", *after],
        pair=[*before, "$A", "$B:1", *after],
        special_tokens=[(token, backend.token_to_id(token)) for token in (*before, *after)],
    )
    folder.mkdir()
    backend.save(str(folder / "tokenizer.json"))
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "<|endoftext|>")
    config = {"tokenizer_class": "WhisperTokenizer", "add_prefix_space": False, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    model = train(CORPUS, num_merges=40)
    printable = model.printable_vocab()
    by_bytes = {model.vocab[token_id]: text for text, token_id in printable.items()}
    merges = [(by_bytes[first], by_bytes[second]) for first, second in model.merges]
    return whisper_folder(tmp_path_factory.mktemp("small") / "whisper", printable, merges)


def fast(folder):
    return PreTrainedTokenizerFast.from_pretrained(folder)


def compare(ours, theirs):
    empty_id = theirs.convert_tokens_to_ids("")
    assert ours.convert_tokens_to_ids("") == empty_id
    assert ours.convert_ids_to_tokens([empty_id]) == theirs.convert_ids_to_tokens([empty_id]) == [""]
    assert (len(ours), ours.get_vocab()) == (len(theirs), theirs.get_vocab())
    for added in (True, False):
        got, expected = (each(TEXTS, add_special_tokens=added, return_offsets_mapping=True) for each in (ours, theirs))
        assert got == expected
    rows = [*expected["input_ids"], [empty_id], [*range(len(theirs))], [97, empty_id, 98]]
    for skips in (True, False):
        assert [ours.decode(row, skip_special_tokens=skips) for row in rows] == [
            theirs.decode(row, skip_special_tokens=skips) for row in rows
        ]


@pytest.mark.parametrize("load", [BPETokenizer.from_pretrained, lambda folder: accelerate(fast(folder))])
def test_folder_with_empty_token_is_saved(load, small, tmp_path):
    theirs, ours = fast(small), load(small)
    compare(ours, theirs)
    compare(pickle.loads(pickle.dumps(ours)), theirs)
    ours.save_pretrained(tmp_path / "saved")
    for kind in (type(ours), AutoTokenizer, PreTrainedTokenizerFast):
        compare(kind.from_pretrained(tmp_path / "saved"), theirs)


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
    tokenizers[0].save_pretrained(tmp_path / "saved")
    for ours in [*tokenizers, BPETokenizer.from_pretrained(tmp_path / "saved")]:
        assert ours.model == model
        assert ours.get_vocab() == vocab == theirs.get_vocab()
        assert ours(TEXTS)["input_ids"] == theirs(TEXTS)["input_ids"]
        ids = [97, vocab[""], 98]
        assert ours.decode(ids) == theirs.decode(ids) == "ab"


def test_empty_token_with_the_id_of_another_is_refused(tmp_path):
    vocab_file, merges_file = write_gpt2(train(CORPUS, num_merges=40), tmp_path)
    vocab_file.write_text(vocab_file.read_text().replace("{", '{"": 97, ', 1))
    with pytest.raises(ValueError, match="tokens '' and 'a' have the same id, 97"):
        BPETokenizer(vocab_file, merges_file)
