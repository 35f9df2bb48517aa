"""Edits of models: what stays, what goes, and that text keeps its ids."""

import itertools
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPEModel, WordCounts, count, train
from hf_bpe.counting import NormalizedTexts
from hf_bpe.editing import add_special_tokens, extend, pad_to_multiple_of, prune, renumber, truncate
from hf_bpe.encoding import parts_of_tokens, unreachable
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.reference import pre_tokenize
from support.cases import case
from support.profiles import by_profile
from support.strategies import any_bytes, corpora, mergeable, models, of_tokens, words

BYTES = BPEModel({byte: bytes([byte]) for byte in range(256)}, [])


def encode(model, data):
    """Return the ids of text; a byte that the model does not have is -1."""
    free = next(token_id for token_id in itertools.count() if token_id not in model.vocab)
    ids = make_encoder(model).encode(data, Options(unknown_id=free))
    return [-1 if token_id == free else token_id for token_id in ids]


def check_remap(remap, old, new):
    """Check that a remap tells of every token of both models, and that what was kept is the same token."""
    assert remap.old_ids == old.vocab.keys()
    assert remap.sources.keys() == new.vocab.keys()
    assert all(new.vocab[new_id] == old.vocab[old_id] for old_id, new_id in remap.new_ids.items())
    assert {*remap.removed} == {i for i, token in old.vocab.items() if token not in {*new.vocab.values()}}


@st.composite
def prunings(draw):
    """Draw a model and what to keep of it: ids that text can become."""
    model = draw(models())
    lost = set() if model.ignore_merges else {*unreachable(model)}
    return model, draw(st.lists(st.sampled_from(sorted(model.vocab.keys() - lost)), max_size=6))


def uses(model, counts):
    """Count the tokens of counted pre-tokens, one after the other."""
    used = Counter(dict.fromkeys(model.vocab, 0))
    for word, number in counts.items():
        for token_id in encode(replace(model, pattern=None), word):
            used[token_id] += number
    del used[-1]
    return dict(used)


class TestPrune:
    @given(prunings(), any_bytes, st.data())
    def test_kept_tokens_are_reachable_and_texts_of_them_unchanged(self, pruning, data, drawn):
        model, keep = pruning
        pruned, remap = prune(model, keep=keep)
        check_remap(remap, model, pruned)
        assert {*keep} <= remap.new_ids.keys()
        for new_id in remap.new_ids.values():
            token = pruned.vocab[new_id]
            if token.decode(errors="replace") not in pruned.special_tokens:
                assert encode(replace(pruned, pattern=None), token) == [new_id]
        for text in (data, drawn.draw(mergeable), drawn.draw(of_tokens(pruned))):
            for word in pre_tokenize(text, model.pattern):
                ids = encode(model, word)
                if {*ids} <= {-1, *remap.new_ids}:
                    assert encode(pruned, word) == [remap.new_ids.get(token_id, -1) for token_id in ids]

    @given(prunings())
    def test_pruning_without_counts_keeps_parts_of_kept_tokens(self, pruning):
        model, keep = pruning
        parts = parts_of_tokens(model)

        def tree(token_id):
            return {token_id}.union(*map(tree, parts.get(token_id, ())))

        pruned, remap = prune(model, keep=keep)
        always = {i for i, token in model.vocab.items() if len(token) == 1} | {*model.special_ids().values()}
        assert remap.new_ids.keys() == always.union(*map(tree, keep))
        assert [*pruned.vocab] == [*range(len(remap.new_ids))] == [*remap.new_ids.values()]
        assert pruned.special_tokens == model.special_tokens
        kept = {*pruned.vocab.values()}
        assert [merge for merge in model.merges if {*merge, b"".join(merge)} <= kept] == pruned.merges

    @given(models(), st.dictionaries(words(), st.integers(0, 5)), st.data())
    @settings(max_examples=by_profile(quick=12, thorough=50))
    def test_pruning_by_counts_removes_the_least_used_leaves(self, model, corpus, data):
        counts = WordCounts(corpus, pattern=model.pattern)
        lost = set() if model.ignore_merges else {*unreachable(model)}
        keep = data.draw(st.lists(st.sampled_from(sorted(model.vocab.keys() - lost)), max_size=3))
        fixed = {*prune(model, keep=keep).remap.new_ids}
        kept, used, parts = model.vocab.keys() - lost, uses(model, counts), parts_of_tokens(model)
        whole = {i: encode(replace(model, ignore_merges=False, pattern=None), model.vocab[i]) for i in model.vocab}

        def give(token_id, number):
            if token_id in kept:
                used[token_id] += number
            else:
                for part in parts.get(token_id) or whole[token_id]:
                    if part != -1:
                        give(part, number)

        expected = {}
        while True:
            expected[len(kept)] = {*kept}, min((used[i] for i in kept - fixed), default=None)
            leaves = [i for i in kept - fixed if not any(i in parts.get(other, ()) for other in kept)]
            if not leaves:
                break
            least = min(leaves, key=lambda i: (used[i], -i))
            limit = used[least]
            expected[len(kept)] = {*kept}, limit
            kept.remove(least)
            give(least, limit)
        for size, (ids, _) in expected.items():
            pruned, remap = prune(model, keep=keep, counts=counts, vocab_size=size)
            assert remap.new_ids.keys() == ids
            check_remap(remap, model, pruned)
            assert model.ignore_merges or unreachable(pruned) == []
        least = data.draw(st.integers(0, 30))
        first = next(ids for ids, limit in expected.values() if limit is None or limit >= least)
        assert prune(model, keep=keep, counts=counts, min_count=least).remap.new_ids.keys() == first

    def test_words_are_counted_in_batches(self, monkeypatch):
        monkeypatch.setattr("hf_bpe.counting._word_counts._BATCH", 100)
        model = train(["12 13 14 23 24 34 45"] * 2, num_merges=9)
        counts = WordCounts({f"{number}": number for number in range(50)})
        used = uses(model, counts)
        least = min((i for i in model.vocab if i >= 256), key=lambda i: (used[i], -i))
        assert prune(model, counts=counts, vocab_size=model.vocab_size - 1).remap.removed == (least,)

    def test_min_count_is_independent_of_the_scale(self):
        model = train(["low low low lower"], num_merges=3)
        counts = WordCounts({"low": 6, " lower": 2}, scale=2)
        assert b"low" in prune(model, counts=counts, min_count=3).model.vocab.values()
        assert b"low" not in prune(model, counts=counts, min_count=5).model.vocab.values()

    @pytest.mark.parametrize("data", ["low", b"\xff low"])
    def test_pruning_with_nothing_to_keep_leaves_a_model_of_bytes(self, data):
        model = train(["low low lowest"], num_merges=4, special_tokens=["<|x|>"])
        pruned, _ = prune(model, keep=[])
        assert pruned == replace(BYTES, vocab={**BYTES.vocab, 256: b"<|x|>"}, special_tokens=("<|x|>",))
        assert encode(pruned, data) == [*(data.encode() if isinstance(data, str) else data)]


class TestTruncate:
    @given(models(), st.data())
    def test_truncated_model_keeps_ids(self, model, data):
        made = {first + second for first, second in model.merges}
        size = data.draw(st.integers(sum(token not in made for token in model.vocab.values()), model.vocab_size))
        smaller, remap = truncate(model, size)
        check_remap(remap, model, smaller)
        assert smaller.vocab_size == size
        assert not remap.moves
        assert not remap.added
        is_made = {first + second for first, second in smaller.merges}
        assert all(token in is_made for token in smaller.vocab.values() if token in made)

    @pytest.mark.parametrize("tie_break", ["lexicographic", "huggingface"])
    @pytest.mark.filterwarnings("ignore:the text gives")
    @given(corpus=corpora, size=st.integers(257, 270))
    def test_truncated_model_equals_training_to_the_smaller_size(self, tie_break, corpus, size):
        counts = WordCounts(corpus, special_tokens=["<|x|>"])
        largest, smaller = train(counts, num_merges=[0, 4], tie_break=tie_break)[::-1]
        size = min(size, largest.vocab_size)
        assert truncate(largest, smaller.vocab_size).model == smaller
        assert truncate(largest, size).model == train(counts, vocab_size=size, tie_break=tie_break)


class TestExtend:
    @given(models(), corpora, st.integers(0, 6), st.data())
    @pytest.mark.filterwarnings("ignore:the text gives")
    def test_old_ids_stay_and_text_without_new_merges_keeps_its_ids(self, model, corpus, number, data):
        counts = WordCounts(corpus, pattern=model.pattern)
        options = {"initial_alphabet": "observed"} if model.lacks_bytes else {}
        longer, remap = extend(model, counts, number + 256, **options)
        check_remap(remap, model, longer)
        assert {new_id: longer.vocab[new_id] for new_id in model.vocab} == model.vocab
        assert longer.merges[: len(model.merges)] == model.merges
        new = {*longer.merges[len(model.merges) :]}
        for text in (data.draw(mergeable), data.draw(of_tokens(longer)), *corpus):
            for word in pre_tokenize(text, model.pattern):
                ids = encode(model, word)
                pairs = itertools.pairwise(model.vocab.get(token_id, b"") for token_id in ids)
                if -1 not in ids and new.isdisjoint(pairs):
                    assert encode(longer, word) == ids

    @given(models(), corpora, st.sets(st.integers(0, 1100), max_size=5))
    @pytest.mark.filterwarnings("ignore:the text gives")
    def test_new_tokens_come_last_with_old_ids_as_sources(self, model, corpus, reserved):
        longer, remap = extend(model, WordCounts(corpus, pattern=model.pattern), 300, reserved=reserved)
        new = longer.vocab.keys() - model.vocab.keys()
        assert remap.added.keys() == new
        assert {*new} == {*range(max([*model.vocab, *reserved]) + 1, max([*model.vocab, *reserved]) + 1 + len(new))}
        for token_id, sources in remap.added.items():
            ids = encode(replace(model, pattern=None, ignore_merges=False), longer.vocab[token_id])
            assert [*sources] == [old for old in ids if old != -1]

    def test_the_number_of_new_tokens_is_the_one_asked_for(self):
        model = BPEModel({0: b"a", 1: b"b"}, [])
        longer, remap = extend(model, ["ab aab"], 5, special_tokens=["<|x|>"], initial_alphabet="observed")
        assert longer.vocab == dict(enumerate([b"a", b"b", b" ", b"<|x|>", b"ab", b"aab", b" aab"]))
        assert remap.added == {2: (), 3: (), 4: (0, 1), 5: (0, 0, 1), 6: (0, 0, 1)}

    def test_normalizing_model_is_extended_with_normalized_text(self):
        model = replace(train(["e\u0301"], num_merges=1), normalizer="NFC")
        for texts in (["e\u0301"], NormalizedTexts(["e\u0301"])):
            longer, _ = extend(model, texts, 1)
            assert longer.normalizer == "NFC"
            assert longer.merges[-1] == (b"\xc3", b"\xa9")
        with pytest.raises(ValueError, match="expected text, got counts"):
            extend(model, count(["\xe9"]), 1)


class TestAddSpecialTokens:
    @given(models(), st.sets(st.integers(0, 1010)), st.integers(0, 5))
    def test_special_tokens_get_the_lowest_unused_ids(self, model, reserved, number):
        names = [f"<|new {i}|>" for i in range(number)]
        more, remap = add_special_tokens(model, names, reserved=reserved)
        check_remap(remap, model, more)
        assert set(more.special_tokens) == {*model.special_tokens, *names}
        free = [i for i in range(3000) if i not in reserved and i not in model.vocab]
        assert [more.special_ids()[name] for name in names] == free[:number]
        assert remap.added == dict.fromkeys(free[:number], ())

    def test_special_tokens_get_the_given_ids(self):
        model = BPEModel({0: b"a"}, [])
        assert add_special_tokens(model, {"<|x|>": 7, "<|y|>": 1}).model.special_ids() == {"<|y|>": 1, "<|x|>": 7}


class TestPadToMultipleOf:
    @given(models(), st.integers(1, 200), st.sets(st.integers(0, 1100), max_size=3))
    def test_padding_uses_all_ids_below_a_multiple(self, model, multiple, reserved):
        padded, remap = pad_to_multiple_of(model, multiple, reserved=reserved)
        check_remap(remap, model, padded)
        size = max([*padded.vocab, *reserved]) + 1
        assert size % multiple == 0
        assert size - multiple <= max([*model.vocab, *reserved])
        assert padded.vocab.keys() | reserved == {*range(size)}
        assert {*padded.special_tokens} == {*model.special_tokens, *(f"<|unused_{i}|>" for i in remap.added)}

    def test_placeholder_names_avoid_taken_names(self):
        model = BPEModel({0: b"a", 1: b"<|unused_2|>"}, [], ["<|unused_2|>"])
        assert pad_to_multiple_of(model, 3).model.special_tokens == ("<|unused_2|>", "<<|unused_2|>>")


@given(models(), mergeable)
def test_renumbering_keeps_the_order_and_the_tokens_of_text(model, data):
    dense, remap = renumber(model)
    check_remap(remap, model, dense)
    assert [*dense.vocab.values()] == [*model.vocab.values()]
    assert [*dense.vocab] == [*range(model.vocab_size)]
    new_ids = {**remap.new_ids, -1: -1}
    assert encode(dense, data) == [new_ids[token_id] for token_id in encode(model, data)]
    same = renumber(dense).remap
    assert not any([same.added, same.removed, same.moves])


AB = BPEModel({0: b"a", 1: b"b", 2: b"ab", 3: b"ba"}, [(b"a", b"b")])  # no merge makes b"ba"
SPECIAL = BPEModel({0: b"a", 1: b"ab", 2: b"<|x|>"}, [], ["<|x|>"])
COUNTS = WordCounts({"ab": 1})
NEITHER = "expected ids to keep, or counts with either"
SIZE = "vocab_size: expected 2 to 3, the number of tokens that must stay and the number that can, got {!r}"
WRONG = [
    *((prune, {"model": AB, **wrong}, TypeError, NEITHER) for wrong in ({}, {"vocab_size": 3}, {"counts": COUNTS})),
    (prune, {"model": AB, "keep": [2], "min_count": 1}, TypeError, NEITHER),
    (prune, {"model": AB, "counts": COUNTS, "vocab_size": 3, "min_count": 1}, TypeError, "got keep=None, counts=WordC"),
    (prune, {"model": AB, "keep": [0, 9]}, ValueError, "the model has no token 9"),
    (prune, {"model": AB, "keep": [3]}, ValueError, "token 3, b'ba', is unreachable"),
    (prune, {"model": AB, "keep": [b"ab"]}, TypeError, "keep"),
    *((prune, {"model": AB, "counts": COUNTS, "vocab_size": n}, ValueError, SIZE.format(n)) for n in (1, 4, "3")),
    (prune, {"model": AB, "counts": COUNTS, "min_count": -1}, ValueError, "min_count: expected at least 0"),
    (
        *(prune, {"model": AB, "counts": WordCounts({"ab": 1}, pattern="o200k"), "vocab_size": 3}),
        *(ValueError, "counts: expected the model's pattern 'gpt2', got 'o200k'"),
    ),
    (prune, {"model": AB, "counts": WordCounts({"ab": 2**62}), "vocab_size": 3}, OverflowError, "63 bits"),
    *((truncate, {"model": AB, "vocab_size": n}, ValueError, f"expected 3 to 4, got {n!r}") for n in (2, 5, 3.5)),
    (extend, {"model": BYTES, "input": ["a"], "number": -1}, ValueError, "number: expected at least 0, got -1"),
    (extend, {"model": BYTES, "input": ["a"], "number": 1.5}, TypeError, "number: expected an int"),
    (pad_to_multiple_of, {"model": BYTES, "multiple": 0}, ValueError, "multiple: expected at least 1"),
    (
        *(pad_to_multiple_of, {"model": BPEModel({9000: b"a"}, []), "multiple": 8}),
        *(ValueError, "the highest id is 9000 but there are only 1 tokens; renumber"),
    ),
    *(
        (add_special_tokens, {"model": SPECIAL, "tokens": tokens, "reserved": [9]}, ValueError, message)
        for tokens, message in (
            (["<|x|>"], "special token '<|x|>': the model has this token, with the id 2"),
            (["ab"], "special token 'ab': the model has this token, with the id 1"),
            ({"<|y|>": 1}, "special token '<|y|>': its id 1 is taken by b'ab'"),
            ({"<|y|>": 9}, "special token '<|y|>': its id 9 is taken by a token outside the model"),
            ({"<|y|>": 8, "<|z|>": 8}, "have the same id"),
            ({"<|y|>": -1}, "id of '<|y|>': expected at least 0"),
            ({"<|y|>": 2**32}, "is not between 0 and 2**32 - 1"),
            (["<|y|>", "<|y|>"], "given twice"),
            (["a"], "is how vocab.json writes the byte"),
        )
    ),
]


def test_wrong_arguments_are_refused():
    for edit, arguments, error, message in WRONG:
        with case(edit.__name__, arguments), pytest.raises(error, match=re.escape(message)):
            edit(**arguments)
