"""`extend`, `prune` and `truncate` of whole tokenizers, as embeddings and saved folders need them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, Source, WordCounts, count
from support.profiles import thorough

TEXTS = ["low lower lowest <|user|> stenosis o\u0308 stenosis", "newest newer stenosis"] * 5


def make(normalizer="NFC", **settings):
    tokenizer = BPETokenizer.train(
        ["low low lower lowest newest newer \xf6\xf6 \xf6"] * 2,
        vocab_size=270,
        special_tokens=["<|endoftext|>", "<pad>"],
        pad_token="<pad>",
        normalizer=normalizer,
        padding_side="left",
        **settings,
    )
    tokenizer.add_tokens(["<|user|>"], special_tokens=True)
    tokenizer.add_tokens(["newest"])
    return tokenizer


def assert_follows(other, tokenizer, remap):
    """Check that settings, names and all ids of a tokenizer follow those of the one that it was made of."""
    assert type(other) is type(tokenizer)
    for name in ("pad_token", "eos_token", "padding_side", "normalizer", "pattern"):
        assert getattr(other, name) == getattr(tokenizer, name)
    assert remap.old_ids == {*tokenizer.get_vocab().values()}
    assert remap.sources.keys() <= {*other.get_vocab().values()}
    for token_id, token in tokenizer.added_tokens_decoder.items():
        assert other.added_tokens_decoder[remap.new_ids[token_id]] == token


class TestExtend:
    def test_text_is_normalized_and_split_at_added_tokens(self):
        tokenizer = make()
        longer, remap = tokenizer.extend(TEXTS, 9)
        assert_follows(longer, tokenizer, remap)
        learned = [longer.model.vocab[token_id].decode() for token_id in remap.added]
        assert len(learned) == 9
        assert " stenosis" in learned
        assert not any(part in token for token in learned for part in ("<|", "user", "o\u0308"))
        assert longer.encode("<|user|>") == tokenizer.encode("<|user|>")

    def test_a_warning_names_the_line_of_the_caller(self):
        with pytest.warns(UserWarning, match="no pair is left to merge") as caught:
            make().extend([" stenosis"], 1000)
        assert [each.filename for each in caught] == [__file__]

    def test_new_ids_come_after_those_of_added_tokens(self):
        tokenizer = make()
        longer, remap = tokenizer.extend(TEXTS, 3, ["<|new|>", "<|user|>"])
        assert min(remap.added) == len(tokenizer) == longer.convert_tokens_to_ids("<|new|>")
        assert len(longer) == len(tokenizer) + 3

    @pytest.mark.parametrize("normalizer", [None, "NFC"])
    def test_files_give_the_same_tokens_as_their_texts(self, normalizer, tmp_path):
        (tmp_path / "a.txt").write_text("\n".join(TEXTS), encoding="utf-8")
        tokenizer = make(normalizer)
        of_file, _ = tokenizer.extend(Source(tmp_path / "a.txt"), 5, work_dir=tmp_path / "work", num_workers=2)
        of_texts, _ = tokenizer.extend(["\n".join(TEXTS)], 5)
        assert of_file.model.merges == of_texts.model.merges
        again, _ = tokenizer.extend(tmp_path / "a.txt", 5, work_dir=tmp_path / "work")
        assert again.model.merges == of_file.model.merges

    def test_counts_are_taken_without_a_normalizer(self):
        counts = count(TEXTS, special_tokens=["<|endoftext|>", "<pad>"])
        longer, _ = make(None).extend(counts, 2)
        assert len(longer) == len(make(None)) + 2


class TestTruncate:
    def test_ids_have_no_gaps(self):
        tokenizer = make()
        smaller, remap = tokenizer.truncate(267)
        assert_follows(smaller, tokenizer, remap)
        assert sorted(smaller.get_vocab().values()) == [*range(267)] == [*range(len(smaller))]
        assert smaller.model == tokenizer.model.truncate(265)

    def test_special_tokens_after_the_merges_move(self):
        model = make(None).model
        last = max(model.vocab)
        moved = {**model.vocab, last + 1: b"<|last|>"}
        tokenizer = BPETokenizer(
            model=type(model)(moved, model.merges, (*model.special_tokens, "<|last|>")), eos_token="<|last|>"
        )
        smaller, remap = tokenizer.truncate(266)
        assert smaller.eos_token_id == 265 == remap.new_ids[last + 1]


class TestPrune:
    @given(st.integers(261, 270))
    def test_text_keeps_its_tokens(self, size):
        tokenizer = make()
        smaller, remap = tokenizer.prune(["lower o\u0308 <|user|>"], vocab_size=size)
        assert len(smaller) == size
        assert_follows(smaller, tokenizer, remap)
        ids = tokenizer.encode("lower o\u0308 <|user|>")
        if not {*ids} & {*remap.removed}:
            assert smaller.encode("lower o\u0308 <|user|>") == remap.ids(ids).tolist()

    def test_tokens_of_the_text_stay_longest(self):
        tokenizer = make()
        smaller, _ = tokenizer.prune(["o\u0308o\u0308 <|user|>"] * 9, min_count=1)
        assert smaller.tokenize("\xf6\xf6") == tokenizer.tokenize("\xf6\xf6")
        assert len(smaller.tokenize("lowest")) > len(tokenizer.tokenize("lowest"))

    def test_ids_to_keep_may_be_those_of_added_tokens(self):
        tokenizer = make()
        ids = tokenizer.encode("<|user|>lower newest")
        smaller, remap = tokenizer.prune(keep=ids)
        assert smaller.encode("<|user|>lower newest") == remap.ids(ids).tolist()
        assert remap.removed

    def test_counts_decide_what_is_kept(self):
        tokenizer = make()
        smaller, _ = tokenizer.prune(WordCounts({"low": 5}), min_count=1)
        assert smaller.tokenize("low") == ["low"]


REAL = {"qwen3": 120_000, "llama3_1": 100_000, "gemma3": 150_000}


@thorough
@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers_are_edited_with_their_added_tokens(name, test_data):
    tokenizer = BPETokenizer.from_pretrained(test_data / "tokenizers" / name)
    token = next(each.content for each in tokenizer.added_tokens_decoder.values() if each.special)
    texts = [f"{token}Mild mitral stenosis with aortic regurgitation, o\u0308{token}"] * 9
    longer, remap = tokenizer.extend(texts, 4)
    assert_follows(longer, tokenizer, remap)
    assert not remap.moves
    assert min(remap.added) == max(tokenizer.get_vocab().values()) + 1
    assert not any(token.encode()[1:-1] in longer.model.vocab[each] for each in remap.added)
    assert len(longer.encode(texts[0])) < len(tokenizer.encode(texts[0]))
    for smaller, remap in (tokenizer.truncate(REAL[name]), tokenizer.prune(texts, vocab_size=REAL[name])):
        assert_follows(smaller, tokenizer, remap)
        assert sorted(smaller.get_vocab().values()) == [*range(REAL[name])]
        assert smaller.decode(smaller.encode(texts[0])) == tokenizer.decode(tokenizer.encode(texts[0]))
