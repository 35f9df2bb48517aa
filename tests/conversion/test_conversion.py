"""Formats and the way between any two: what can be carried comes back equal, and what cannot is refused by name."""

import dataclasses
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken
from hypothesis import example, given, settings
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers import models as models_of_tokenizers
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.conversion import FEATURES, FORMATS, Definition, Feature
from hf_bpe.conversion import _formats as formats
from hf_bpe.conversion._llama_cpp import PATTERNS as LLAMA_CPP_PATTERNS
from hf_bpe.formats import Piece, Template
from hf_bpe.formats._pipeline import without_idle_ignore_merges
from hf_bpe.formats._settings import SETTINGS
from hf_bpe.pretokenizers import PATTERNS, Split, canonical_pattern
from support.profiles import by_profile
from support.strategies import models

CORPUS = ["low lower lowest newest widest 你好 42!\n\n", "many words of a text; the longest are whole words.\n"] * 3
SPECIALS = ["<|endoftext|>", "<|user|>"]


def trained(pattern="gpt2", **options):
    """Train a model that every format can carry: special tokens after the merges."""
    model = train(CORPUS, num_merges=40, pattern=pattern, **options)
    ids = itertools.count(model.vocab_size)
    return dataclasses.replace(
        model, vocab=model.vocab | {next(ids): token.encode() for token in SPECIALS}, special_tokens=SPECIALS
    )


def written(definition, folder, name, **options):
    """Write a definition and return the path."""
    chosen = FORMATS[name]
    path = folder / f"x{chosen.suffix}" if chosen.is_file else folder / name
    formats.write(definition, path, format=name, **options)
    return path


@pytest.mark.parametrize("first", FORMATS)
def test_from_any_format_to_any_other_the_model_stays_equal(tmp_path, first):
    definition = Definition(trained())
    path = written(definition, tmp_path / "1", first)
    assert formats.detect(path).name == first
    between = formats.read(path)
    assert between == definition
    for second in FORMATS:
        assert formats.read(written(between, tmp_path / second, second)) == definition, second


@pytest.mark.filterwarnings("ignore:llama.cpp's '(gpt-4o|tekken)' differs")
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=by_profile(quick=6, thorough=25))
@given(model=models())
@example(model=BPEModel({1: b"J"}, [], ignore_merges=True))
def test_any_model_comes_back_equal_or_is_not_written(name, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("x")
    try:
        path = written(Definition(model), folder, name)
    except ValueError:
        assert not [*folder.rglob("*.*")]
    else:
        # Where merges make every token, ignore_merges means nothing, and some formats leave it out.
        read, expected = (without_idle_ignore_merges(each).model for each in (formats.read(path), Definition(model)))
        if name == "tokenizer.json":  # by which others drop the bytes that this model refuses
            expected = dataclasses.replace(expected, drop_missing_bytes=model.lacks_bytes)
        assert read == expected


@pytest.mark.parametrize("name", FORMATS)
def test_features_are_carried_or_refused_or_warned_of_by_name(tmp_path, name):
    chosen = FORMATS[name]
    for feature, definition in USES.items():
        assert FEATURES[feature].is_used(definition), feature
        is_carried = (
            chosen.carries_pattern(definition.model.pattern)
            if feature == "pattern"
            else feature in chosen.carries | chosen.sidecar
        )
        folder = tmp_path / feature
        if is_carried:
            assert formats.read(written(definition, folder, name)) == definition, feature
        elif FEATURES[feature].decides_ids:
            dropped = {*chosen.missing(definition)} - {feature}
            with pytest.raises(ValueError, match=rf"the format {name} cannot carry .*drop=\['{feature}'\]"):
                written(definition, folder, name, drop=dropped)
            assert not folder.exists()
        else:
            with pytest.warns(UserWarning, match=f"the format {name} does not carry "):
                written(definition, folder, name)


def _with(**settings):
    return Definition(trained(), {}, settings)


_UNREACHABLE = dataclasses.replace(
    trained("llama3"), vocab=trained("llama3").vocab | {298: b"xyzzy"}, ignore_merges=True
)
_TWO, _A = (Piece("<|user|>"), Piece("<|endoftext|>")), Piece("A", True)
_FEW_BYTES = dataclasses.replace(
    trained(), vocab={i: token for i, token in trained().vocab.items() if token != b"\x01"}, drop_missing_bytes=True
)
USES = {
    "pattern": Definition(trained(pattern=r"\p{L}+|\P{L}")),
    "special_tokens": Definition(trained()),
    "flags": Definition(trained(), {296: AddedToken("<|endoftext|>", lstrip=True, special=True, normalized=False)}),
    "added_tokens": Definition(trained(), {298: AddedToken("<note>")}),
    "prefix_space": _with(add_prefix_space=True),
    "trim_offsets": _with(trim_offsets=True),
    "bos_eos": _with(bos_token="<|user|>", add_bos_token=True),
    "template": _with(template=Template((*_TWO, _A), (*_TWO, _A, Piece("B", True)))),
    "split_special_tokens": _with(split_special_tokens=True),
    "normalizer": Definition(dataclasses.replace(trained(), normalizer="NFC")),
    "ignore_merges": Definition(_UNREACHABLE),
    "missing_bytes": Definition(_FEW_BYTES),
    "unused_tokens": _with(unused_tokens={"中": 300}),
    "names": _with(pad_token="<|user|>"),
    "chat_template": _with(chat_template="{{ messages }}"),
    "settings": _with(padding_side="left"),
}


def test_there_is_a_case_for_every_feature():
    of_characters = {"characters", "decoding"}  # in test_gguf_characters.py
    assert USES.keys() == FEATURES.keys() - of_characters


def test_settings_that_decide_ids_have_a_feature_that_does():
    assert {setting.feature for setting in SETTINGS.values()} <= FEATURES.keys()
    assert all(FEATURES[setting.feature].decides_ids for setting in SETTINGS.values() if setting.decides_ids)


@pytest.mark.parametrize("decides_ids", [True, False])
def test_no_format_carries_a_new_feature(tmp_path, monkeypatch, decides_ids):
    made_up = Feature(lambda definition: True, "made-up things", "readers miss them", decides_ids, lambda each: each)
    monkeypatch.setitem(FEATURES, "made_up", made_up)
    ways = {
        name: lambda path, name=name: written(Definition(trained()), path, name, drop=["pattern"]) for name in FORMATS
    }
    ways["save_pretrained"] = BPETokenizer(model=trained()).save_pretrained
    for name, write in ways.items():
        if decides_ids:
            with pytest.raises(ValueError, match="cannot carry made-up things: readers miss them"):
                write(tmp_path / name)
            assert not (tmp_path / name).exists()
        else:
            with pytest.warns(UserWarning, match="does not carry made-up things: readers miss them"):
                write(tmp_path / name)


@pytest.mark.parametrize("name", ["bos", "eos"])
def test_definition_that_adds_an_unnamed_token_is_refused(name):
    model = BPEModel({97: b"a"}, [])
    with pytest.raises(ValueError, match=f"add_{name}_token is set but {name}_token is not; expected a token to add"):
        Definition(model, {}, {f"add_{name}_token": True})
    assert Definition(model, {}, {f"add_{name}_token": False}).settings == {}


def test_conversion_loses_only_explicitly_dropped_features(tmp_path):
    definition = Definition(trained(pattern="cl100k"), {298: AddedToken("<note>")}, {"add_prefix_space": None})
    with pytest.raises(ValueError, match="cannot carry the split pattern, 'cl100k'"):
        written(definition, tmp_path, "gpt2", drop=["added_tokens"])
    path = written(definition, tmp_path, "gpt2", drop=["added_tokens", "pattern"])
    assert formats.read(path) == Definition(dataclasses.replace(definition.model, pattern="gpt2"))
    assert formats.read(path, pattern="cl100k") == Definition(definition.model)
    with pytest.raises(ValueError, match=r"drop: expected some of pattern, .*, got 'color'"):
        written(definition, tmp_path, "gpt2", drop=["color"])


def test_a_folder_of_another_tokenizer_is_left_alone(tmp_path):
    written(Definition(trained()), tmp_path, "hf")
    before = {path.name: path.read_bytes() for path in (tmp_path / "hf").iterdir()}
    with pytest.raises(FileExistsError, match=r"holds another tokenizer's tokenizer_config\.json"):
        formats.write(Definition(trained("cl100k")), tmp_path / "hf", format="gpt2", drop=["pattern"])
    assert {path.name: path.read_bytes() for path in (tmp_path / "hf").iterdir()} == before


def test_hints_that_contradict_a_file_are_refused(tmp_path):
    for name in FORMATS:
        if name == "gpt2":  # which says nothing of it
            continue
        path = written(Definition(trained()), tmp_path / name, name)
        with pytest.raises(ValueError, match=r"(its|is the) pattern (is )?'gpt2'; leave the argument out"):
            formats.read(path, pattern="cl100k")
        with pytest.raises(ValueError, match=r"its special tokens are .*; leave the argument out"):
            formats.read(path, special_tokens={"<|x|>": 999})
        assert formats.read(path, pattern="gpt2", special_tokens=trained().special_ids()) == Definition(trained())


class TestInMemory:
    def test_a_fast_tokenizer_with_its_settings(self):
        fast = PreTrainedTokenizerFast(
            tokenizer_object=BPETokenizer(model=trained("qwen2")).backend_tokenizer,
            eos_token="<|user|>",
            pad_token="<|endoftext|>",
            chat_template="{{ messages }}",
            padding_side="left",
            model_max_length=77,
        )
        fast(["a", "b c"], padding=True, truncation=True, max_length=5)  # a fast tokenizer keeps that
        tokenizer = BPETokenizer.convert_from(fast)
        assert tokenizer.model == trained("qwen2")
        settings = ("bos_token", "eos_token", "pad_token", "chat_template", "padding_side", "model_max_length")
        assert [getattr(tokenizer, name) for name in settings] == [getattr(fast, name) for name in settings]
        assert (
            tokenizer(["low a", "newest"], padding=True)["input_ids"]
            == fast(["low a", "newest"], padding=True)["input_ids"]
        )

    def test_tokenizers_of_other_kinds(self):
        model = trained("o200k")
        tokenizer = BPETokenizer(model=model)
        ranks = {token: i for i, token in model.vocab.items() if i < 296}
        encoding = tiktoken.Encoding(
            "x",
            pat_str=PATTERNS["o200k"],
            mergeable_ranks=ranks,
            special_tokens=model.special_ids(),
        )
        for source in (model, tokenizer, tokenizer.definition, tokenizer.backend_tokenizer, encoding):
            assert BPETokenizer.convert_from(source).model == model
        with pytest.raises(ValueError, match="pattern is only for files; the source is a BPEModel, which has its own"):
            BPETokenizer.convert_from(model, pattern="gpt2")
        with pytest.raises(TypeError, match=r"expected a path, .*, a tiktoken\.Encoding, .*, got int"):
            BPETokenizer.convert_from(5)


class TestTokenizerJson:
    """What others write, and we do not."""

    def other(self, **parts):
        vocab = {"l": 0, "o": 1, "lo": 2, "w": 3, "Ġ": 4, "Ġlo": 5, "</s>": 6}
        tokenizer = Tokenizer(models_of_tokenizers.BPE(vocab=vocab, merges=[("l", "o"), ("Ġ", "lo")]))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        for name, part in parts.items():
            setattr(tokenizer, name, part)
        return tokenizer

    def read(self, tokenizer):
        return formats.definition_of(tokenizer)

    def test_merges_in_one_string_each(self, tmp_path):
        content = json.loads(self.other().to_str())
        content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
        (tmp_path / "tokenizer.json").write_text(json.dumps(content))
        assert formats.read(tmp_path / "tokenizer.json") == self.read(self.other())

    def test_special_and_added_tokens_of_any_order_are_read(self):
        tokenizer = self.other()
        tokenizer.add_special_tokens(["</s>", "<a>"])
        tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("low", single_word=True)])
        tokenizer.add_special_tokens([AddedToken("<b>", rstrip=True, normalized=False)])
        ours = BPETokenizer.convert_from(tokenizer)
        assert ours.model.special_tokens == ("</s>", "<a>", "<b>")
        assert ours.get_vocab() == tokenizer.get_vocab()
        assert ours.added_tokens_decoder == tokenizer.get_added_tokens_decoder()
        for text in ("low lo<b>  lo</s>low<think>", "low<a> low", "<think><b> <a>lo"):
            assert ours.encode(text) == tokenizer.encode(text).ids
        assert BPETokenizer.convert_from(ours.backend_tokenizer).definition == ours.definition

    def test_a_template_of_bos_and_eos(self):
        for bos, eos in itertools.product([None, "<a>"], ["</s>", None]):
            tokenizer = self.other()
            tokenizer.add_special_tokens(["</s>", "<a>"])
            single = [*filter(None, [bos, "$A", eos])]
            pair = [*single, *filter(None, [bos if not eos else None, "$B:1", eos])]
            template = processors.TemplateProcessing(
                single, pair, [(t, tokenizer.token_to_id(t)) for t in (bos, eos) if t]
            )
            tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
            ours = BPETokenizer.convert_from(tokenizer)
            assert ours("lo", "low")["input_ids"] == tokenizer.encode("lo", "low").ids
            assert (ours.add_bos_token, ours.add_eos_token) == (bos is not None, eos is not None)

    @pytest.mark.parametrize(
        ("single", "pair"),
        [("<a> <a> $A", "<a> <a> $A $B:1"), ("<a> $A", "<a> $A $B:1"), ("$A:2", "$A <a>:3 </s> $B:1 <a>")],
    )
    def test_any_template_is_kept_unchanged(self, single, pair):
        tokenizer = self.other()
        tokenizer.add_special_tokens(["</s>", "<a>"])
        tokenizer.post_processor = processors.TemplateProcessing(single, pair, [("<a>", 7), ("</s>", 6)])
        ours = BPETokenizer.convert_from(tokenizer)
        assert ours("lo", "low")["input_ids"] == tokenizer.encode("lo", "low").ids
        assert ours("lo")["input_ids"] == tokenizer.encode("lo").ids
        written = json.loads(ours.backend_tokenizer.to_str())["post_processor"]
        expected = json.loads(tokenizer.to_str())["post_processor"]
        assert [written[name] for name in ("single", "pair")] == [expected[name] for name in ("single", "pair")]

    @pytest.mark.parametrize(
        ("single", "pair"), [("$A", "$B:1 $A"), ("$A <a> $A", "$A $B"), ("$A $B", "$A $B"), ("<a>", "$A $B")]
    )
    def test_templates_of_other_sequences_are_refused(self, single, pair):
        tokenizer = self.other()
        tokenizer.add_special_tokens(["<a>"])
        tokenizer.post_processor = processors.TemplateProcessing(single, pair, [("<a>", 7)])
        with pytest.raises(ValueError, match=r"its post-processor .*: expected the sequences \['A'"):
            self.read(tokenizer)

    @pytest.mark.parametrize("ids", [[6], [7, 6]])
    def test_a_template_with_other_ids_than_its_tokens_is_refused(self, ids):
        tokenizer = self.other()
        tokenizer.add_special_tokens(["<a>"])
        assert tokenizer.token_to_id("<a>") == 7
        token = {"id": "<a>", "ids": ids, "tokens": ["<a>"] * len(ids)}
        tokenizer.post_processor = processors.TemplateProcessing("<a> $A", "$A $B", [token])
        with pytest.raises(ValueError, match=r"its post-processor .* adds '<a>' as the id 6; expected a token"):
            self.read(tokenizer)

    def test_padding_and_truncation_warn_and_keep_their_sides(self, tmp_path):
        tokenizer = self.other()
        tokenizer.add_special_tokens(["</s>"])
        tokenizer.enable_padding(pad_token="</s>", pad_id=6, direction="left")
        tokenizer.enable_truncation(9)
        tokenizer.save(str(tmp_path / "x.json"))
        with pytest.warns(UserWarning, match="padding and truncation are ignored"):
            definition = formats.read(tmp_path / "x.json")
        expected = {"pad_token": "</s>", "padding_side": "left", "model_max_length": 9, "truncation_side": "right"}
        assert definition.settings == expected

    def test_split_that_removes_text_has_a_name_if_all_matches(self):
        for pattern, name in ((PATTERNS["cl100k"], "cl100k"), (r"\w+|\s", None)):
            split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
            level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
            tokenizer = self.other(pre_tokenizer=pre_tokenizers.Sequence([split, level]))
            model = self.read(tokenizer).model
            assert model.pattern == (name or canonical_pattern([Split(pattern, "Removed", invert=True)]))

    def test_ignore_merges_is_kept_where_it_has_an_effect(self):
        vocab = {"a": 0, "b": 1, "ab": 2, "bab": 3}
        for tokens, merges, is_kept in ((vocab, [("a", "b")], True), (vocab, [("a", "b"), ("b", "ab")], False)):
            model = models_of_tokenizers.BPE(vocab=tokens, merges=merges, ignore_merges=True)
            tokenizer = Tokenizer(model)
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            tokenizer.decoder = decoders.ByteLevel()
            ours = BPETokenizer.convert_from(tokenizer)
            assert ours.model.ignore_merges is is_kept
            for text in ("bab", "babbab", "ab"):
                assert ours.encode(text) == tokenizer.encode(text).ids

    def test_normalizer_in_any_wrapping_is_read(self):
        wrapped = normalizers.Sequence([normalizers.Sequence([normalizers.NFC()])])
        assert self.read(self.other(normalizer=wrapped)).model.normalizer == "NFC"
        assert self.read(self.other(normalizer=normalizers.Sequence([]))).model.normalizer is None
        both = normalizers.Sequence([normalizers.NFKC(), normalizers.Sequence([normalizers.Lowercase()])])
        expected = '{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]}'
        assert self.read(self.other(normalizer=both)).model.normalizer == expected
        for refused in (normalizers.Nmt(), normalizers.Sequence([normalizers.NFC(), normalizers.BertNormalizer()])):
            with pytest.raises(ValueError, match=r"normalizer: .* is not supported, expected NFC"):
                self.read(self.other(normalizer=refused))


def test_reading_imports_no_transformers_but_for_folders():
    code = (
        "import sys, hf_bpe.conversion._formats; print({'transformers', 'gguf', 'tiktoken', 'torch'} & {*sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_a_token_without_a_merge_does_not_become_special(tmp_path):
    model = BPEModel({**trained().vocab, 500: b"xyzzy"}, trained().merges, SPECIALS)
    with pytest.raises(ValueError, match=r"no merge makes token 500, b'xyzzy'"):
        formats.write(Definition(model), tmp_path / "gpt2", format="gpt2")


DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "how-to" / "convert.md").read_text(encoding="utf-8")


def matrix():
    """Return the table of what each format carries."""

    def cell(chosen, feature):
        if feature == "pattern" and chosen.patterns is not None:
            named = "[with a name in llama.cpp](../reference/pretokenizers.md#named-patterns)"
            return named if chosen.patterns == LLAMA_CPP_PATTERNS else ", ".join(map(str, chosen.patterns))
        if feature in chosen.carries:
            return "yes"
        return "sidecar" if feature in chosen.sidecar else "refused" if FEATURES[feature].decides_ids else "warned of"

    rows = [["", *FORMATS], ["---"] * (len(FORMATS) + 1)]
    rows += [[feature, *(cell(chosen, feature) for chosen in FORMATS.values())] for feature in FEATURES]
    rows.append(["verified by", *(VERIFIED_BY.get(name, "hf_bpe") for name in FORMATS)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


VERIFIED_BY = {
    "hf": "transformers, tokenizers",
    "gpt2": "transformers",
    "tokenizer.json": "tokenizers",
    "tiktoken": "tiktoken",
}


def test_the_page_shows_what_each_format_carries():
    assert matrix() in PAGE, f"the table in docs/how-to/convert.md should be:\n{matrix()}"
    assert VERIFIED_BY.keys() == {name for name, chosen in FORMATS.items() if chosen.peer is not None}


def test_the_format_of_the_page_is_a_whole_one(tmp_path, monkeypatch):
    page = (DOCS / "contributing" / "add-a-format.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    namespace = {}
    exec(compile(code, "docs/contributing/add-a-format.md", "exec"), namespace)
    chosen = namespace["FORMAT"]
    monkeypatch.setitem(FORMATS, chosen.name, chosen)
    model = train(CORPUS, num_merges=40)
    for name in FORMATS:
        path = written(Definition(model), tmp_path / name, name)
        assert formats.read(written(formats.read(path), tmp_path / f"{name}-hex", "hex")).model == model
    with pytest.raises(ValueError, match="cannot carry special tokens"):
        written(Definition(trained()), tmp_path, "hex")
