"""Whole tokenizers with edited models, and edits of real ones."""

import pytest

from hf_bpe import BPETokenizer, count
from hf_bpe.conversion import read_gpt2
from hf_bpe.editing import add_special_tokens, extend, pad_to_multiple_of, prune, renumber, truncate
from hf_bpe.encoding import unreachable
from support.profiles import by_profile, scaled, thorough


class TestWithModel:
    def make(self, **settings):
        tokenizer = BPETokenizer.train(
            ["low low lower lowest newest"],
            num_merges=10,
            special_tokens=["<|endoftext|>", "<pad>"],
            pad_token="<pad>",
            add_eos_token=True,
            chat_template="{{ messages }}",
            padding_side="left",
            **settings,
        )
        tokenizer.add_tokens(["newest"])
        tokenizer.add_tokens(["<|user|>"], special_tokens=True)
        return tokenizer

    def test_settings_and_added_tokens_survive_each_edit(self):
        tokenizer = self.make()
        model, reserved = tokenizer.model, tokenizer.added_tokens_decoder
        edits = [
            truncate(model, model.vocab_size - 3),
            extend(model, ["fast faster fastest"], 4, reserved=reserved),
            prune(model, keep=[next(i for i, token in model.vocab.items() if token == b" low")]),
            add_special_tokens(model, ["<|new|>"], reserved=reserved),
            pad_to_multiple_of(model, 16, reserved=reserved),
            renumber(model),
        ]
        text = "<|user|> low newest<|endoftext|>"
        for edited in edits:
            other, remap = tokenizer.with_model(edited)
            assert type(other) is BPETokenizer
            assert other.model == edited.model
            assert other.encode(text) == remap.ids(tokenizer.encode(text)).tolist()
            assert other.convert_ids_to_tokens(other.encode(text)) == tokenizer.convert_ids_to_tokens(
                tokenizer.encode(text)
            )
            for name in ("pad_token", "eos_token", "bos_token", "chat_template", "padding_side", "add_eos_token"):
                assert getattr(other, name) == getattr(tokenizer, name)
            assert other.pad_token_id == remap.new_ids[tokenizer.pad_token_id]
            assert other.eos_token_id == remap.new_ids[tokenizer.eos_token_id]
            assert remap.old_ids == {*tokenizer.get_vocab().values()}
            assert {*other.get_vocab().values()} >= remap.sources.keys()

    def test_added_tokens_move_only_after_a_smaller_model(self):
        tokenizer = self.make()
        user = tokenizer.convert_tokens_to_ids("<|user|>")
        smaller, remap = tokenizer.with_model(prune(tokenizer.model, keep=[]))
        assert smaller.convert_tokens_to_ids(["newest", "<|user|>"]) == [258, 259]
        assert remap.new_ids[user] == 259
        smaller, remap = tokenizer.with_model(truncate(tokenizer.model, 260))
        assert smaller.convert_tokens_to_ids(["newest", "<|user|>"]) == [260, 261]
        longer, remap = tokenizer.with_model(add_special_tokens(tokenizer.model, {"<|new|>": 300}))
        assert longer.convert_tokens_to_ids("<|user|>") == user == remap.new_ids[user]

    def test_added_token_that_the_model_loses_stays(self):
        tokenizer = BPETokenizer.train(["low low low"], num_merges=3)
        low = tokenizer.encode("low")
        tokenizer.add_tokens(["low"])
        assert tokenizer.convert_tokens_to_ids(["low"]) == low
        smaller, remap = tokenizer.with_model(prune(tokenizer.model, keep=[]))
        assert smaller.encode("slows") == [115, 256, 115]
        assert remap.new_ids[low[0]] == 256
        assert low[0] not in remap.removed

    def test_an_added_token_can_become_a_special_token_of_the_model(self):
        tokenizer = self.make()
        user = tokenizer.convert_tokens_to_ids("<|user|>")
        other, remap = tokenizer.with_model(add_special_tokens(tokenizer.model, {"<|user|>": user}))
        assert "<|user|>" in other.model.special_tokens
        assert not any([remap.added, remap.removed, remap.moves])
        assert other.get_vocab() == tokenizer.get_vocab()

    def test_new_tokens_that_repeat_added_ones_are_refused(self):
        tokenizer = self.make()
        with pytest.raises(ValueError, match=r"'<\|user\|>', was added .* edit the model with reserved="):
            tokenizer.with_model(extend(tokenizer.model, ["fast fast"], 2))
        tokenizer.add_tokens(["fast"])
        longer = extend(tokenizer.model, ["fast fast"], 3, reserved=tokenizer.added_tokens_decoder)
        with pytest.raises(ValueError, match=r"'fast', was added .*add_special_tokens\(model, {'fast': 269}\)"):
            tokenizer.with_model(longer)

    def test_an_edit_of_another_model_is_refused(self):
        tokenizer = self.make()
        with pytest.raises(ValueError, match="the remap is not one from the model of this tokenizer"):
            tokenizer.with_model(renumber(BPETokenizer.train(["other"], num_merges=1).model))


@pytest.fixture(scope="module")
def gpt2_model(test_data):
    return read_gpt2(test_data / "gpt2" / "vocab.json", test_data / "gpt2" / "merges.txt")


class TestRealText:
    @scaled
    def test_gpt2_extended_has_all_old_ids_and_fewer_tokens(self, test_data, gpt2_model):
        size = by_profile(quick=100_000, thorough=300_000)
        text = (test_data / "text" / "multilingual.txt").read_text("utf-8")[:size]
        longer, remap = extend(gpt2_model, [text], 200)
        assert not remap.moves
        assert not remap.removed
        assert [*remap.added] == [*range(50257, 50457)]
        assert longer.vocab.items() >= gpt2_model.vocab.items()
        assert len(BPETokenizer(model=longer).encode(text)) < 0.9 * len(BPETokenizer(model=gpt2_model).encode(text))

    @thorough
    def test_gpt2_pruned_by_counts_is_reachable(self, test_data, gpt2_model):
        vocab_size = 10_000
        text = (test_data / "text" / "english.txt").read_text("utf-8")[:1_000_000]
        counts = count([text], special_tokens=gpt2_model.special_tokens)
        pruned, _ = BPETokenizer(model=gpt2_model).with_model(prune(gpt2_model, counts=counts, vocab_size=vocab_size))
        assert pruned.vocab_size == len(pruned.model.vocab) == vocab_size
        assert unreachable(pruned.model) == []
        ids = pruned.encode(text)
        assert pruned.decode(ids) == text
        kept = prune(gpt2_model, keep=BPETokenizer(model=gpt2_model).encode(text)).model
        assert len(BPETokenizer(model=kept).encode(text)) == len(BPETokenizer(model=gpt2_model).encode(text)) < len(ids)
