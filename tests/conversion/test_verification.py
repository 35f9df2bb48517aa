"""Two tokenizers side by side: a difference in anything is found, shortened, and shown with both ids and the bytes."""

import dataclasses
import itertools
import pkgutil
import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPETokenizer, conversion, train
from hf_bpe.conversion import Definition, Peer
from hf_bpe.formats._verification.mismatch import MismatchSearch, model_difference
from hf_bpe.formats._verification.sides import side_of, side_of_file, side_of_pattern
from hf_bpe.pretokenizers import NAMES
from support.cases import case
from support.profiles import by_profile
from support.strategies import models
from support.upstream.transformers_features import needs_class_of_its_own

CORPUS = ["low lower lowest newest widest 你好 42!\n\n", "many words of a text; the longest are whole words.\n"] * 3


@pytest.fixture(scope="module")
def model():
    model = train(CORPUS, num_merges=40, special_tokens=["<|x|>"])
    merges = [(b"e", b" "), (b"\xc3", b"\xa9")]  # across words, and a letter that has another form
    vocab = model.vocab | {800: b"e ", 801: "é".encode()}
    return dataclasses.replace(model, vocab=vocab, merges=[*model.merges, *merges])


def sides(first, second):
    return side_of(first, "A"), side_of(second, "B")


def find_mismatch(first, second, files=()):
    return MismatchSearch(first, second).find(files)


def template(*between):
    """Return the JSON form of a template with tokens between the sequences of pairs, and none elsewhere."""
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    special = [{"SpecialToken": {"id": token, "type_id": 0}} for token in between]
    return {"single": [first], "pair": [first, *special, second]}


OTHERS = {
    "pattern": lambda model: Definition(dataclasses.replace(model, pattern=None)),
    "merges": lambda model: Definition(dataclasses.replace(model, merges=model.merges[1:])),
    "ids": lambda model: Definition(dataclasses.replace(model, vocab=model.vocab | {97: b"b", 98: b"a"})),
    "special token": lambda model: Definition(dataclasses.replace(model, special_tokens=(), merges=model.merges)),
    "added token": lambda model: Definition(model, {900: AddedToken("—\n")}),
    "flag": lambda model: Definition(model, {256: AddedToken("<|x|>", lstrip=True, special=True, normalized=False)}),
    "prefix space": lambda model: Definition(model, {}, {"add_prefix_space": True}),
    "bos": lambda model: Definition(model, {}, {"bos_token": "<|x|>", "add_bos_token": True}),
    "eos": lambda model: Definition(model, {}, {"eos_token": "<|x|>", "add_eos_token": True}),
    "normalizer": lambda model: Definition(dataclasses.replace(model, normalizer="NFC")),
    "pairs": lambda model: Definition(model, {}, {"template": template("<|x|>")}),
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_difference_in_what_decides_ids_is_found_either_way(model, change):
    base, other = Definition(model), change(model)
    if other.model == model and other == base:
        pytest.fail("nothing was changed")
    for first, second in ((base, other), (other, base)):
        mismatch = find_mismatch(*sides(first, second))
        assert mismatch is not None
        peers = [side.peer for side in sides(first, second)]
        if mismatch.second is None:
            rows = [peer.encode([mismatch.text], mismatch.added)[0] for peer in peers]
        else:
            rows = [peer.encode_pair(mismatch.text, mismatch.second) for peer in peers]
        assert rows[0] != rows[1]
        assert len(mismatch.text) < 12


def test_mismatch_shows_text_bytes_ids_and_tokens(model):
    other = dataclasses.replace(model, vocab=model.vocab | {97: b"b", 98: b"a"})
    shown = str(find_mismatch(*sides(Definition(model), Definition(other)))).splitlines()
    assert shown == ["tokens of the vocabulary: 'a'", "  bytes: 61", "  A: [97 b'a']", "  B: [98 b'a']"]


def test_a_mismatch_of_a_pair_shows_the_second_text(model):
    other = OTHERS["pairs"](model)
    shown = str(find_mismatch(*sides(Definition(model), other))).splitlines()
    assert re.fullmatch(r"stress text 1: 'T', with added special tokens, with the second text .*", shown[0])
    assert all(row.startswith(f"  {name}: [84 b'T', ") for name, row in zip("AB", shown[2:], strict=True))


def test_invalid_utf8_is_verified_if_both_sides_take_bytes(model):
    first = side_of(Definition(model), "A")
    lossy = first.peer._replace(encode_bytes=lambda data: [*data.decode("utf-8", "replace").encode()])
    second = dataclasses.replace(first, peer=lossy)
    mismatch = find_mismatch(first, second)
    assert mismatch is not None
    assert isinstance(mismatch.text, bytes)
    assert "invalid bytes: b'" in str(mismatch)
    assert find_mismatch(first, dataclasses.replace(second, peer=lossy._replace(encode_bytes=None))) is None


def test_patterns_are_verified_by_their_pre_tokens():
    names = [*NAMES, None]
    sides = {name: side_of_pattern(name) for name in names}
    for first, second in [(name, name) for name in names] + [*itertools.combinations(names, 2)]:
        with case(first, second):
            is_same = first == second or {first, second} == {"cl100k", "llama3"}
            assert (find_mismatch(sides[first], sides[second]) is None) == is_same
    assert "'12'" in str(find_mismatch(sides["cl100k"], sides["qwen2"]))


def test_files_are_verified_to_their_last_byte_with_locations(model, tmp_path):
    # A token that is no text, and so is in no text that is verified without a file.
    model = dataclasses.replace(model, pattern=None)
    vocab = model.vocab | {900: b"\x9eQ"}
    other = Definition(dataclasses.replace(model, merges=[*model.merges, (b"\x9e", b"Q")], vocab=vocab))
    file = tmp_path / "text"
    file.write_bytes(b"plain words\n" * 200_000 + b"caf\xe9 " * 3 + "ÞQ".encode())
    assert find_mismatch(*sides(Definition(model), other)) is None
    mismatch = find_mismatch(*sides(Definition(model), other), [file])
    assert mismatch.text == "ÞQ"
    start = int(mismatch.where.rpartition(" ")[2])
    assert mismatch.where == f"{file} from byte {start}"
    assert start % 12 == 0
    assert "ÞQ".encode() in file.read_bytes()[start : start + (1 << 14) + 40]
    file.write_bytes(b"plain words\n" * 5)
    assert find_mismatch(*sides(Definition(model), other), [file]) is None


def test_a_line_of_any_length_is_verified_in_parts(model, tmp_path):
    (tmp_path / "text").write_bytes(b"low " * 700_000)
    assert find_mismatch(*sides(Definition(model), Definition(model)), [tmp_path / "text"]) is None


@settings(max_examples=by_profile(quick=10, thorough=30))
@given(first=models(), second=models())
def test_models_that_differ_are_distinguished_by_name(first, second):
    if first != second:
        assert model_difference(first, second)
        assert "expected" in model_difference(first, second)


def test_a_file_is_encoded_by_its_own_library_where_there_is_one(model, tmp_path):
    definition = Definition(model)
    chosen = conversion.FORMATS["tokenizer.json"]
    (path,) = conversion.write(definition, tmp_path / "x.json")
    assert ", by tokenizers " in side_of_file(path, chosen, definition).name
    missing = dataclasses.replace(chosen, peer=lambda path, definition: (_ for _ in ()).throw(ImportError("none")))
    assert side_of_file(path, missing, definition).name == f"{path} (tokenizer.json, by hf_bpe)"
    wrong = Peer("another", lambda texts, added: [[0] for _ in texts])
    broken = dataclasses.replace(chosen, peer=lambda path, definition: wrong)
    assert find_mismatch(side_of(definition, "A"), side_of_file(path, broken, definition)) is not None


@given(data=st.data())
@settings(max_examples=by_profile(quick=4, thorough=10))
def test_errors_of_a_writer_are_found_before_files_are_moved(data, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("x")
    chosen = conversion.FORMATS["tokenizer.json"]
    rank = data.draw(st.integers(0, len(model.merges) - 1))

    def wrong(definition, path):
        fewer = [merge for place, merge in enumerate(model.merges) if place != rank]
        chosen.write(Definition(dataclasses.replace(model, merges=fewer)), path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(conversion.FORMATS, "tokenizer.json", dataclasses.replace(chosen, write=wrong))
        with pytest.raises(ValueError, match=r"tokenizer\.json, read back, gives a different model: "):
            conversion.write(Definition(model), folder / "x.json")
    assert not [*folder.iterdir()]


VERIFYING = (
    "hf_bpe.conversion._formats:verify_file",
    "hf_bpe.conversion._formats:verify_folder",
    "hf_bpe.formats._verification.mismatch:MismatchSearch.find",
)


@pytest.mark.parametrize("name", conversion.FORMATS)
def test_written_files_are_verified_once_unless_verify_is_false(tmp_path, monkeypatch, name):
    calls = []

    def counted(function):
        return lambda *args, **kwargs: calls.append(function.__name__) or function(*args, **kwargs)

    for place in VERIFYING:
        monkeypatch.setattr(place.replace(":", "."), counted(pkgutil.resolve_name(place)))
    special = [] if name == "hf" else ["pattern", "names"]
    suffix, definition = conversion.FORMATS[name].suffix, Definition(train(CORPUS, 262))
    conversion.write(definition, tmp_path / f"x{suffix}", format=name, drop=special, verify=False)
    assert calls == []
    conversion.write(definition, tmp_path / f"y{suffix}", format=name, drop=special)
    assert calls == ["verify_folder" if name == "hf" else "verify_file", "find"]


@needs_class_of_its_own("qwen2")
def test_folder_is_verified_with_the_files_around_it(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "qwen2"}')
    tokenizer = BPETokenizer.train(CORPUS, 262)
    with pytest.warns(UserWarning, match="makes AutoTokenizer load the tokenizer as Qwen2Tokenizer"):
        written = tokenizer.convert_to(tmp_path, format="hf")
    assert str(tmp_path / "config.json") not in written
    assert (tmp_path / "config.json").read_text() == '{"model_type": "qwen2"}'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenizer.convert_to(tmp_path, format="hf", verify=False)
