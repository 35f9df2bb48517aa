"""`vocab.json` and `merges.txt`: what is read is what was written, and what is broken is refused with its place."""

import dataclasses
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2Tokenizer

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.conversion import read_gpt2, write_gpt2
from support.cases import case
from support.engines import use_engine
from support.profiles import by_profile
from support.samples import CORPUS
from support.strategies import damaged, models

# Names that are hard to tell from ordinary tokens, from headers or from JSON; the third is the UTF-8 of the second read
# as printable characters. None is the printable form of a token that `models` draws.
ODD_SPECIALS = [*("Ġx", "éx", "Ã©x", "x x", "#version: 0.2", "\n\n", '"\\"', "\u2028", "😀", "<s>", "xyz", "Ġ Ċ")]
LETTERS = {letter: number for number, letter in enumerate("#!:eionrsv")}


@st.composite
def odd_models(draw):
    """Draw a model with special tokens of odd names at ids in the gaps or beyond."""
    model = draw(models(all_merged=True))  # for the files say neither which tokens are special nor more
    specials = draw(st.lists(st.sampled_from(ODD_SPECIALS), unique=True, max_size=5))
    free = [token_id for token_id in range(1200) if token_id not in model.vocab]
    ids = random.Random(draw(st.integers(0, 99))).sample(free, len(specials))
    vocab = model.vocab | dict(zip(ids, map(str.encode, specials), strict=True))
    return dataclasses.replace(model, vocab=vocab, special_tokens=(*model.special_tokens, *specials))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gpt2")


def read(folder, vocab, merges, **kwargs):
    """Read files with these contents."""
    for name, content in (("vocab.json", vocab), ("merges.txt", merges)):
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_gpt2(folder / "vocab.json", folder / "merges.txt", **kwargs)


def rendered(model, folder):
    """Return the text of both files."""
    return [path.read_text("utf-8") for path in write_gpt2(model, folder)]


def chain_of_merges(*words):
    """Return a model whose merges build each word letter by letter."""
    merges = [(word[:end].encode(), word[end].encode()) for word in words for end in range(1, len(word))]
    vocab = {number: letter.encode() for letter, number in LETTERS.items()}
    return BPEModel(vocab | {100 + rank: first + second for rank, (first, second) in enumerate(merges)}, merges)


# What is valid


@given(odd_models())
def test_reading_gives_the_model_that_was_written(folder, model):
    paths = write_gpt2(model, folder, prefix="my-")
    assert paths == (folder / "my-vocab.json", folder / "my-merges.txt")
    assert read_gpt2(*paths, special_tokens=model.special_tokens, pattern=model.pattern) == model
    assert read_gpt2(*paths, pattern=model.pattern) == model
    assert {path.name for path in folder.iterdir()} <= {"my-vocab.json", "my-merges.txt", "vocab.json", "merges.txt"}


@given(odd_models(), st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.data())
def test_irrelevant_details_of_the_files_change_nothing(folder, model, header, mark, ascii_only, newline, data):
    vocab, merges = rendered(model, folder)
    entries = [*json.loads(vocab).items()]
    random.Random(data.draw(st.integers(0, 99))).shuffle(entries)
    lines = merges.removesuffix("\n").split("\n")[0 if header else 1 :]
    for place in data.draw(st.lists(st.integers(1 if header else 0, len(lines)), max_size=3)):
        lines.insert(place, "")
    byte_order_mark = "\ufeff" * mark
    vocab = json.dumps(dict(entries), ensure_ascii=ascii_only, indent=data.draw(st.sampled_from([None, 1])))
    merges = newline.join(lines) + newline * data.draw(st.integers(0, 1))
    assert read(folder, byte_order_mark + vocab, byte_order_mark + merges, pattern=model.pattern) == model


@settings(max_examples=by_profile(quick=90, thorough=500))
@given(odd_models(), st.booleans(), st.sampled_from(["vocab.json", "merges.txt", ""]), st.data())
def test_both_engines_read_and_refuse_the_same_files(folder, native, model, ascii_only, broken, data):
    vocab, merges = rendered(model, folder)
    entries = data.draw(st.permutations([*json.loads(vocab).items()]))
    for name, text in (("vocab.json", json.dumps(dict(entries), ensure_ascii=ascii_only)), ("merges.txt", merges)):
        (folder / name).write_bytes(data.draw(damaged(text.encode())) if name == broken else text.encode())
    specials = data.draw(st.sampled_from([None, model.special_tokens, [*model.printable_vocab()][:3]]))
    outcomes = []
    for engine in ("native", "reference"):
        with use_engine(engine):
            try:
                options = {"special_tokens": specials, "pattern": model.pattern}
                outcomes.append(read_gpt2(folder / "vocab.json", folder / "merges.txt", **options))
            except ValueError as error:
                outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    if not broken and specials != [*model.printable_vocab()][:3]:
        assert outcomes[0] == model


@pytest.mark.parametrize("words", [["##"], ["#!#", "!#"], ["#versio"], ["!!", "#version:"]])
def test_merges_that_begin_with_a_hash_are_merges_on_any_line(tmp_path, words):
    model = chain_of_merges(*words)
    vocab, merges = rendered(model, tmp_path)
    for header in ("", "#version: 0.2\n", "#version: 0.2 - Trained by `huggingface/tokenizers`\r\n"):
        with case(header):
            assert read(tmp_path, vocab, header + merges.split("\n", 1)[1]) == model


def test_an_empty_merges_file_means_no_merges(tmp_path):
    assert read(tmp_path, '{"a": 1}', "") == BPEModel({1: b"a"}, [])


def test_only_named_tokens_are_special_if_some_are_named(tmp_path):
    vocab, merges = '{"a": 0, "aa": 1, "aaa": 2, "<s>": 3, "a a": 4}', "a a"
    assert read(tmp_path, vocab, merges).special_tokens == ("aaa", "<s>", "a a")
    named = read(tmp_path, vocab, merges, special_tokens=["<s>", "absent"])
    assert named.special_tokens == ("<s>", "a a")  # no bytes stand for the space, so it can be nothing else
    none = read(tmp_path, vocab, merges, special_tokens=[])
    assert none.vocab == {0: b"a", 1: b"aa", 2: b"aaa", 3: b"<s>", 4: b"a a"}
    assert none.special_tokens == ("a a",)


def test_one_name_instead_of_a_list_is_refused(tmp_path):
    with pytest.raises(TypeError, match="expected a list of str"):
        read(tmp_path, '{"a": 0, "<s>": 1}', "", special_tokens="<s>")


def test_a_part_of_a_merge_is_never_inferred_to_be_special(tmp_path):
    model = BPEModel({0: b"a", 1: b"aa", 2: b"aaa"}, [(b"aa", b"a")])
    assert read_gpt2(*write_gpt2(model, tmp_path)) == model


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


# What is broken


def test_empty_token_with_the_id_of_another_is_refused(tmp_path):
    vocab_file, merges_file = write_gpt2(train(CORPUS, num_merges=40), tmp_path)
    vocab_file.write_text(vocab_file.read_text().replace("{", '{"": 97, ', 1))
    with pytest.raises(ValueError, match="tokens '' and 'a' have the same id, 97"):
        BPETokenizer(vocab_file, merges_file)


VOCAB, MERGES = '{"a": 0, "b": 1, "ab": 2, "aba": 3, "é": 4}', "#version: 0.2\na b\nab a\n"
BROKEN = {
    "empty vocabulary": ("", MERGES, r"vocab\.json: not JSON at line 1, column 1"),
    "truncated vocabulary": ('{"a": 0,\n "b"', MERGES, r"vocab\.json: not JSON at line 2, column 5"),
    "two vocabularies": (VOCAB * 2, MERGES, r"vocab\.json: not JSON at line 1, column 44: Extra data"),
    "list": ('["a", "b"]', MERGES, r"vocab\.json: expected a JSON object, got list"),
    "null": ("null", MERGES, r"vocab\.json: expected a JSON object, got NoneType"),
    "float id": ('{"a": 1.0}', MERGES, r"vocab\.json: token 'a' has the id 1\.0"),
    "infinite id": ('{"a": 1e999}', MERGES, r"vocab\.json: token 'a' has the id inf"),
    "string id": ('{"a": "1"}', MERGES, r"vocab\.json: token 'a' has the id '1'"),
    "bool id": ('{"a": 0, "b": true}', MERGES, r"vocab\.json: token 'b' has the id True"),
    "no id": ('{"a": null}', MERGES, r"vocab\.json: token 'a' has the id None"),
    "nested vocabulary": ('{"model": {"a": 0}}', MERGES, r"vocab\.json: token 'model' has the id \{'a': 0\}"),
    "negative id": ('{"a": -1}', MERGES, r"vocab\.json.*id -1 of token b'a'"),
    "id of 33 bits": ('{"a": 4294967296}', MERGES, r"vocab\.json.*id 4294967296 of token b'a'"),
    "id twice": ('{"a": 0, "b": 0}', MERGES, r"vocab\.json: tokens 'a' and 'b' have the same id, 0"),
    "number of 101 digits": ('{"a": 1' + "0" * 100 + "}", MERGES, r"vocab\.json: the number 1(0){19}… has 101 digits"),
    "negative of 20 digits": (
        '{"a": -1' + "0" * 19 + "}",
        MERGES,
        r"vocab\.json.*id -1(0){19} of token b'a' is not betw",
    ),
    "id of 20 digits": ('{"a": 1' + "0" * 19 + "}", MERGES, r"vocab\.json.*id 1(0){19} of token b'a' is not between"),
    "key twice with one id": ('{"a": 0, "a": 0}', MERGES, r"vocab\.json: the key 'a' occurs twice"),
    "key twice, once no id": ('{"a": null, "a": 0}', MERGES, r"vocab\.json: the key 'a' occurs twice"),
    "key twice, once a string": ('{"a": "b", "a": 0}', MERGES, r"vocab\.json: the key 'a' occurs twice"),
    "key twice, once nested": ('{"a": {"b": 0}, "a": 0}', MERGES, r"vocab\.json: the key 'a' occurs twice"),
    "quotes twice": (r'{"\"": 0, "b\"": 1, "\u0022": 2}', MERGES, r"vocab\.json: the key '\"' occurs twice"),
    "backslash twice": (r'{"\\": 0, "\\\"": 1, "\\": 2}', MERGES, r"vocab\.json: the key '\\\\' occurs twice"),
    "key twice": ('{"a": 0, "b": 1, "a": 2}', MERGES, r"vocab\.json: the key 'a' occurs twice"),
    "lone surrogate": ('{"\\ud800": 0}', "", r"vocab\.json.*'\\ud800' holds a lone surrogate"),
    "latin-1 vocabulary": (VOCAB.encode("latin-1"), MERGES, r"vocab\.json: not UTF-8 at byte 37"),
    "UTF-16 vocabulary": (VOCAB.encode("utf-16"), MERGES, r"vocab\.json: not UTF-8 at byte 0"),
    "one part": (VOCAB, "#version: 0.2\na b\nab\n", r"merges\.txt: line 3: .* got 'ab'"),
    "three parts": (VOCAB, "a b a\n", r"merges\.txt: line 1: .* got 'a b a'"),
    "two spaces": (VOCAB, MERGES + "\r\n\r\na  b", r"merges\.txt: line 6: .* got 'a  b'"),
    "no space but a tab": (VOCAB, "a\tb", r"merges\.txt: line 1: "),
    "line end of old Macs": (VOCAB, "a b\rab a", r"merges\.txt: line 1: "),
    "line end of Unicode": (VOCAB, "a b\u2028ab a", r"merges\.txt: line 1: "),
    "space at the end": (VOCAB, "a b \n", r"merges\.txt: line 1: "),
    "second header": (VOCAB, "#version: 0.2\n#version: 0.2\n", r"merges\.txt.*merge 0, \(b'#version:', b'0\.2'\)"),
    "character for no byte": (VOCAB, "\na b\nab 你", r"merges\.txt: line 3: .* got 'ab 你'"),
    "special token as a part": ('{"a": 0, "你": 1, "a你": 2}', "a 你", r"merges\.txt: line 1: .* got 'a 你'"),
    "two wrong lines": (VOCAB, "a b\n\nab\na  b\nab\n", r"merges\.txt: line 3: .* got 'ab'"),
    "latin-1 merges": (VOCAB, "a b\né a".encode("latin-1"), r"merges\.txt: not UTF-8 at byte 4"),
    "unknown first part": (VOCAB, "x a", r"merges\.txt.*merge 0, \(b'x', b'a'\): its first part is not a token"),
    "unknown second part": (VOCAB, "a b\na x", r"merges\.txt.*merge 1, \(b'a', b'x'\): its second part is not a token"),
    "unknown result": (VOCAB, "b a", r"merges\.txt.*merge 0, \(b'b', b'a'\): its result is not a token"),
    "merge twice": (VOCAB, "a b\nab a\na b", r"merges\.txt.*merge 2.*: merge 0 is the same pair"),
    "huge id": ('{"a": 1' + "0" * 5000 + "}", MERGES, r"vocab\.json: "),
    "deeply nested list": ("[" * 100_000, MERGES, r"vocab\.json: "),
    "deeply nested object": ('{"a":' * 100_000, MERGES, r"vocab\.json: "),
}


def test_a_broken_file_is_refused_with_its_name_and_the_place(tmp_path):
    for name, (vocab, merges, message) in BROKEN.items():
        with case(name), pytest.raises(ValueError, match=message):
            read(tmp_path, vocab, merges)


@pytest.mark.parametrize("broken", ["vocab.json", "merges.txt"])
def test_folder_in_the_place_of_a_file_is_an_os_error(tmp_path, broken):
    assert read(tmp_path, VOCAB, MERGES)
    (tmp_path / broken).unlink()
    with pytest.raises(FileNotFoundError, match=broken):
        read_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    (tmp_path / broken).mkdir()
    with pytest.raises(OSError, match=broken):
        read_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")


@pytest.mark.parametrize("failing", ["vocab.json", "merges.txt"])
def test_nothing_is_written_when_writing_fails(tmp_path, monkeypatch, failing):
    write_gpt2(chain_of_merges("##"), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    write_bytes = Path.write_bytes

    def write_half(path, content):
        if path.name == failing:
            write_bytes(path, content[: len(content) // 2])
            raise OSError("no space left")
        return write_bytes(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(OSError, match="no space left"):
        write_gpt2(chain_of_merges("!!!"), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before


# The real files


def test_files_of_gpt2_are_read_and_written_back_unchanged(test_data, tmp_path):
    originals = test_data / "gpt2" / "vocab.json", test_data / "gpt2" / "merges.txt"
    model = read_gpt2(*originals)
    assert (model.vocab_size, len(model.merges), model.special_tokens) == (50257, 50000, ("<|endoftext|>",))
    assert sorted(model.vocab) == [*range(50257)]
    assert sum(first.startswith(b"#") for first, _ in model.merges) == 8
    assert read_gpt2(*originals, special_tokens=["<|endoftext|>"]) == model
    vocab, merges = write_gpt2(model, tmp_path)
    assert json.loads(vocab.read_text("utf-8")) == json.loads(originals[0].read_text("utf-8"))
    assert merges.read_text("utf-8").split("\n") == originals[1].read_text("utf-8").split("\n")
