"""Saving: what is loaded is what was saved, in every way of loading, or the old files stay."""

import copy
import itertools
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AddedToken, AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.conversion import write_gpt2
from hf_bpe.formats._folder.read import Folder
from support.cases import case
from support.edited_folders import edit_json
from support.folder_snapshots import snapshot
from support.profiles import by_profile
from support.samples import CORPUS, SPECIALS, make_tokenizer, reload
from support.servers.hub import add_to_cache
from support.strategies import BYTES, FLAGS, models

# The same tokenizer

SETTINGS = {
    "errors": "ignore",
    "add_prefix_space": True,
    "padding_side": "left",
    "truncation_side": "left",
    "split_special_tokens": True,
    "clean_up_tokenization_spaces": True,
    "model_max_length": 77,
    "model_input_names": ["input_ids"],
    "token_type_ids_pattern": "bert_style",
    "token_type_ids_include_special_tokens": False,
    "special_tokens_pattern": "eos",
    "chat_template": "{{ messages }}",
    "response_template": {"a": 1},
    "chat_control_tokens": ["<|user|>"],
    "bos_token": "<|user|>",
    "unk_token": "<pad>",
    "mask_token": "<|user|>",
    "extra_special_tokens": ["<|user|>", "<pad>"],
}
HAVE = [name for name in SETTINGS if hasattr(make_tokenizer(), name)]


@pytest.mark.parametrize("portable", [False, True], ids=["", "portable"])
@pytest.mark.parametrize("is_changed", [False, True], ids=["given", "set later"])
def test_settings_survive_and_can_be_taken_back(tmp_path, is_changed, portable):
    plain = BPETokenizer.train(CORPUS, 262, SPECIALS)
    settings = {name: SETTINGS[name] for name in HAVE}
    tokenizer = plain if is_changed else BPETokenizer.train(CORPUS, 262, SPECIALS, **settings)
    before = {name: getattr(BPETokenizer(model=plain.model), name) for name in settings}
    for name, value in settings.items() if is_changed else ():
        assert before[name] != value
        setattr(tokenizer, name, value)
    tokenizer.save_pretrained(tmp_path, portable=portable)
    loaded = BPETokenizer.from_pretrained(tmp_path)
    for name in settings:
        with case(name):
            assert getattr(loaded, name) == settings[name]
    for name in ("special_tokens_map", "added_tokens_decoder", "model"):
        assert getattr(loaded, name) == getattr(tokenizer, name), name
    (tmp_path / "chat_template.jinja").unlink()  # else there is a warning, which see below
    for name, value in before.items():
        setattr(loaded, name, value)
    loaded.save_pretrained(tmp_path, portable=portable)
    again = BPETokenizer.from_pretrained(tmp_path)
    for name, value in before.items():
        with case(name):
            assert getattr(again, name) == value


def added_tokens():
    flags = st.fixed_dictionaries({flag: st.booleans() for flag in FLAGS})
    texts = st.sampled_from(["<t>", "ab", "б", "бб", " б", "a\u0301", "low ", "<|x|>a"])
    return st.builds(lambda content, flags: AddedToken(content, **flags), texts, flags)


@st.composite
def options(draw, model):
    """Draw settings; where a byte is missing, special tokens as text cannot be read without an unknown token."""
    drawn = {
        "padding_side": draw(st.sampled_from(["left", "right"])),
        # With whole words first, `tokenizers` finds special tokens again in the text that was not split at them.
        "split_special_tokens": not model.ignore_merges and draw(st.booleans()),
        "add_prefix_space": model.pattern in ("gpt2", None) and draw(st.booleans()),
        "errors": draw(st.sampled_from(["replace", "ignore", "strict"])),
        "chat_template": draw(st.none() | st.just("{{ messages }}")),
        "model_max_length": draw(st.integers(1, 100)),
        "unk_token": draw(st.sampled_from([None, "<unk>"])),
    }
    if draw(st.booleans()):
        drawn |= {"bos_token": "<s>", "eos_token": AddedToken("</s>", rstrip=True)}
        drawn |= {"add_bos_token": draw(st.booleans()), "add_eos_token": draw(st.booleans())}
    return drawn


@settings(max_examples=by_profile(quick=8, thorough=60))
@given(model=models(), later=st.lists(added_tokens(), max_size=4, unique_by=str), data=st.data())
def test_any_tokenizer_is_saved_and_loaded_as_it_was(tmp_path_factory, model, later, data):
    tokenizer = BPETokenizer(model=model, **data.draw(options(model)))
    tokenizer.add_tokens(later)
    folder = tmp_path_factory.mktemp("saved")
    tokenizer.save_pretrained(folder, portable=data.draw(st.booleans()))
    loaded = BPETokenizer.from_pretrained(folder)
    assert loaded.definition == tokenizer.definition
    for name in ("encoder", "added_tokens_decoder", "special_tokens_map", "add_bos_token", "model_special_tokens"):
        assert getattr(loaded, name) == getattr(tokenizer, name), name


@pytest.mark.parametrize("portable", [False, True], ids=["", "portable"])
@pytest.mark.parametrize("ignore_merges", [False, True])
@pytest.mark.parametrize("specials", [[], ["<|x|>", "你好"]])
def test_token_that_no_merge_makes_is_loaded_as_ordinary(tmp_path, specials, ignore_merges, portable):
    tokens = [b"xyz", b"abc", *map(str.encode, specials)]
    model = BPEModel(BYTES | dict(enumerate(tokens, start=256)), [], specials, ignore_merges=ignore_merges)
    made_special = BPETokenizer(model=model, pad_token="abc")  # which changes no model
    for tokenizer in (BPETokenizer(model=model), made_special):
        tokenizer.save_pretrained(tmp_path, portable=portable)
        loaded = BPETokenizer.from_pretrained(tmp_path)
        assert (loaded.model, loaded.special_tokens_map) == (model, tokenizer.special_tokens_map)
        if not portable:
            assert AutoTokenizer.from_pretrained(tmp_path).model == model
    (tmp_path / "tokenizer.json").unlink()
    assert BPETokenizer.from_pretrained(tmp_path).model == model


@pytest.mark.parametrize("token", ["<b2>", "low", "!", "<|user|>"])
def test_name_given_to_any_token_is_saved(tokenizer, tmp_path, token):
    tokenizer.save_pretrained(tmp_path / "before")
    loaded = {}
    for name, cls in {"ours": BPETokenizer, "plain": PreTrainedTokenizerFast}.items():
        named = cls.from_pretrained(tmp_path / "before")
        named.bos_token = token
        before = len(named)
        named.save_pretrained(tmp_path / name)
        assert len(named) == before
        loaded[name] = PreTrainedTokenizerFast.from_pretrained(tmp_path / name)
    loaded |= {cls.__name__: cls.from_pretrained(tmp_path / "ours") for cls in (BPETokenizer, AutoTokenizer)}
    texts = ["low lower", "  lowest\n", f"a{token}b", f"{token}er"]
    expected = loaded["plain"]
    for each in loaded.values():
        assert (each.bos_token, each.bos_token_id, len(each)) == (token, expected.bos_token_id, len(expected))
        assert each(texts)["input_ids"] == (rows := expected(texts)["input_ids"])
        assert each.decode(rows[2], skip_special_tokens=True) == "ab"


def test_settings_missing_from_files_are_only_for_files(tmp_path):
    model = BPEModel(BYTES | {256: b"xyz", 257: b"<|x|>"}, [], ["<|x|>"], ignore_merges=True)
    paths = write_gpt2(model, tmp_path)
    assert BPETokenizer(*paths, ignore_merges=True, model_special_tokens=["<|x|>"]).model == model
    assert BPETokenizer(*paths).model_special_tokens == ["xyz", "<|x|>"]
    for loaded in (BPETokenizer(*paths), BPETokenizer.from_pretrained(tmp_path)):
        assert not loaded.ignore_merges
    for kwargs in ({"model_special_tokens": []}, {"ignore_merges": True}):
        loaded = BPETokenizer.from_pretrained(tmp_path, **kwargs)
        assert {name: getattr(loaded, name) for name in kwargs} == kwargs
    with pytest.raises(TypeError, match="ignore_merges: expected True or False, got 2"):
        BPETokenizer(*paths, ignore_merges=2)


def test_several_chat_templates_survive(tokenizer, tmp_path):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = {"default": "{{ messages }}", "tool_use": "{{ tools }}"}
    for options in ({}, {"portable": True}, {"save_jinja_files": False}):
        folder = tmp_path / str(options)
        tokenizer.save_pretrained(folder, **options)
        assert BPETokenizer.from_pretrained(folder).chat_template == tokenizer.chat_template
    for name in ("../up", "in/folder"):
        tokenizer.chat_template = {name: "{{ messages }}"}
        with pytest.raises(ValueError, match="Invalid chat template name"):
            tokenizer.save_pretrained(tmp_path / "invalid")


class Changed(BPETokenizer):
    """Overrides what transformers calls while it loads and saves."""

    vocab_files_names = {**BPETokenizer.vocab_files_names, "notes_file": "notes.txt"}  # noqa: RUF012

    def __init__(self, *args, notes_file=None, author=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.notes, self.author = Path(notes_file).read_text(), author
        self.init_kwargs |= {"notes_file": notes_file, "author": author}

    @classmethod
    def convert_to_native_format(cls, **kwargs):
        return {**super().convert_to_native_format(**kwargs), "mask_token": "<pad>"}

    @classmethod
    def convert_added_tokens(cls, obj, save=False, **options):
        if isinstance(obj, Path if save else str) and Path(obj) == Path("me"):
            return str(obj) if save else Path(obj)
        return super().convert_added_tokens(obj, save, **options)

    def _save_pretrained(self, save_directory, *args, **options):
        Path(save_directory, "notes.txt").write_text(self.notes)
        return super()._save_pretrained(save_directory, *args, **options)


@pytest.mark.parametrize("options", [{}, {"byte_fallback": False, "unk_token": "<unk>"}], ids=["bytes", "characters"])
def test_subclass_changes_what_is_loaded_and_saved(options, tmp_path):
    BPETokenizer.train(CORPUS, num_merges=3, special_tokens=SPECIALS, **options).save_pretrained(tmp_path / "0")
    (tmp_path / "0" / "notes.txt").write_text("by hand")
    loaded = Changed.from_pretrained(tmp_path / "0", author=Path("me"))
    loaded.save_pretrained(tmp_path / "1")
    config = json.loads((tmp_path / "1" / "tokenizer_config.json").read_text("utf-8"))
    assert (loaded.mask_token, config["author"], "notes_file" in config) == ("<pad>", "me", False)
    again = Changed.from_pretrained(tmp_path / "1")
    assert (again.notes, again.mask_token, again.author) == ("by hand", "<pad>", Path("me"))


def test_names_that_were_removed_stay_removed(tmp_path):
    names = ("unk_token", "bos_token", "eos_token", "image_token")
    tokenizer = BPETokenizer.train(CORPUS, num_merges=3, special_tokens=SPECIALS, unk_token="<pad>", image_token="<i>")
    for name in names:
        setattr(tokenizer, name, None)
    assert tokenizer.definition.names == tokenizer.pipeline.names == {}
    tokenizer.save_pretrained(tmp_path / "saved")
    tokenizer.convert_to(tmp_path / "converted", format="hf")
    for folder in ("saved", "converted"):
        loaded = BPETokenizer.from_pretrained(tmp_path / folder)
        assert [getattr(loaded, name, None) for name in names] == [None] * 4


@pytest.mark.parametrize("name", ["pad_token", "image_token", "extra_special_tokens"])
def test_names_given_later_are_special_tokens_of_the_folder(name, tmp_path):
    tokenizer = BPETokenizer.train(CORPUS, num_merges=3, image_token="<i>")
    setattr(tokenizer, name, ["<new>"] if name == "extra_special_tokens" else "<new>")
    tokenizer.save_pretrained(tmp_path / "saved")
    tokenizer.convert_to(tmp_path / "converted", format="hf")
    for folder in ("saved", "converted"):
        assert BPETokenizer.from_pretrained(tmp_path / folder).encode("<new>") == [len(tokenizer)]


# Files


def test_saving_again_writes_the_same_files(tokenizer, tmp_path):
    loaded = reload(tokenizer, tmp_path / "one")
    loaded.save_pretrained(tmp_path / "two")
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")
    assert sorted(snapshot(tmp_path / "one")) == ["merges.txt", "tokenizer.json", "tokenizer_config.json", "vocab.json"]


def test_save_pretrained_returns_what_it_wrote_under_its_prefix(tokenizer, tmp_path):
    written = tokenizer.save_pretrained(tmp_path, filename_prefix="my")
    assert sorted(written) == sorted(str(path) for path in tmp_path.iterdir())
    expected = {f"my-{name}" for name in ("merges.txt", "tokenizer.json", "tokenizer_config.json", "vocab.json")}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_push_to_hub_saves_and_hands_over(tokenizer, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(BPETokenizer, "push_to_hub", lambda self, *args, **kwargs: calls.append((args, kwargs)))
    tokenizer.save_pretrained(tmp_path / "name", push_to_hub=True, private=True)
    tokenizer.save_pretrained(tmp_path / "name", push_to_hub=True, repo_id="me/it", commit_message="why")
    assert calls == [(("name",), {"private": True}), (("me/it",), {"commit_message": "why"})]
    assert AutoTokenizer.from_pretrained(tmp_path / "name").model == tokenizer.model


def test_pattern_beside_gpt2_files_is_that_of_tokenizer_json(tmp_path):
    model = train(CORPUS, num_merges=30, special_tokens=SPECIALS, pattern="qwen2")
    BPETokenizer(model=model).save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert BPETokenizer.from_pretrained(tmp_path).model == model
    edit_json(tmp_path / "tokenizer.json", normalizer={"type": "Nmt"})
    with pytest.raises(ValueError, match=r"normalizer: 'Nmt' is not supported"):
        BPETokenizer.from_pretrained(tmp_path)


def test_old_chat_template_gives_a_warning(tokenizer, tmp_path):
    (tmp_path / "chat_template.jinja").write_text("old")
    with pytest.warns(
        UserWarning, match=r"chat_template\.jinja belongs to an earlier tokenizer.* delete the file"
    ) as warned:
        tokenizer.save_pretrained(tmp_path)
    assert warned[0].filename == __file__  # the line of the caller


# Files that belong together

MIXED = ["vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture(scope="module")
def two_folders(tokenizer, tmp_path_factory):
    """Two saved tokenizers with the same settings and the same number of tokens, so that files of both may fit."""
    folders = tmp_path_factory.mktemp("a"), tmp_path_factory.mktemp("b")
    tokenizer.save_pretrained(folders[0])
    other = train([*reversed(CORPUS), "lowest newest"], vocab_size=tokenizer.vocab_size, special_tokens=SPECIALS)
    BPETokenizer(model=other, pad_token="<pad>").save_pretrained(folders[1])
    return folders


def mixed(two_folders, folder, names):
    """Make a folder with the files of one tokenizer, but those that are named of the other."""
    shutil.copytree(two_folders[0], folder)
    for name in names:
        shutil.copy(two_folders[1] / name, folder)
    return folder


@pytest.mark.parametrize("number", [1, 2, 3])
def test_files_of_two_saves_are_no_tokenizer(two_folders, tmp_path, number):
    for names in itertools.combinations(MIXED[:-1], number):
        folder = mixed(two_folders, tmp_path / str(names), names)
        for load in (BPETokenizer.from_pretrained, BPETokenizer.convert_from, AutoTokenizer.from_pretrained):
            message = r"is not the file that was saved with tokenizer_config\.json"
            with case(names, load), pytest.raises(ValueError, match=message) as error:
                load(folder)
            (named,) = (name for name in names if str(folder / name) in str(error.value))
            assert ("holds a different tokenizer than" in str(error.value)) == (named == "tokenizer.json")


def test_changed_file_loads_once_its_digest_is_deleted(two_folders, tmp_path):
    folder = mixed(two_folders, tmp_path / "mixed", ["vocab.json", "merges.txt"])
    content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    content["model"]["ignore_merges"] = True
    (folder / "tokenizer.json").write_text(json.dumps(content))
    config = json.loads((folder / MIXED[-1]).read_text("utf-8"))
    for each in MIXED[:-1]:
        with pytest.raises(ValueError, match=f"delete '{each}' from 'file_digests' in tokenizer_config"):
            BPETokenizer.from_pretrained(folder)
        del config["file_digests"][each]
        (folder / MIXED[-1]).write_text(json.dumps(config))
    merges = BPETokenizer.from_pretrained(two_folders[0]).model.merges
    assert BPETokenizer.from_pretrained(folder).model.merges != merges


@pytest.mark.parametrize("digests", [None, {}, {"vocab.json": "", "merges.txt": 1}], ids=str)
def test_digests_may_be_missing_but_not_wrong(two_folders, tmp_path, digests):
    folder = mixed(two_folders, tmp_path / "mixed", [])
    edit_json(folder / MIXED[-1], file_digests=digests)
    if digests:
        with pytest.raises(ValueError, match="is not the file"):
            BPETokenizer.from_pretrained(folder)
    else:
        assert "file_digests" not in BPETokenizer.from_pretrained(folder).init_kwargs
    edit_json(folder / MIXED[-1], file_digests=[])
    with pytest.raises(ValueError, match="file_digests: expected an object or null, got"):
        BPETokenizer.from_pretrained(folder)


def test_settings_and_chat_templates_may_be_edited_by_hand(two_folders, tmp_path):
    folder = mixed(two_folders, tmp_path / "mixed", [])
    (folder / "chat_template.jinja").write_text("by hand")
    edit_json(folder / MIXED[-1], padding_side="left")
    loaded = BPETokenizer.from_pretrained(folder)
    assert (loaded.chat_template, loaded.padding_side) == ("by hand", "left")


def test_git_may_change_line_ends(two_folders, tmp_path):
    folder = mixed(two_folders, tmp_path / "mixed", [])
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert BPETokenizer.from_pretrained(folder).model == BPETokenizer.from_pretrained(two_folders[0]).model


def test_links_to_files_elsewhere_are_followed(two_folders, tmp_path):
    cached = add_to_cache(two_folders[0], tmp_path)
    expected = BPETokenizer.from_pretrained(two_folders[0]).model

    def load():
        return [
            BPETokenizer.from_pretrained("me/it", cache_dir=tmp_path, local_files_only=True),
            BPETokenizer.from_pretrained(cached.parent, subfolder=cached.name),
        ]

    assert [loaded.model for loaded in load()] == [expected, expected]
    (cached / "merges.txt").unlink()
    (cached / "merges.txt").symlink_to(two_folders[1] / "merges.txt")
    with pytest.raises(ValueError, match=r"merges\.txt: is not the file"):
        load()


def test_fast_tokenizer_with_more_tokens_is_saved_in_the_folder(two_folders, tmp_path):
    folder = mixed(two_folders, tmp_path / "mixed", [])
    fast = PreTrainedTokenizerFast.from_pretrained(folder)
    fast.add_tokens(["<more>"])
    fast.save_pretrained(folder)
    assert BPETokenizer.from_pretrained(folder).encode("low<more>") == fast.encode("low<more>")
    fast.train_new_from_iterator(["another text"], fast.vocab_size).save_pretrained(folder)
    with pytest.raises(ValueError, match=r"added_tokens_decoder: .* has the id 0, which is the id of"):
        BPETokenizer.from_pretrained(folder)


def test_save_while_loading_gives_one_tokenizer_or_an_error(two_folders, tmp_path, monkeypatch):
    folder = mixed(two_folders, tmp_path / "mixed", [])
    arguments = Folder.arguments

    def save_first(read):
        monkeypatch.undo()
        BPETokenizer.from_pretrained(two_folders[1]).save_pretrained(folder)
        return arguments(read)

    monkeypatch.setattr(Folder, "arguments", save_first)
    with pytest.raises(ValueError, match="is not the file that was saved with"):
        BPETokenizer.from_pretrained(folder)


def test_files_given_by_hand_need_not_be_those_of_the_folder(two_folders):
    files = {f"{name}_file": str(two_folders[1] / path) for name, path in [("vocab", MIXED[0]), ("merges", MIXED[1])]}
    loaded = BPETokenizer.from_pretrained(two_folders[0], **files)
    assert loaded.model.merges == BPETokenizer.from_pretrained(two_folders[1]).model.merges


# Portable


def test_a_portable_folder_says_what_transformers_4_reads(tokenizer, tmp_path):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.extra_special_tokens = ["<|user|>"]
    tokenizer.save_pretrained(tmp_path, portable=True)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert config["model_input_names"] == ["input_ids", "attention_mask"]
    assert config["additional_special_tokens"] == ["<|user|>"]
    assert "extra_special_tokens" not in config  # a list there is an error in transformers 4


def test_a_folder_may_be_saved_portable_and_not_in_turns(tokenizer, tmp_path):
    other = BPETokenizer.train(["other text"], 260, pattern="qwen2")
    for number, each in enumerate([tokenizer, other, other, tokenizer]):
        each.save_pretrained(tmp_path, portable=number % 2 == 0)
        assert BPETokenizer.from_pretrained(tmp_path).model == each.model
        expected = PreTrainedTokenizerFast if number % 2 == 0 else BPETokenizer
        assert type(AutoTokenizer.from_pretrained(tmp_path)) is expected


def test_portable_cannot_be_pushed_unseen(tokenizer, tmp_path):
    with pytest.raises(ValueError, match=r"portable=True with push_to_hub=True.*upload_folder"):
        tokenizer.save_pretrained(tmp_path / "new", portable=True, push_to_hub=True)
    assert not (tmp_path / "new").exists()
