"""Reports: figures against their definitions, and what is refused."""

import json
import re
import unicodedata
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPEModel, BPETokenizer, Source, WordCounts, count, train
from hf_bpe.analysis import compare, merge_tree, report
from hf_bpe.encoding import unreachable
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.normalizers import to_nfc
from hf_bpe.pretokenizers import split
from support.cases import check_refusals
from support.profiles import by_profile, scaled
from support.strategies import corpora, mergeable, models, of_tokens, texts, words

UNKNOWN = 5000  # an id that no drawn model has
TEXT = "low lower lowest, newest 42! 你好 привет\n"


def pre_tokens(model, text):
    """Return the pre-tokens of a text, split at special tokens, by the definition."""
    specials = sorted(model.special_tokens, key=len, reverse=True)
    parts = re.split("|".join(map(re.escape, specials)), text) if specials else [text]
    return [word.encode("utf-8", "surrogateescape") for part in parts for word in split(part, model.pattern)]


def figures(found):
    return [found.total, *found.groups, *found.scripts]


@st.composite
def models_and_texts(draw):
    model = draw(models())
    text = draw(texts | mergeable.map(lambda data: data.decode(errors="surrogateescape")))
    text += draw(of_tokens(model)).decode("utf-8", "surrogateescape")
    return model, as_data(text).decode("utf-8", "surrogateescape")  # where bytes that met have become a character


def as_data(text):
    return text.encode("utf-8", "surrogateescape")


class TestFigures:
    @given(models_and_texts())
    def test_figures_equal_the_encoding_of_each_pre_token(self, drawn):
        model, text = drawn
        # As it is a pre-token of its own, a word is encoded without being split again.
        encoder = make_encoder(replace(model, pattern=None))
        encoded = [(word, encoder.encode(word, Options(unknown_id=UNKNOWN))) for word in pre_tokens(model, text)]
        usage = Counter(token_id for _, ids in encoded for token_id in ids)
        is_word = re.compile(r"[^\W_]")
        found = report(model, [as_data(text)])
        total = found.total
        assert total.bytes == sum(len(word) for word, _ in encoded)
        assert total.characters == sum(len(word.decode("utf-8", "surrogateescape")) for word, _ in encoded)
        assert total.tokens == sum(usage.values())
        assert found.unknown == usage[UNKNOWN]
        assert dict(zip(model.vocab, found.usage.tolist(), strict=True)) == {i: usage[i] for i in model.vocab}
        if model.pattern is None:
            assert (total.words, total.tokens_per_word, total.share_in_one_token) == (None, None, None)
        elif text.isascii():
            of_words = [ids for word, ids in encoded if is_word.search(word.decode())]
            assert total.words == len(of_words)
            assert total.word_tokens == sum(map(len, of_words))
            assert total.words_in_one_token == sum(len(ids) == 1 for ids in of_words)

    @given(models_and_texts())
    def test_figures_of_scripts_and_groups_add_up_to_the_total(self, drawn):
        model, text = drawn
        found = report(model, {"a": [as_data(text)], "b": [as_data(text[::2])], "c": [b""]})
        for name in ("bytes", "characters", "tokens"):
            whole = getattr(found.total, name)
            assert sum(getattr(row, name) for row in found.groups) == whole
            assert sum(getattr(row, name) for row in found.scripts) == whole

    @given(st.lists(texts, max_size=4), st.sampled_from(["gpt2", "o200k", r"\w+|\s", None]))
    def test_figures_of_counts_equal_figures_of_the_texts(self, drawn, pattern):
        model = train([TEXT], num_merges=20, special_tokens=["<|x|>"], pattern=pattern)
        of_text = report(model, drawn).as_json()
        of_counts = report(model, count(drawn, pattern=pattern, special_tokens=["<|x|>"])).as_json()
        assert of_text == of_counts

    @given(texts, st.sampled_from(["3", "1/3", "0.1"]))
    def test_ratios_do_not_depend_on_the_weight_of_the_only_source(self, text, weight):
        model = train([TEXT], num_merges=20)
        plain, weighted = report(model, [text]).total, report(model, Source([text], weight=weight)).total
        if plain.tokens:
            assert weighted.tokens == pytest.approx(plain.tokens * Source([text], weight=weight).weight)
            assert weighted.bytes_per_token == pytest.approx(plain.bytes_per_token)

    @given(
        st.lists(st.sampled_from(["e", "\u0301", "\u0323", " ", "\n", "a", "\xe9", "\u1dfa"]), max_size=20).map("".join)
    )
    def test_figures_with_a_normalizer_are_of_normalized_text(self, text):
        model = train([to_nfc("e\u0301 a\u0323e " * 3)], num_merges=4)
        normalizing = replace(model, normalizer="NFC")
        assert report(normalizing, [text]).as_json()["total"] == report(model, [to_nfc(text)]).as_json()["total"]
        assert report(normalizing, [text]).total.tokens == len(make_encoder(normalizing).encode(text, Options()))

    def test_figures_exclude_special_tokens(self):
        tokenizer = BPETokenizer.train([TEXT], 262, special_tokens=["<|x|>"])
        tokenizer.add_special_tokens({"extra_special_tokens": ["<|y|>"]})
        with_special = report(tokenizer, ["low<|x|><|x|>low<|y|>low"])
        assert with_special.total == report(tokenizer, ["low", "low", "low"]).total
        assert 256 not in {token.id for token in with_special.never_used}

    def test_figures_of_an_empty_text_are_none(self):
        found = report(train([TEXT], 260), [""])
        assert found.total.bytes == 0
        ratios = ("bytes_per_token", "characters_per_token", "tokens_per_character", "tokens_per_word")
        assert all(getattr(row, name) is None for row in figures(found) for name in ratios)
        assert json.loads(json.dumps(found.as_json(), allow_nan=False))["total"]["bytes"] == 0

    @scaled
    def test_figures_of_real_text_match_the_tokenizer(self, test_data):
        size = by_profile(quick=20_000, thorough=400_000)
        tokenizer = BPETokenizer.convert_from(test_data / "gpt2")
        parts = {}
        for name in ("english", "code", "nonlatin"):
            with (test_data / f"text/{name}.txt").open(encoding="utf-8") as file:
                parts[name] = file.read(size)
        found = report(tokenizer, {name: [part] for name, part in parts.items()})
        for figures, part in zip(found.groups, parts.values(), strict=True):
            ids = tokenizer.encode(part)
            assert figures.tokens == len(ids) - ids.count(50256)


class TestParity:
    def test_parity_is_tokens_per_character_by_the_reference(self):
        model = train(["low low lower"], num_merges=2)
        found = report(model, {"a": ["low low"], "b": ["xyz!"], "none": [""]}, reference="b")
        a, b, none = found.groups
        assert (a.parity, b.parity, none.parity) == (pytest.approx((3 / 7) / (4 / 4)), 1.0, None)
        assert found.reference == ("b", "Latin")

    def test_parity_of_scripts_without_latin_uses_the_commonest(self):
        found = report(train([TEXT], 260), ["привет привет 你好"])
        assert [row.name for row in found.scripts] == ["Cyrillic", "Han"]
        assert found.scripts[0].parity == 1.0


class TestCompressionCurve:
    @pytest.mark.filterwarnings("ignore:the text gives")
    @given(corpora, st.sampled_from(["lexicographic", "huggingface"]), st.lists(words(), max_size=5))
    def test_curve_of_a_trained_model_matches_each_truncated_model(self, corpus, tie_break, others):
        model = train(WordCounts(corpus, special_tokens=["<|x|>"]), num_merges=12, tie_break=tie_break)
        text = WordCounts(Counter({**corpus, **dict.fromkeys(others, 2)}))
        curve = report(model, text).compression_curve
        assert (curve.smallest, curve.largest) == (257, model.vocab_size)
        for size in range(curve.smallest, curve.largest + 1):
            assert curve.tokens_at(size) == report(model.truncate(size), text).total.tokens

    @given(models_and_texts())
    def test_curve_of_any_model_matches_each_truncated_model(self, drawn):
        model, text = drawn
        found = report(model, [as_data(text)])
        assert (found.compression_curve is None) == (found.why_no_compression_curve != "")
        if found.compression_curve is not None:
            for size in range(found.compression_curve.smallest, found.compression_curve.largest + 1):
                total = report(model.truncate(size), [as_data(text)]).total
                assert found.compression_curve.tokens_at(size) == total.tokens

    @pytest.mark.parametrize(
        ("merges", "options", "why"),
        [
            ([("ab", "c"), ("a", "b")], {}, "order"),
            ([("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")], {}, "same token"),
            ([("a", "b"), ("b", "c"), ("a", "bc")], {"ignore_merges": True}, "whole words"),
        ],
    )
    def test_missing_curve_has_a_reason(self, merges, options, why):
        pairs = [(first.encode(), second.encode()) for first, second in merges]
        tokens = {b"a", b"b", b"c", *(first + second for first, second in pairs)}
        found = report(BPEModel(dict(enumerate(sorted(tokens))), pairs, **options), ["abc"])
        assert found.compression_curve is None
        assert why in found.why_no_compression_curve
        assert f"not given: model: {found.why_no_compression_curve}" in " ".join(str(found).split())


class TestTokens:
    @given(models_and_texts())
    def test_tokens_are_listed_by_use_length_and_id(self, drawn):
        model, text = drawn
        found = report(model, [as_data(text)])
        counts = dict(zip(model.vocab, found.usage.tolist(), strict=True))
        special = {*model.special_ids().values()}
        ordinary = [token_id for token_id in model.vocab if token_id not in special]
        assert [token.id for token in found.never_used] == [i for i in ordinary if counts[i] == 0]
        assert [token.id for token in found.unreachable] == unreachable(model)
        assert ("unreachable: no merges make" in str(found)) == bool(found.unreachable)
        assert [token.count for token in found.most_used] == sorted((counts[i] for i in ordinary), reverse=True)[:12]
        lengths = sorted((len(model.vocab[i]) for i in ordinary), reverse=True)
        assert [token.bytes for token in found.longest] == lengths[:12]
        assert found.lengths_in_vocabulary == {n: lengths.count(n) for n in range(1, max(lengths) + 1)}
        known = sum(length * number for length, number in found.lengths_in_text.items())
        assert known == found.total.bytes - found.unknown


class TestTrees:
    def test_requested_trees_are_in_every_rendering(self):
        model = train(["low low low lower lowest"], vocab_size=262)
        trees = tuple(merge_tree(model, token) for token in (" low", b"st", 97))
        found = report(model, ["low"], trees_of=[" low", b"st", 97])
        assert found.trees == trees
        assert report(model, ["low"]).trees == ()
        assert found.as_json()["trees"] == [*map(str, trees)]
        for tree in trees:
            assert str(tree) in str(found)
            assert tree._repr_html_() in found._repr_html_()
            assert tree._repr_html_() in found.to_html()


class TestScripts:
    @pytest.mark.parametrize(
        "script", ["Latin", "Greek", "Cyrillic", "Hebrew", "Thai", "Devanagari", "Hangul", "Hiragana"]
    )
    def test_scripts_of_letters_match_their_names(self, script):
        prefixes = tuple(
            f"{script.upper()} {kind} "
            for kind in ("LETTER", "CAPITAL LETTER", "SMALL LETTER", "SYLLABLE", "CHARACTER")
        )
        letters = [char for char in map(chr, range(0xFFFF)) if unicodedata.name(char, "").startswith(prefixes)]
        letters = [char for char in letters if unicodedata.category(char).startswith("L")]
        assert len(letters) > 20
        found = report(train([TEXT], 260, pattern=None), [f" 1{char}" for char in letters])
        assert [row.name for row in found.scripts] == [script]

    @pytest.mark.parametrize(
        ("word", "script", "is_word"),
        [
            (" 42", "no letter", True),
            ("!?", "no letter", False),
            ("\u2167", "no letter", True),
            ("𐌰", "other scripts", True),
        ],
    )
    def test_words_without_letters_have_their_own_group(self, word, script, is_word):
        [row] = report(train([TEXT], 260), [word]).scripts
        assert (row.name, row.words, row.characters) == (script, is_word, len(word))


class TestGroups:
    def test_groups_are_files_unless_there_are_too_many(self, tmp_path):
        for number in range(41):
            (tmp_path / f"{number:02}.txt").write_text("low " * (number + 1))
        model = train([TEXT], 260)
        assert [row.name for row in report(model, str(tmp_path)).groups] == ["text"]
        (tmp_path / "40.txt").unlink()
        found = report(model, str(tmp_path))
        assert [row.name for row in found.groups] == [f"{number:02}.txt" for number in range(40)]
        assert [row.bytes for row in found.groups] == [4 * number for number in range(1, 41)]

    def test_groups_of_files_with_equal_names_are_named_by_path(self, tmp_path):
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "x.txt").write_text("low")
        found = report(train([TEXT], 260), str(tmp_path))
        assert [row.name for row in found.groups] == [str(tmp_path / "a" / "x.txt"), str(tmp_path / "b" / "x.txt")]


class TestCompare:
    @given(texts, st.sampled_from(["gpt2", "o200k", None]), st.sampled_from(["cl100k", r"\w+|\s"]))
    def test_comparison_equals_separate_reports_on_the_same_text(self, text, pattern, other):
        first, second = train([TEXT], 270, pattern=pattern), train([TEXT], 280, pattern=other)
        found = compare({"a": first, "b": second}, [text])
        for model, one in zip((first, second), found.reports, strict=True):
            assert one.as_json() == report(model, [text], name=one.name).as_json()
        a, b = (one.total for one in found.reports)
        assert (a.bytes, a.characters) == (b.bytes, b.characters)

    def test_special_tokens_of_any_tokenizer_are_excluded_for_all(self):
        first = train([TEXT], 270, ["<|x|>"])
        second = train([TEXT], 270, ["<|y|>"])
        found = compare([first, second], ["low<|x|>low<|y|>low"])
        assert [one.total.bytes for one in found.reports] == [9, 9]
        assert found.names == ["model 1", "model 2"]

    def test_comparison_lists_the_tokens_that_only_one_has(self):
        small, large = train([TEXT * 3], [257, 262])
        found = compare({"small": small, "large": large}, [TEXT])
        none, some = found.only_in
        assert (none.tokens, none.share, none.most_used) == (0, 0.0, ())
        more = [token_id for token_id in large.vocab if token_id >= 257]
        assert (some.tokens, {token.id for token in some.most_used}) == (5, {*more})
        assert some.share == sum(found.reports[1].usage[257:]) / found.reports[1].total.tokens


def test_wrong_calls_are_refused():
    model, other = (train([TEXT], 260, pattern=pattern) for pattern in ("gpt2", "cl100k"))
    curve = report(model, [TEXT]).compression_curve
    rows = [
        (lambda: report(other, WordCounts({"low": 1})), ValueError, "text: these counts have the pattern 'gpt2', but"),
        (lambda: compare([model, other], iter([TEXT])), ValueError, "read only once, but tokenizers split text in 2"),
        (lambda: report(model, {"a": [TEXT]}, reference="c"), ValueError, "reference: expected one of 'a', got 'c'"),
        (lambda: report({}, [TEXT]), TypeError, "expected a BPETokenizer or a BPEModel, got dict"),
        (lambda: compare([model], [TEXT]), ValueError, "expected two or more to compare, got 1"),
        (lambda: report(model, {}), ValueError, "at least one group"),
        (lambda: report(model, ["low"], trees_of=["xyz"]), ValueError, "'xyz' is not one token"),
        *((lambda n=n: curve.tokens_at(n), ValueError, "vocab_size: expected 256 to 260") for n in (255, 261, 257.5)),
    ]
    check_refusals(rows, lambda call: call())
    assert compare([model, model], iter([TEXT])).reports[0].total.bytes == len(TEXT.encode())
