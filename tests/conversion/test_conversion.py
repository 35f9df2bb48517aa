"""Formats and the way between any two: what can be carried comes back equal, and what cannot is refused by name."""

import dataclasses
import itertools
import re
import shutil

import pytest
from hypothesis import example, given, settings
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPEModel, BPETokenizer, conversion, train
from hf_bpe.conversion import FEATURES, FORMATS, Definition
from hf_bpe.formats import Pipeline, Template, TemplatePiece
from hf_bpe.formats._settings import SETTINGS
from support.profiles import by_profile
from support.project import ROOT
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
    conversion.write(definition, path, format=name, **options)
    return path


@pytest.mark.parametrize("first", FORMATS)
def test_from_any_format_to_any_other_the_model_stays_equal(tmp_path, first):
    definition = Definition(trained())
    path = written(definition, tmp_path / "1", first)
    assert conversion.detect(path).name == first
    if first == "gguf":  # by its content
        assert conversion.detect(shutil.copy(path, tmp_path / "copy")).name == first
    between = conversion.read(path)
    assert between == definition
    for second in FORMATS:
        assert conversion.read(written(between, tmp_path / second, second)) == definition, second


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
        read, expected = (Pipeline.from_definition(each).model for each in (conversion.read(path), Definition(model)))
        if name == "tokenizer.json":  # by which others drop the bytes that this model refuses
            expected = dataclasses.replace(expected, drop_missing_bytes=model.lacks_bytes)
        assert read == expected


@pytest.mark.parametrize("name", FORMATS)
def test_features_are_carried_or_refused_or_warned_of_by_name(tmp_path, name):
    chosen = FORMATS[name]
    for feature, definition in USES.items():
        assert FEATURES[feature].is_used(definition), feature
        is_carried = (
            chosen.carries_pattern(definition.model.pre_tokenizer)
            if feature == "pattern"
            else feature in chosen.carries | chosen.sidecar
        )
        folder = tmp_path / feature
        if is_carried:
            assert conversion.read(written(definition, folder, name)) == definition, feature
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
_TWO, _A = (TemplatePiece("<|user|>"), TemplatePiece("<|endoftext|>")), TemplatePiece("A", True)
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
    "template": _with(template=Template((*_TWO, _A), (*_TWO, _A, TemplatePiece("B", True)))),
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


def test_every_setting_belongs_to_a_feature():
    assert {setting.feature for setting in SETTINGS.values()} <= FEATURES.keys()


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
    assert conversion.read(path) == Definition(dataclasses.replace(definition.model, pattern="gpt2"))
    assert conversion.read(path, pattern="cl100k") == Definition(definition.model)
    with pytest.raises(ValueError, match=r"drop: expected some of pattern, .*, got 'color'"):
        written(definition, tmp_path, "gpt2", drop=["color"])


def test_a_folder_of_another_tokenizer_is_left_alone(tmp_path):
    written(Definition(trained()), tmp_path, "hf")
    before = {path.name: path.read_bytes() for path in (tmp_path / "hf").iterdir()}
    with pytest.raises(FileExistsError, match=r"holds another tokenizer's tokenizer_config\.json"):
        conversion.write(Definition(trained("cl100k")), tmp_path / "hf", format="gpt2", drop=["pattern"])
    assert {path.name: path.read_bytes() for path in (tmp_path / "hf").iterdir()} == before


def test_hints_that_contradict_a_file_are_refused(tmp_path):
    for name in FORMATS:
        if name == "gpt2":  # which says nothing of it
            continue
        path = written(Definition(trained()), tmp_path / name, name)
        with pytest.raises(ValueError, match=r"(its|is the) pattern (is )?'gpt2'; leave the argument out"):
            conversion.read(path, pattern="cl100k")
        with pytest.raises(ValueError, match=r"its special tokens are .*; leave the argument out"):
            conversion.read(path, special_tokens={"<|x|>": 999})
        assert conversion.read(path, pattern="gpt2", special_tokens=trained().special_ids()) == Definition(trained())


def test_paths_that_are_not_there_are_errors_of_the_system(tmp_path):
    for name, chosen in FORMATS.items():
        with pytest.raises(FileNotFoundError):
            conversion.read(tmp_path / "missing", format=name)
        if chosen.is_file:
            with pytest.raises(IsADirectoryError):
                conversion.read(tmp_path, format=name)


class TestInMemory:
    def test_what_a_fast_tokenizer_keeps_of_a_call_is_ignored(self):
        backend = BPETokenizer(model=trained("qwen2")).backend_tokenizer
        fast = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<|user|>", model_max_length=77)
        fast(["a", "b c"], padding=True, truncation=True, max_length=5)  # a fast tokenizer keeps that
        tokenizer = BPETokenizer.convert_from(fast)
        assert tokenizer.model == trained("qwen2")
        assert (tokenizer.pad_token, tokenizer.padding_side, tokenizer.model_max_length) == ("<|user|>", "right", 77)

    def test_tokenizers_of_other_kinds(self):
        model = trained("o200k")
        tokenizer = BPETokenizer(model=model)
        for source in (model, tokenizer, tokenizer.definition):
            assert BPETokenizer.convert_from(source).model == model
        with pytest.raises(ValueError, match="pattern is only for files; the source is a BPEModel, which has its own"):
            BPETokenizer.convert_from(model, pattern="gpt2")


def test_padding_and_truncation_warn_and_keep_their_sides(tmp_path):
    tokenizer = BPETokenizer(model=train(CORPUS, num_merges=9, special_tokens=["</s>"])).backend_tokenizer
    tokenizer.enable_padding(pad_token="</s>", pad_id=256, direction="left")
    tokenizer.enable_truncation(9)
    tokenizer.save(str(tmp_path / "x.json"))
    with pytest.warns(UserWarning, match="padding and truncation are ignored"):
        definition = conversion.read(tmp_path / "x.json")
    expected = {"pad_token": "</s>", "padding_side": "left", "model_max_length": 9, "truncation_side": "right"}
    assert definition.settings == expected


def test_a_token_without_a_merge_does_not_become_special(tmp_path):
    model = BPEModel({**trained().vocab, 500: b"xyzzy"}, trained().merges, SPECIALS)
    with pytest.raises(ValueError, match=r"no merge makes token 500, b'xyzzy'"):
        conversion.write(Definition(model), tmp_path / "gpt2", format="gpt2")


DOCS = ROOT / "docs"
PAGE = (DOCS / "how-to" / "convert.md").read_text(encoding="utf-8")


def matrix():
    """Return the table of what each format carries."""

    def cell(chosen, feature):
        if feature == "pattern" and chosen.patterns is not None:
            named = "[with a name in llama.cpp](../reference/pretokenizers.md#named-patterns)"
            return named if chosen.name == "gguf" else ", ".join(map(str, chosen.patterns))
        if feature in chosen.carries:
            return "yes"
        return "sidecar" if feature in chosen.sidecar else "refused" if FEATURES[feature].decides_ids else "warned of"

    rows = [["", *FORMATS], ["---"] * (len(FORMATS) + 1)]
    rows += [[feature, *(cell(chosen, feature) for chosen in FORMATS.values())] for feature in FEATURES]
    rows.append(["verified by", *(VERIFIED_BY.get(name, "hf_bpe") for name in FORMATS)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


VERIFIED_BY = {
    "hf": "transformers, tokenizers",
    "gpt2": "tokenizers",
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
        assert conversion.read(written(conversion.read(path), tmp_path / f"{name}-hex", "hex")).model == model
    with pytest.raises(ValueError, match="cannot carry special tokens"):
        written(Definition(trained()), tmp_path, "hex")
