"""minbpe's `.model`: minbpe itself would give our ids, and what it would read otherwise is not written."""

import dataclasses
import re
from itertools import chain, pairwise

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from hf_bpe import BPEModel, train
from hf_bpe.conversion import Definition, Hints
from hf_bpe.conversion._minbpe import FORMAT
from hf_bpe.encoding._encoder import AddedTokenTuple, Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.pretokenizers import PATTERNS
from support.profiles import thorough
from support.strategies import models, texts

NO_HINTS = Hints()
BYTES = [bytes([byte]) for byte in range(256)]
BASE = dict(enumerate(BYTES))
A, B, LO = (b"a", b"b"), (b"b", b"a"), (b"l", b"o")
CORPUS = ["low low lower lowest newest widest 你好 你好 it's 12 — <s>x\n\n  !"]
LONG_TOKENS = "line 29: expected merges that make tokens of at most 67108864 bytes in all, got 134217726 up to here"
SPECIALS = ["<s>", "<s>x", "<|x|>", "你好", "#", "[", "\\n", "1_2"]
PATTERN_LINES = {None: "", r"\p{L}+|\s|[^\p{L}\s]": r"\p{L}+|\s|[^\p{L}\s]", **PATTERNS}


class Minbpe:
    """What minbpe's `load` and `encode` do with a file."""

    def __init__(self, path):
        with path.open(encoding="utf-8") as file:
            assert file.readline().strip() == "minbpe v1"
            self.pattern = file.readline().strip()
            specials = [file.readline().strip().split() for _ in range(int(file.readline().strip()))]
            self.specials = {special: int(token_id) for special, token_id in specials}
            self.merges = {tuple(map(int, line.split())): 256 + rank for rank, line in enumerate(file)}
        self.vocab = dict(BASE)
        for (first, second), merged in self.merges.items():
            self.vocab[merged] = self.vocab[first] + self.vocab[second]
        self.vocab |= {token_id: special.encode() for special, token_id in self.specials.items()}

    def encode(self, text):
        if not self.specials:
            return self._encode_ordinary(text)
        parts = regex.split("(" + "|".join(map(regex.escape, self.specials)) + ")", text)
        ids = ([self.specials[part]] if part in self.specials else self._encode_ordinary(part) for part in parts)
        return [*chain.from_iterable(ids)]

    def _encode_ordinary(self, text):
        chunks = regex.findall(self.pattern, text) if self.pattern else [text]
        return [token_id for chunk in chunks for token_id in self._merge([*chunk.encode()])]

    def _merge(self, ids):
        while pair := min(filter(self.merges.get, pairwise(ids)), key=self.merges.get, default=None):
            merged, place = [], 0
            while place < len(ids):
                is_pair = (*ids[place : place + 2],) == pair
                merged.append(self.merges[pair] if is_pair else ids[place])
                place += 1 + is_pair
            ids = merged
        return ids


@st.composite
def carried_models(draw):
    """Draw a model that minbpe can have, trained or not."""
    tokens, merges = [b"l", b"o", b"w", b" ", b"\xe4", b"\xbd"], []
    for _ in range(draw(st.integers(0, 20))):
        first, second = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if first + second not in tokens and len(first + second) <= 12:
            merges.append((first, second))
            tokens.append(first + second)
    vocab = BASE | {256 + rank: first + second for rank, (first, second) in enumerate(merges)}
    pattern = draw(st.sampled_from([*PATTERN_LINES]))
    specials = draw(st.lists(st.sampled_from(SPECIALS[:4]), unique=True))
    ids = draw(st.lists(st.integers(256 + len(merges), 2**20), min_size=4, max_size=4, unique=True))
    return BPEModel(vocab | dict(zip(ids, map(str.encode, specials), strict=False)), merges, tuple(specials), pattern)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("minbpe") / "x.model"


def read(path, hints=NO_HINTS):
    definition = FORMAT.read(path, hints)
    assert FORMAT.matches(path, path.read_bytes()[:4096])
    assert definition == Definition(definition.model)
    return definition.model


def write(model, path):
    FORMAT.write(FORMAT.reduce(Definition(model)), path)
    return path


def read_text(path, text, hints=NO_HINTS):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return FORMAT.read(path, hints).model


# What can be carried


@given(carried_models(), texts)
# One special token begins another; a special token without a pattern; merges of white space.
@example(BPEModel(dict(enumerate([*BYTES, b"<s>", b"<s>x"])), [], ("<s>", "<s>x")), "<s>x<s>")
@example(BPEModel(BASE | {256: b"a\n", 257: b"<s>"}, [(b"a", b"\n")], ("<s>",), None), "a\n\n b<s>a")
@example(train(CORPUS, num_merges=30, pattern="cl100k"), CORPUS[0])
def test_minbpe_and_we_read_what_is_written_with_the_same_ids(path, model, text):
    assert read(write(model, path)) == model
    loaded = Minbpe(path)
    assert loaded.vocab == model.vocab
    assert loaded.pattern == PATTERN_LINES[model.pattern] or (model.pattern is None and model.special_tokens)
    text += "low 你好 lowlow<s>x <s>"
    tokens = Definition(model).added_tokens.items()
    encoder = make_encoder(model, tuple(AddedTokenTuple.of(token_id, token) for token_id, token in tokens))
    assert loaded.encode(text) == encoder.encode(text, Options())


def test_the_pattern_of_minbpe_itself_is_known(path):
    ours = PATTERNS["cl100k"].replace(r"]?\p{L}+", r"]?+\p{L}+").replace(r"\p{N}]+[\r", r"\p{N}]++[\r")
    minbpes = ours.replace(r"\s*[\r\n]+", r"\s*[\r\n]")
    assert minbpes not in PATTERNS.values()
    assert read_text(path, f"minbpe v1\n{minbpes}\n0\n108 111\n").pattern == "cl100k"


def test_the_file_is_that_of_minbpe(path):
    model = BPEModel(dict(enumerate([*BYTES, b"lo", b"\xe4\xbd", b"low"])), [LO, (b"\xe4", b"\xbd"), (b"lo", b"w")])
    model = dataclasses.replace(model, vocab=model.vocab | {300: b"<s>"}, special_tokens=("<s>",))
    write(model, path)
    assert path.read_bytes().decode() == f"minbpe v1\n{PATTERNS['gpt2']}\n1\n<s> 300\n108 111\n228 189\n256 119\n"
    vocab = path.with_suffix(".vocab").read_bytes().decode().split("\n")
    assert vocab[:2] == ["[\\u0000] 0", "[\\u0001] 1"]
    assert vocab[108] == "[l] 108"
    assert vocab[189] == "[\ufffd] 189"
    assert vocab[256:] == [
        "[l][o] -> [lo] 256",
        "[\ufffd][\ufffd] -> [\ufffd] 257",
        "[lo][w] -> [low] 258",
        "[<s>] 300",
        "",
    ]


@given(carried_models(), st.sampled_from(["\r", "\r\n"]), st.booleans(), st.sampled_from(["", "\n", "\n\n"]))
def test_line_ends_a_mark_and_empty_lines_at_the_end_change_nothing(path, model, newline, mark, end):
    text = write(model, path).read_text(encoding="utf-8").removesuffix("\n") + end
    assert read_text(path, "\ufeff" * mark + text.replace("\n", newline)) == model


@pytest.mark.parametrize("hint", ["auto", "cl100k", PATTERNS["cl100k"]])
def test_special_tokens_may_be_given_where_the_file_has_none(path, hint):
    write(train(CORPUS, num_merges=3, pattern="cl100k"), path)
    model = FORMAT.read(path, Hints(hint, {"<|endoftext|>": 100257})).model
    assert (model.special_ids(), model.pattern) == ({"<|endoftext|>": 100257}, "cl100k")
    write(model, path)
    for same in (None, {"<|endoftext|>": 100257}):
        assert FORMAT.read(path, Hints(special_tokens=same)).model == model


# What cannot be carried


@st.composite
def nearly_carried_models(draw):
    """Draw what becomes of a model that minbpe can have when something in it is changed."""
    model = draw(carried_models())
    vocab, merges, specials = dict(model.vocab), [*model.merges], [*model.special_tokens]
    ordinary = [token_id for token_id, token in vocab.items() if token.decode("utf-8", "replace") not in specials]
    change = draw(st.integers(0, 5))
    if change == 0:
        merges = draw(st.permutations(merges))
    elif change == 1:
        first, second = draw(st.lists(st.sampled_from(ordinary), min_size=2, max_size=2))
        vocab[first], vocab[second] = vocab[second], vocab[first]
    elif change == 2:
        vocab[draw(st.integers(300, 400))] = draw(st.sampled_from([b"xyz", b"lolo", b"ll"]))
    elif change == 3:
        merges += [merge for merge in [(b"l", b"ow"), (b"lo", b"w"), (b"l", b"o")] if merge not in merges]
    elif change == 4:
        byte = vocab.pop(draw(st.integers(0, 255)))
        merges = [merge for merge in merges if byte not in b"".join(merge)]
    else:
        specials.append(draw(st.sampled_from(["a b", " x", "x\u3000", "\n\n", "<s>\x1c"])))
        vocab[500] = specials[-1].encode()
    try:
        return BPEModel(vocab, merges, tuple(specials), model.pattern)
    except ValueError:
        return model


@given(st.one_of(models(all_bytes=True), nearly_carried_models(), nearly_carried_models()))
def test_minbpe_has_what_is_not_refused(path, model):
    try:
        write(dataclasses.replace(model, ignore_merges=False), path)
    except ValueError as error:
        message = str(error)
    else:
        message = "merge 0: minbpe has it" if Minbpe(path).vocab == model.vocab else "minbpe has other tokens"
    assert re.fullmatch(r"(the byte 0x|merge \d|token \d|special token )[^\n]*minbpe [^\n]*", message)


REFUSED = [
    (BPEModel(dict(enumerate(BYTES[:255])), []), "the byte 0xFF has no id: minbpe gives it 255"),
    (BPEModel(dict(enumerate(BYTES[::-1])), []), "the byte 0x00 has the id 255: minbpe gives it 0"),
    (BPEModel(BASE | {97: b"<s>", 300: b"a"}, [], ("<s>",)), "the byte 0x61 has the id 300: minbpe gives it 97"),
    (BPEModel(BASE | {257: b"ab"}, [A]), r"merge 0, \(b'a', b'b'\): it makes token 257, but minbpe makes token 256"),
    (train(CORPUS, num_merges=1, special_tokens=["<s>"]), "makes token 257, but .* special tokens have to come after"),
    (BPEModel(BASE | {256: b"ab", 257: b"ba"}, [B, A]), r"merge 0, \(b'b', b'a'\): it makes token 257, but"),
    (BPEModel(BASE | {256: b"ab", 257: b"ba", 258: b"aba"}, [A, B, (b"ab", b"a"), (b"a", b"ba")]),
     r"merge 3, \(b'a', b'ba'\): it makes token 258, but minbpe makes token 259"),
    (BPEModel(BASE | {256: b"aba", 257: b"ab"}, [(b"ab", b"a"), A]),
     r"merge 0, \(b'ab', b'a'\): its part b'ab' is made by a later merge; minbpe could not load that"),
    (BPEModel(BASE | {256: b"ab", 300: b"xyz"}, [A]), "token 300, b'xyz', is made by no merge: minbpe has no place"),
    (BPEModel(BASE | {256: b"a b"}, [], ("a b",)), "special token 'a b' has white space: minbpe could not load it"),
    (BPEModel(BASE | {256: b"\n\n"}, [], ("\n\n",)), r"special token '\\n\\n' has white space"),
    (BPEModel(BASE, [], (), "(a)|b"), r"the pattern '\(a\)\|b' has groups: minbpe would keep what these match"),
    *((BPEModel(BASE, [], (), pattern), "has a line end in it, or white space at an end: minbpe would read only a part")
      for pattern in (" ?a| ", "a+|\n|b", "a+|\r|b")),
]  # fmt: skip


@pytest.mark.parametrize(("model", "message"), REFUSED)
def test_models_that_minbpe_would_read_differently_are_refused(tmp_path, model, message):
    with pytest.raises(ValueError, match=message):
        write(model, tmp_path / "x.model")
    assert not [*tmp_path.iterdir()]


def test_a_name_that_minbpe_does_not_open_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"x\.txt: minbpe opens no file that is not named \.model"):
        write(BPEModel(BASE, []), tmp_path / "x.txt")


# What is broken

START = f"minbpe v1\n{PATTERNS['gpt2']}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected 'minbpe v1', got ''"),
        ("minbpe v2\n", "line 1: expected 'minbpe v1', got 'minbpe v2'"),
        ("minbpe v1\n", "expected the pattern, got the end of the file"),
        ("minbpe v1\n(\n0\n", r"line 2: pattern '\(' cannot be used: column 1"),
        ("minbpe v1\n(a)|b\n0\n", r"line 2: the pattern '\(a\)\|b' has groups: minbpe would keep what these match"),
        ("minbpe v1\ngpt2\n0\n", "line 2: the expression 'gpt2' is the name of a pattern here"),
        ("minbpe v1\n" + "x" * 10_001 + "\n0\n", "line 2: .*: a pattern of 10001 characters; expected at most 10000"),
        ("x" * 2**28 + "y", "is larger than 256 MiB, the limit for a vocabulary"),
        (START, "expected the number of special tokens, got the end of the file"),
        (START + "one\n", "line 3: expected the number of special tokens, got 'one'"),
        (START + "-1\n", "line 3: expected the number of special tokens, got '-1'"),
        (START + "2\n<s> 300\n", "expected a special token, got the end of the file"),
        (START + "1\n<s>\n", "line 4: expected a special token, a space and its id, got '<s>'"),
        (START + "1\na b 300\n", "line 4: expected a special token, a space and its id, got 'a b 300'"),
        (START + "1\n\n", "line 4: expected a special token, a space and its id, got ''"),
        (START + "2\n<s> 300\n<s> 301\n", "line 5: expected a new special token with a new id, got"),
        (START + "2\n<s> 300\n<t> 300\n", "line 5: expected a new special token with a new id, got"),
        (START + "2\n<s> 300\n<s>x 301\n", "line 5: minbpe never finds the special token '<s>x', for '<s>', with"),
        (START + "1\n<s> 97\n", "97 is the id of a special token and of b'a'"),
        (START + "1\n<s> 256\n97 98\n", "256 is the id of a special token and of b'ab'"),
        (START + "1\n<s> 9999999999\n", "id 9999999999 of token b'<s>' is not between"),
        (START + "1\nab 300\n97 98\n", "token b'ab' has two ids, 256 and 300"),
        (START + "1\ns 300\n", "token b's' has two ids, 115 and 300"),
        (START + "0\n97 98\n97\n", "line 5: expected two ids separated by a space, got '97'"),
        (START + "0\n97 98 256\n", "line 4: expected two ids separated by a space, got '97 98 256'"),
        (START + "0\n97 b\n", "line 4: expected two ids separated by a space, got '97 b'"),
        (START + "0\n97 ٣\n", "line 4: expected two ids separated by a space, got '97 ٣'"),
        (START + "0\n97 " + "9" * 5000 + "\n", "line 4: expected two ids separated by a space, got '97 999"),
        (START + "0\n97 256\n", "line 4: expected two ids of bytes or of merges on earlier lines, got '97 256'"),
        (START + "0\n97 98\n97 300\n", "line 5: expected two ids of bytes or of merges on earlier lines, got"),
        (START + "0\n97 98\n98 97\n97 98\n", "line 6: expected a pair that is not on an earlier line, got '97 98'"),
        (START + "0\n97 98\n256 97\n98 97\n97 258\n", "token b'aba' has two ids, 257 and 259"),
        (START + "0\n97 97\n" + "".join(f"{i} {i}\n" for i in range(256, 296)), LONG_TOKENS),
        (START.encode() + b"1\n<\xff> 300\n", r"not UTF-8 at byte \d+, in line 4: "),
        (START.encode("utf-16"), "not UTF-8 at byte 0, in line 1: "),
        ("[\\u0000] 0\n[\\u0001] 1\n", r"a \.vocab of minbpe is only for people to read; give the \.model"),
        ('[!] 0\r\n["] 1\r\n[#] 2\r\n', r"a \.vocab of minbpe is only for people to read; give the \.model"),
    ],
)
def test_broken_files_are_refused_with_the_location(path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_text(path, text)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@thorough
def test_long_runs_of_spaces_may_be_tokens(path):
    path.write_text("minbpe v1\n\n0\n32 32\n" + "".join(f"{i} {i}\n" for i in range(256, 275)), encoding="utf-8")
    model = FORMAT.read(path, NO_HINTS).model
    assert len(model.vocab[275]) == 2**20
    assert make_encoder(model).encode(" " * (2**20 + 2**4 + 1) + "x", Options()) == [275, 259, 32, ord("x")]


def test_written_vocab_is_detected_and_refused(path):
    vocab = write(BPEModel(BASE, []), path).with_suffix(".vocab")
    assert FORMAT.matches(vocab, vocab.read_bytes()[:4096])
    with pytest.raises(ValueError, match="only for people to read"):
        FORMAT.read(vocab, NO_HINTS)


def test_other_files_and_folders_are_not_detected(tmp_path):
    assert not FORMAT.matches(tmp_path, b"")
    for head in (b"", b"{", b"#version: 0.2\n", b"IQ== 0\nIg== 1\n", b"\t\t9\n", b"[a]\n[b]\n"):
        assert not FORMAT.matches(tmp_path / "x", head)
