"""The two text files: nothing is lost, and what is damaged or not ours is refused."""

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


@given(odd_models(), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(0, 99))
def test_line_ends_marks_and_order_change_nothing(folder, model, mark, newline, end, seed):
    assert FORMAT.matches(write(model, folder), b"")
    assert FORMAT.read(folder, Hints()).model == model
    for name in (VOCAB_FILE, MERGES_FILE):
        lines = (folder / name).read_text("utf-8").removesuffix("\n").split("\n")
        if name == VOCAB_FILE:
            random.Random(seed).shuffle(lines)
        (folder / name).write_bytes(("\ufeff" * mark + newline.join(lines) + newline * end).encode())
    assert FORMAT.read(folder, Hints()).model == model


def test_folder_without_the_sidecar_is_refused(folder):
    write(BPEModel({97: b"a"}, []), folder)
    (folder / SIDECAR).unlink()
    with pytest.raises(ValueError, match=r"vocab\.tsv: expected vocab\.tsv\.json next to it"):
        FORMAT.read(folder, Hints("gpt2"))


# What is broken

AB = "a\t97\nb\t98\nab\t256\n"
NO_TOKEN = "expected a token, a tab and an id, got"
BROKEN_VOCAB = {
    "a\t97\nb\n": f"vocab.tsv: line 2: {NO_TOKEN} b'b",
    "a 97\nb 98\n": f"vocab.tsv: line 1: {NO_TOKEN} b'a 97",
    "a\t97\n\n\nb\t98\nc": f"vocab.tsv: line 5: {NO_TOKEN} b'c'",
    "a\t-3.5\n": f"vocab.tsv: line 1: {NO_TOKEN} b'a\\t-3.5'",
    AB.encode("utf-16"): f"vocab.tsv: line 1: {NO_TOKEN} b'\\xff\\xfea",
    "a\t97\nb\t97\n": "vocab.tsv: line 2: expected an id that no token before has, got 97",
    "a\t97\na\t98\n": "vocab.tsv: vocab: token b'a' has two ids, 97 and 98",
    "a\t9999999999\n": "vocab.tsv: vocab: id 9999999999 of token b'a' is not between",
    "a\t97\n\t98\n": "vocab.tsv: line 2: expected \\\\, \\t, \\n, \\r or \\xNN for backslashes",
    "a\t97\n\\q\t98\n": "for backslashes and control characters, got b'\\\\q'",
    "a\t97\n\x01\t98\n": "for backslashes and control characters, got b'\\x01'",
}
NO_MERGE = "merges.tsv: line 1: expected two tokens of vocab.tsv and the one that both make, got"
BROKEN_MERGES = {
    "97\t98\n": "merges.tsv: line 1: expected three ids separated by tabs, got b'97\\t98'",
    "97\t98\t256\nab\n": "merges.tsv: line 2: expected three ids separated by tabs, got b'ab'",
    "97\t98\t256\n\n97\t98\t256\n": "vocab.tsv: merge 1, (b'a', b'b'): merge 0 is the same pair",
    "97\t99\t256\n": f"{NO_MERGE} b'a', b'' and b'ab'",
    "97\t98\t257\n": f"{NO_MERGE} b'a', b'b' and b''",
    "98\t97\t256\n": f"{NO_MERGE} b'b', b'a' and b'ab'",
    b"97\t98\t256\n\xff\n": "merges.tsv: line 2: expected three ids separated by tabs, got b'\\xff'",
}


def test_broken_files_are_refused_with_the_location(folder):
    for vocab, merges, message in [
        *((vocab, "", said) for vocab, said in BROKEN_VOCAB.items()),
        *((AB, merges, said) for merges, said in BROKEN_MERGES.items()),
    ]:
        with case(vocab, merges):
            write(BPEModel({97: b"a"}, []), folder)
            for name, content in ((VOCAB_FILE, vocab), (MERGES_FILE, merges)):
                (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            with pytest.raises(ValueError, match=re.escape(message)) as caught:
                FORMAT.read(folder, Hints())
            assert str(caught.value).startswith(str(folder))
            assert "\n" not in str(caught.value)


CONTRADICTIONS = [
    ({"special_tokens": {"<t>": 256}}, r"vocab\.tsv: expected token 256 to be the special token '<t>', got b'<s>'"),
    ({"special_tokens": {"<s>": 257}}, r"vocab\.tsv: expected token 257 to be the special token '<s>', got b'ab'"),
    ({"special_tokens": {"<s>": "256"}}, r"vocab\.tsv\.json: special_tokens: expected ids, got '256'"),
    ({"special_tokens": {"<s>": [256]}}, r"vocab\.tsv\.json: special_tokens: expected ids, got \[256\]"),
    ({"special_tokens": {"\ud800": 256}}, r"vocab\.tsv: expected token 256 to be the special token '\\ud800', got"),
    ({"special_tokens": {"<s>": 300}}, r"vocab\.tsv: expected token 300 to be the special token '<s>', got None"),
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
