"""The package in small examples. Start reading here.

The corpus is so small that every result can be checked by hand. The other test files prove that the same holds for any
text, with every option.
"""

import pytest
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, WordCounts, count, train, train_bpe
from hf_bpe.editing import extend, prune, truncate
from support.commands import run  # runs `hf-bpe` in this process

CORPUS = ["low low low low low lower lower newest newest newest newest newest newest widest widest widest"]


@pytest.fixture(scope="module")
def tokenizer():
    """Return a tokenizer of 256 bytes (ids 0 to 255), two special tokens (256 and 257) and ten merges."""
    return BPETokenizer.train(CORPUS, vocab_size=268, special_tokens=["<|endoftext|>", "<pad>"], pad_token="<pad>")


# Train


def test_training_merges_the_most_frequent_pair_first():
    # "s" and "t" are neighbors 9 times: in "newest" (6 times) and in "widest" (3 times). So are "e" and "s"; of pairs
    # that occur equally often, the greatest is merged first.
    model = train(CORPUS, num_merges=3)
    assert model.merges == [(b"s", b"t"), (b"e", b"st"), (b"o", b"w")]


def test_bytes_come_first_then_special_tokens_then_merges(tokenizer):
    vocab = tokenizer.model.vocab
    assert [vocab[i] for i in (97, 256, 257, 258)] == [b"a", b"<|endoftext|>", b"<pad>", b"st"]
    assert len(tokenizer) == 268


def test_the_smallest_way_to_train_returns_vocabulary_and_merges():
    vocab, merges = train_bpe(["aaab"], vocab_size=257)
    assert merges == [(b"a", b"a")]
    assert vocab[256] == b"aa"


def test_train_from_a_file(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(CORPUS[0], encoding="utf-8")
    assert train(path, vocab_size=268).merges == train(CORPUS, vocab_size=268).merges


def test_count_once_and_train_several_sizes(tmp_path):
    count(CORPUS).save(tmp_path / "corpus.counts")
    counts = WordCounts.load(tmp_path / "corpus.counts")
    assert counts.top(2) == [(b" newest", 6), (b" low", 4)]  # a word includes the space before it
    small, large = train(counts, vocab_size=[260, 264])
    assert large.truncate(260) == small


# Encode and decode


def test_encode_and_decode(tokenizer):
    ids = tokenizer.encode("newest low")
    assert ids == [264, 266]
    assert tokenizer.decode(ids) == "newest low"


def test_unseen_words_are_made_of_smaller_tokens(tokenizer):
    assert tokenizer.tokenize("slowest") == ["s", "low", "est"]


def test_any_text_survives_encoding_and_decoding(tokenizer):
    text = "naïve 你好 👋\r\n\tx"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_special_token_is_one_token_and_can_be_skipped(tokenizer):
    ids = tokenizer.encode("low<|endoftext|>")
    assert ids == [261, 256]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "low"


def test_offsets_say_which_characters_a_token_is_from(tokenizer):
    encoded = tokenizer("lowest", return_offsets_mapping=True)
    assert encoded.tokens() == ["low", "est"]
    assert encoded["offset_mapping"] == [(0, 3), (3, 6)]


# Use with transformers


def test_encode_a_batch_with_padding(tokenizer):
    batch = tokenizer(["low", "lowest newest"], padding=True)
    assert batch["input_ids"] == [[261, 257, 257], [261, 259, 265]]
    assert batch["attention_mask"] == [[1, 0, 0], [1, 1, 1]]


def test_cut_long_texts(tokenizer):
    assert tokenizer("lowest newest", truncation=True, max_length=2)["input_ids"] == [261, 259]


def test_encode_a_batch_to_one_array(tokenizer):
    ids, offsets = tokenizer.encode_to_numpy(["lowest", "", "newest"])
    assert ids.tolist() == [261, 259, 264]
    assert offsets.tolist() == [0, 2, 2, 3]  # text i has the ids from offsets[i] to offsets[i + 1]


def test_add_a_token_later(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    chat = BPETokenizer.from_pretrained(tmp_path)
    chat.add_special_tokens({"extra_special_tokens": ["<|user|>"]})
    assert chat.encode("<|user|>low") == [268, 261]


# Save and load


def test_save_and_load_with_auto_tokenizer(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert type(loaded) is BPETokenizer
    assert loaded.encode("newest low") == [264, 266]


def test_others_need_no_hf_bpe_to_load_what_is_saved(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("newest low").ids == [264, 266]
    assert PreTrainedTokenizerFast.from_pretrained(tmp_path).encode("newest low") == [264, 266]


# Convert


def test_convert_to_tiktoken_and_back(tokenizer, tmp_path):
    path = tmp_path / "mine.tiktoken"
    tokenizer.convert_to(path)
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # that of GPT-2, the default
    encoding = tiktoken.Encoding(
        "mine", pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens={"<|endoftext|>": 256}
    )
    assert encoding.encode("newest low") == [264, 266]
    assert BPETokenizer.convert_from(path).encode("newest low") == [264, 266]


def test_convert_from_a_tokenizer_json(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    assert BPETokenizer.convert_from(tmp_path / "tokenizer.json").model == tokenizer.model


def test_features_that_a_format_cannot_carry_are_refused_by_name(tmp_path):
    tokenizer = BPETokenizer.train(CORPUS, vocab_size=260, add_eos_token=True, special_tokens=["<|endoftext|>"])
    with pytest.raises(ValueError, match=r"gpt2.* add_eos_token"):
        tokenizer.convert_to(tmp_path / "folder", format="gpt2")


# Edit


def test_truncating_equals_training_to_the_smaller_size(tokenizer):
    smaller, _ = truncate(tokenizer.model, 262)
    assert smaller == train(CORPUS, vocab_size=262, special_tokens=["<|endoftext|>", "<pad>"])


def test_extending_keeps_old_ids(tokenizer):
    longer, remap = tokenizer.with_model(extend(tokenizer.model, ["the end of the end"], 2))
    assert longer.encode("newest low") == [264, 266]
    assert longer.tokenize("the") == ["the"]
    assert remap.added == {268: (116, 104), 269: (116, 104, 101)}  # new id: the old ids that it replaces


def test_pruning_keeps_what_the_text_uses_most(tokenizer):
    smaller, _ = tokenizer.with_model(prune(tokenizer.model, counts=count(["lowest low"]), vocab_size=262))
    assert smaller.tokenize("lowest newest") == ["low", "est", "Ġ", "n", "e", "w", "est"]


# The command line


def test_the_same_from_a_shell(tmp_path):
    corpus, folder = tmp_path / "corpus.txt", tmp_path / "my-tokenizer"
    corpus.write_text(CORPUS[0], encoding="utf-8")
    run("train", corpus, "--output", folder, "--vocab-size", 268, "--special-token", "<|endoftext|>")
    assert run("encode", folder, stdin=b"newest low").stdout == "263 265\n"
    assert run("decode", folder, stdin=b"263 265").stdout == "newest low"
    assert run("show", folder, "--text", "low lowest").stdout == "low|·low|est\n"
