"""The two text files: nothing is lost in ours, and files of others are read as far as they tell what tokens are."""

import dataclasses
import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPEModel
from hf_bpe.conversion import FORMATS, Definition, Hints
from support.cases import case
from support.strategies import any_bytes, models

FORMAT, VOCAB_FILE, MERGES_FILE = FORMATS["text"], "vocab.tsv", "merges.tsv"
BYTES = [bytes([byte]) for byte in range(256)]
# Names that are hard to tell from escapes, from ids, from ends of tokens or from lost bytes.
ODD_SPECIALS = ["\t\t", "\t5\n", "x\t97\n98", "\n\n", "\r\n", " x ", "\\n\\", "\\x41", "\ufffd!", "\ufeff<s>"]
ODD_SPECIALS += ["\u2028\x85", "97"]
NAMES_OF_OTHERS = "vocab.txt", "merges.txt"
SIDECAR = VOCAB_FILE + ".json"


@st.composite
def odd_models(draw):
    """Draw a model with special tokens of odd names, tokens that no merge makes, and any settings of a model."""
    model = draw(models())
    specials = draw(st.lists(st.sampled_from(ODD_SPECIALS), unique=True, max_size=5))
    others = draw(st.lists(st.sampled_from([b"xyz", b"x\xffz", b"\xf0\x9f", b"\t\n\\"]), unique=True, max_size=2))
    free = [token_id for token_id in range(1200) if token_id not in model.vocab]
    ids = random.Random(draw(st.integers(0, 99))).sample(free, len(specials) + len(others))
    vocab = model.vocab | dict(zip(ids, [*map(str.encode, specials), *others], strict=True))
    merges = model.merges
    if b"xyz" in others and draw(st.booleans()):
        vocab[1300], merges = b"xyzxyz", [*merges, (b"xyz", b"xyz")]
    model = dataclasses.replace(
        model,
        vocab=vocab,
        merges=merges,
        special_tokens=(*model.special_tokens, *specials),
        ignore_merges=draw(st.booleans()),
        normalizer=draw(st.sampled_from([None, "NFC", "Lowercase", {"type": "Prepend", "prepend": "\t\u2581\n"}])),
    )
    return Definition(model).model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("text") / "model"


def write(definition, folder):
    if isinstance(definition, BPEModel):
        definition = Definition(definition)
    FORMAT.write(FORMAT.reduce(definition), folder)
    return folder


def read_files(folder, vocab, merges, hints=Hints("gpt2"), names=NAMES_OF_OTHERS):  # noqa: B008
    """Read two files with these contents and no sidecar."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, content in zip(names, (vocab, merges), strict=True):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return FORMAT.read(folder, hints).model


def rows(model):
    ids = {token: token_id for token_id, token in model.vocab.items()}
    return "".join(f"{ids[first]}\t{ids[second]}\t{ids[first + second]}\n" for first, second in model.merges)


# What we write


@given(any_bytes.filter(bool))
def test_escaped_token_is_a_readable_line_and_is_read_back(folder, token):
    write(BPEModel({7: token}, []), folder)
    assert FORMAT.read(folder, Hints()).model.vocab == {7: token}
    text = (folder / VOCAB_FILE).read_bytes().decode().removesuffix("\t7\n")
    assert text.splitlines() == [text]
    assert "\t" not in text
    assert re.sub(r"\\(\\|[tnr]|x[0-9a-f]{2})", "", text).encode().decode("utf-8") in token.decode(
        "utf-8", "ignore"
    ) or ("\\" in text)


def test_the_files_are_what_one_expects(tmp_path):
    tokens = [b" caf\xc3\xa9", b"\t", b"\n", b"\\", b"\x00", b"\xff", b"l", b"o", b"lo", "你".encode(), b"\xef\xbf\xbd"]
    model = BPEModel(dict(enumerate(tokens, 7)), [(b"l", b"o")], tuple(map(bytes.decode, (tokens[0], tokens[9]))), None)
    write(model, tmp_path / "x")
    lines = [" café", r"\t", r"\n", r"\\", r"\x00", r"\xff", "l", "o", "lo", "你", r"\xef\xbf\xbd"]
    expected = "".join(f"{line}\t{token_id}\n" for token_id, line in enumerate(lines, 7))
    assert (tmp_path / "x" / VOCAB_FILE).read_bytes().decode() == expected
    assert (tmp_path / "x" / MERGES_FILE).read_bytes().decode() == "13\t14\t15\n"
    assert json.loads((tmp_path / "x" / SIDECAR).read_text("utf-8"))["pattern"] is None


@given(odd_models(), st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(0, 99))
def test_line_ends_marks_names_and_order_change_nothing(folder, model, mark, end, newline, ours, seed):
    assert FORMAT.matches(write(model, folder), b"")
    assert FORMAT.read(folder, Hints()).model == model
    vocab, merges, sidecar = ((folder / name).read_text("utf-8") for name in (VOCAB_FILE, MERGES_FILE, SIDECAR))
    lines = vocab.removesuffix("\n").split("\n")
    random.Random(seed).shuffle(lines)
    vocab = "\ufeff" * mark + newline.join(lines) + newline * end
    merges = "\ufeff" * mark + merges.replace("\n", newline).removesuffix(newline) + newline * end
    names = (VOCAB_FILE, MERGES_FILE) if ours else NAMES_OF_OTHERS
    for file in folder.iterdir():
        file.unlink()
    for name, text in zip((*names, names[0] + ".json"), (vocab, merges, sidecar), strict=True):
        (folder / name).write_bytes(text.encode())
    assert FORMAT.matches(folder, b"")
    assert FORMAT.read(folder, Hints()).model == model


@given(odd_models())
def test_without_the_sidecar_special_tokens_can_be_given(folder, model):
    model = dataclasses.replace(model, normalizer=None, ignore_merges=False)
    write(model, folder)
    (folder / SIDECAR).unlink()
    assert FORMAT.read(folder, Hints(model.pattern, model.special_ids())).model == model
    expected = f"{folder} does not store the split pattern; give it: "
    with pytest.raises(ValueError, match=re.escape(expected)):
        FORMAT.read(folder, Hints("auto", model.special_ids()))


# What others write


def raw(model, render=bytes):
    return b"".join(b"%b\t%d\n" % (render(token), token_id) for token_id, token in model.vocab.items())


@given(
    models(all_bytes=True, all_merged=True), st.lists(st.sampled_from(ODD_SPECIALS[3:8]), unique=True), st.booleans()
)
def test_raw_tokens_with_tabs_and_invalid_utf8_are_read(folder, model, specials, crlf):
    vocab = model.vocab | dict(enumerate(map(str.encode, specials), 2000))
    model = dataclasses.replace(model, vocab=vocab, special_tokens=(*model.special_tokens, *specials))
    content, merges = raw(model), rows(model).encode()
    if crlf and "\r\n" not in specials:  # as Windows writes text
        content, merges = (data.replace(b"\n", b"\r\n") for data in (content, merges))
    assert read_files(folder, content, merges, Hints(model.pattern)) == model
    assert FORMAT.matches(folder, b"")


RENDERINGS = {
    "replace": lambda token: token.decode("utf-8", "replace"),
    "ignore": lambda token: token.decode("utf-8", "ignore"),
    "backslashreplace": lambda token: token.decode("utf-8", "backslashreplace"),
    "one line": lambda token: token.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"),
}


@pytest.mark.parametrize("name", RENDERINGS)
@given(model=models(all_bytes=True, all_merged=True))
def test_merged_tokens_may_be_written_with_a_loss(folder, name, model):
    made = {first + second for first, second in model.merges}
    vocab = raw(model, lambda token: RENDERINGS[name](token).encode() if token in made else token)
    assert read_files(folder, vocab, rows(model), Hints(model.pattern)) == model


@given(models(all_bytes=True, all_merged=True), st.sampled_from([rb"\x%02x", rb"\x%02X"]))
def test_invalid_utf8_may_be_hexadecimal_next_to_raw_tokens(folder, model, form):
    vocab = raw(model, lambda token: form % token[0] if len(token) == 1 and token > b"\x7f" else token)
    assert read_files(folder, vocab, rows(model), Hints(model.pattern)) == model


def test_byte_written_as_a_replacement_character_is_asked_for(folder):
    vocab = "".join(f"{token.decode('utf-8', 'replace')}\t{token_id}\n" for token_id, token in enumerate(BYTES))
    with pytest.raises(
        ValueError, match=r"no merge makes token 128, and its bytes are lost, .* write \\xNN for the byte"
    ):
        read_files(folder, vocab, "")


def test_given_special_tokens_may_be_missing_in_the_files(folder):
    model = read_files(folder, "a\t5\nxyz\t6\n", "", Hints("gpt2", {"<s>": 7}))
    assert model == BPEModel({5: b"a", 6: b"xyz", 7: b"<s>"}, [], ("<s>",))


def test_our_files_go_before_others_in_the_folder(folder):
    read_files(folder, "a\t5\n", "")
    write(BPEModel({6: b"b"}, []), folder)
    assert FORMAT.read(folder, Hints()).model.vocab == {6: b"b"}


OTHER_FILES = [
    ("[PAD]\n[UNK]\nthe\n", "#version: 0.2\nt h\n"),
    ("a\t5\n", "#version: 0.2\na b\n"),
    ("[PAD]\nthe\n", "1\t2\t3\n"),
    ("a\t-3.5\n", ""),
]


def test_other_files_of_the_same_names_are_not_taken_for_these(folder):
    for vocab, merges in OTHER_FILES:
        with case(vocab):
            with pytest.raises(ValueError, match=str(folder)):
                read_files(folder, vocab, merges)
            assert not FORMAT.matches(folder, b"")


def test_folder_without_both_files_is_not_of_this_form(tmp_path):
    (tmp_path / "vocab.txt").write_text("a\t5\n")
    assert not FORMAT.matches(tmp_path, b"")
    assert not FORMAT.matches(tmp_path / "vocab.txt", b"a\t5\n")
    with pytest.raises(FileNotFoundError, match=r"merges\.txt"):
        FORMAT.read(tmp_path, Hints("gpt2"))


# What is broken

AB = "a\t97\nb\t98\nab\t256\n"


LOST = "vocab.txt: line 2: no merge makes token 98, and its bytes are lost, as it is"
NO_TOKEN = "expected a token, a tab and an id, got"
BROKEN_VOCAB = {
    "a\t97\nb\n": f"vocab.txt: line 2: {NO_TOKEN} b'b",
    "a 97\nb 98\n": f"vocab.txt: line 1: {NO_TOKEN} b'a 97",
    "a\t97\n\n\nb\t98\nc": f"vocab.txt: line 5: {NO_TOKEN} b'c'",
    AB.encode("utf-16"): f"vocab.txt: line 1: {NO_TOKEN} b'\\xff\\xfea",
    "a\t97\nb\t97\n": "vocab.txt: line 2: expected another id than on line 1, got 97",
    "a\t97\nx\ny\t9\nb\t97\n": "vocab.txt: line 4: expected another id than on line 1, got 97",
    "a\t97\na\t98\n": "vocab.txt: vocab: token b'a' has two ids, 97 and 98",
    "a\t9999999999\n": "vocab.txt: vocab: id 9999999999 of token b'a' is not between",
    "a\t97\n\t98\n": f"{LOST} written ''",
    "a\t97\n\ufffd\t98\n": LOST,
    "a\t97\n<\ufffd>\t98\n": LOST,
    b"a\t97\nx\xff\t98\n": "vocab.txt: line 2: no merge makes token 98, b'x\\xff', and it cannot be special",
}
NO_PART = "merges.txt: line 1: expected bytes or what other merges make of them, got"
BROKEN_MERGES = {
    "97\t98\n": "merges.txt: line 1: expected three ids separated by tabs, got '97\\t98'",
    "97\t98\t256\nab\n": "merges.txt: line 2: expected three ids separated by tabs, got 'ab'",
    "97\t98\t256\n\n97\t98\t256\n": "merges.txt: line 3: expected another pair than on line 1, got '97\\t98",
    "97\t99\t256\n": f"{NO_PART} 99",
    "97\t256\t256\n": f"{NO_PART} 256",
    "97\t98\t257\n": "merges.txt: line 1: expected the result to be in vocab.txt, got 257",
    "98\t97\t256\n": "vocab.txt: line 3: expected token 256 to be b'ba', which the merges make, got b'ab'",
    "97\t98\t256\n98\t97\t256\n": "merges.txt: line 2: expected parts of token 256, b'ab', got b'b' and b'a'",
    b"97\t98\t256\n\xff\n": "merges.txt: not UTF-8 at byte 10, in line 2: ",
}
BROKEN = [*((vocab, "", said) for vocab, said in BROKEN_VOCAB.items())]
BROKEN += [(AB, merges, said) for merges, said in BROKEN_MERGES.items()]
BROKEN += [(AB + "xy\t257\naxy\t258\n", "97\t257\t258\n", NO_PART)]


def test_broken_files_are_refused_with_the_location(folder):
    for vocab, merges, message in BROKEN:
        with case(vocab, merges):
            with pytest.raises(ValueError, match=re.escape(message)) as caught:
                read_files(folder, vocab, merges)
            assert str(caught.value).startswith(str(folder))
            assert "\n" not in str(caught.value)


def test_merges_that_would_double_tokens_without_end_are_refused(folder):
    vocab = "a\t0\n" + "".join(f"\t{number}\n" for number in range(1, 50))
    merges = "".join(f"{number}\t{number}\t{number + 1}\n" for number in range(49))
    with pytest.raises(ValueError, match=r"merges\.txt: line 26: expected merges that make tokens of at most 67108864"):
        read_files(folder, vocab, merges)


def test_unusual_files_are_refused_next_to_our_sidecar(folder):
    write(BPEModel(dict(enumerate(BYTES)), []), folder)
    whole = (folder / VOCAB_FILE).read_text("utf-8")
    for line, got in (("\\q", "\\\\q"), ("\x01", "\\x01"), ("\na", "\\na")):
        (folder / VOCAB_FILE).write_text(whole.replace("\na\t97", f"\n{line}\t97"), encoding="utf-8")
        with pytest.raises(
            ValueError, match=re.escape(f"for backslashes and control characters, got b'{got}'")
        ) as error:
            FORMAT.read(folder, Hints())
        assert "line 98: expected " in str(error.value)


CONTRADICTIONS = [
    ({"special_tokens": {"<t>": 256}}, r"vocab\.tsv: expected token 256 to be the special token '<t>', got b'<s>'"),
    ({"special_tokens": {"<s>": 257}}, r"vocab\.tsv: special token '<s>' cannot have the id 257"),
    ({"special_tokens": {"<s>": "256"}}, r"vocab\.tsv\.json: special_tokens: expected ids, got '256'"),
    ({"special_tokens": {"<s>": [256]}}, r"vocab\.tsv\.json: special_tokens: expected ids, got \[256\]"),
    ({"special_tokens": {"\ud800": 256}}, r"vocab\.tsv: expected token 256 to be the special token '\\ud800', got"),
    ({"special_tokens": {"\ud800": 300}}, r"vocab\.tsv: special token '\\ud800' holds a lone surrogate"),
    ({"normalizer": "Bert"}, r"vocab\.tsv: normalizer: expected one of"),
]


def test_a_sidecar_that_contradicts_the_files_is_refused(folder):
    for change, message in CONTRADICTIONS:
        with case(change):
            write(BPEModel(dict(enumerate([*BYTES, b"<s>", b"ab"])), [(b"a", b"b")], ("<s>",)), folder)
            content = json.loads((folder / SIDECAR).read_text("utf-8"))
            (folder / SIDECAR).write_text(json.dumps(content | change), encoding="utf-8")
            with pytest.raises(ValueError, match=message):
                FORMAT.read(folder, Hints())


def test_a_sidecar_without_an_entry_is_refused(folder):
    write(BPEModel({97: b"a"}, []), folder)
    whole = json.loads((folder / SIDECAR).read_text("utf-8"))
    for name in ("pattern", "special_tokens", "ignore_merges", "normalizer", "added_tokens", "settings"):
        (folder / SIDECAR).write_text(json.dumps({key: whole[key] for key in whole if key != name}), encoding="utf-8")
        with pytest.raises(ValueError, match=rf"vocab\.tsv\.json: expected an entry '{name}', got none"):
            FORMAT.read(folder, Hints())
