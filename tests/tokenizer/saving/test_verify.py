"""Verification of what is saved: a difference in any way of loading is found, named, and stops the saving."""

import copy
import dataclasses
import itertools
import json
import pickle
import unicodedata

import pytest
from tokenizers import normalizers, processors
from transformers import PreTrainedTokenizerFast, tokenization_utils_tokenizers

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.formats._folder.verify import WrittenFile
from hf_bpe.formats._verification.mismatch import MismatchSearch
from hf_bpe.formats._verification.sides import side_of_loaded
from hf_bpe.formats._verification.stress_texts import STRESS_TEXTS, stress_texts
from hf_bpe.pretokenizers import Pattern, Split
from hf_bpe.pretokenizers._pattern import WHITE_SPACE
from support.cases import case
from support.folder_snapshots import snapshot
from support.samples import CORPUS, SPECIALS
from support.strategies import BYTES


def test_stress_texts_have_all_kinds_of_characters():
    text = "".join(STRESS_TEXTS)
    assert {*WHITE_SPACE, *map(chr, [*range(32), *range(0x7F, 0xA0)])} <= {*text}
    assert not [char for char in text if unicodedata.category(char) in ("Cs", "Cn")]
    assert {unicodedata.category(char)[0] for char in text} == {*"CLMNPSZ"}
    for part in ("\U0001f469\u200d\U0001f469", "e\u0301", "'LL", "你好", "한국", "\r\n", "12345"):
        assert part in text


def test_stress_texts_have_each_added_token_in_every_context(tokenizer):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_tokens([f"<{number}>" for number in range(20)])
    text = "\0".join(stress_texts(tokenizer.definition))
    tokens = [token.content for token in tokenizer.added_tokens_decoder.values()]
    for token, other in itertools.pairwise([*tokens, tokens[0]]):
        for part in (token + other, "low" + token, token + "low", f" {token} ", token + token, token + "\n"):
            assert part in text


def test_stress_texts_leave_out_characters_with_missing_bytes():
    model = BPEModel({byte: bytes([byte]) for byte in range(256) if byte not in b"QZ<"} | {256: b"<x>"}, [], ["<x>"])
    tokenizer = BPETokenizer(model=model)
    texts = stress_texts(tokenizer.definition)
    assert len(texts) == len(STRESS_TEXTS) + 1
    assert not {*"QZ"} & {*"".join(texts)}
    assert "<x>" in texts[-1]
    assert all(tokenizer.encode(text) for text in texts)
    unknown = BPETokenizer(model=dataclasses.replace(model), unk_token="<x>")
    assert tuple(stress_texts(unknown.definition)[: len(STRESS_TEXTS)]) == STRESS_TEXTS


def test_texts_that_the_tokenizer_refuses_are_left_out():
    few = BPEModel({97: b"a", 120: b"x", 256: b"<x>"}, [], ["<x>"])
    sides = [side_of_loaded(BPETokenizer(model=model), "") for model in (few, BPEModel(BYTES, []))]
    mismatch = MismatchSearch(*sides, skip_refused=True).find()
    assert (mismatch.text, mismatch.rows) == ("<x>", (("", "[256 b'<x>']"), ("", "[60 b'<', 120 b'x', 62 b'>']")))
    assert "fails: the vocabulary has no token for the byte" in str(MismatchSearch(*sides).find())
    twin = [side_of_loaded(BPETokenizer(model=few), "") for _ in range(2)]
    assert MismatchSearch(*twin).find() is None

    def broken(texts, added):
        raise TypeError("broken")

    side = dataclasses.replace(twin[0], peer=twin[0].peer._replace(encode=broken))
    assert "fails: broken" in str(MismatchSearch(side, twin[1], skip_refused=True).find())


def no_merges(tokenizer):
    content = json.loads(tokenizer)
    content["model"]["merges"].pop(0)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace('"a": 97', '"a": 98').replace('"b": 98', '"b": 97'), "gives token 'a' the id 98, "),
        (lambda text: text.replace(r"\\d|\\D+", r"\\D+"), r"gives different ids\. tokens of the vocabulary: '12'\n"),
        (no_merges, r"gives different merges: merge 0 is \(b'1', b'2'\), expected"),
        (lambda text: text[:-12] + ',["l", "o"]]}}', r"gives different merges: merge 0 is \(b'1', b'2'\)"),
        (lambda text: text[:-9], "cannot load the folder"),
    ],
)
def test_damaged_tokenizer_json_leaves_the_old_files(tmp_path, monkeypatch, damage, message):
    merges = [(b"l", b"o"), (b"1", b"2")]
    tokenizer = BPETokenizer(model=BPEModel(BYTES | {256: b"lo", 257: b"12"}, merges, (), r"\d|\D+"))
    tokenizer.save_pretrained(tmp_path)
    before = snapshot(tmp_path)
    damaged = damage(tokenizer.backend_tokenizer.to_str(pretty=True)).encode()
    monkeypatch.setattr("hf_bpe.formats._folder.write.render_tokenizer_json", lambda definition: damaged)
    with pytest.raises(ValueError, match=rf"(?s)tokenizers\.Tokenizer\.from_file {message}.*save with verify=False"):
        tokenizer.save_pretrained(tmp_path)
    assert snapshot(tmp_path) == before
    tokenizer.save_pretrained(tmp_path, verify=False)
    assert snapshot(tmp_path) != before


@pytest.mark.parametrize(
    ("special", "message"),
    [(True, "with added special tokens\n"), (False, "with added special tokens, with the second text")],
)
def test_special_tokens_of_the_fast_class_are_verified(tokenizer, tmp_path, monkeypatch, special, message):
    class Other(PreTrainedTokenizerFast):
        def _encode_plus(self, text, text_pair=None, add_special_tokens=True, **kwargs):
            encoded = super()._encode_plus(text, text_pair, add_special_tokens, **kwargs)
            if add_special_tokens and (special or text_pair is not None):
                for row in [encoded["input_ids"]] if isinstance(text, str) else encoded["input_ids"]:
                    row.append(256)
            return encoded

    monkeypatch.setattr(tokenization_utils_tokenizers, "PreTrainedTokenizerFast", Other)
    with pytest.raises(ValueError, match=f"PreTrainedTokenizerFast.from_pretrained gives different ids.*{message}"):
        tokenizer.save_pretrained(tmp_path)


def test_pattern_that_other_libraries_read_otherwise_is_saved(tmp_path):
    for number, split in enumerate([r"^\w+|\W+|\w", r"\d{1,3}+|\D", "[^(a|[bc])]+", "(?i:'s)|.$"]):
        model = BPEModel.of(BYTES | {256: b"li"}, [(b"l", b"i")], (), Pattern.parse([Split(split)]))
        tokenizer = BPETokenizer(model=model)
        with case(split):
            tokenizer.save_pretrained(tmp_path / str(number))
            assert BPETokenizer.from_pretrained(tmp_path / str(number)).model == tokenizer.model


def test_saving_changes_no_tokenizer_and_says_nothing(tmp_path, caplog, capfd):
    tokenizer = BPETokenizer.train(CORPUS, 262, SPECIALS, model_max_length=3)
    caplog.clear()  # of the hint that <pad> has no role
    before = pickle.dumps(tokenizer)
    tokenizer.save_pretrained(tmp_path)
    assert pickle.dumps(tokenizer) == before
    assert (caplog.text, *capfd.readouterr()) == ("", "", "")


def test_changed_tokenizer_is_not_taken_for_its_file(tmp_path):
    tokenizer = BPETokenizer.train(["low lower"], vocab_size=262, special_tokens=["<s>"])
    tokenizer.save_pretrained(tmp_path)
    file = WrittenFile((tmp_path / "tokenizer.json").read_bytes())

    def loaded():
        return PreTrainedTokenizerFast.from_pretrained(tmp_path).backend_tokenizer

    assert file.is_loaded_as(loaded())
    for change in (
        lambda backend: backend.add_tokens(["x y"]),
        lambda backend: backend.enable_padding(),
        lambda backend: backend.enable_truncation(5),
        lambda backend: setattr(backend, "normalizer", normalizers.NFC()),
        lambda backend: setattr(backend, "post_processor", processors.ByteLevel(trim_offsets=True)),
        lambda backend: setattr(backend.model, "ignore_merges", True),
    ):
        backend = loaded()
        change(backend)
        assert not file.is_loaded_as(backend)


def test_an_added_token_like_printed_bytes_can_be_saved(tokenizer, tmp_path):
    tokenizer, text = copy.deepcopy(tokenizer), "caf\u00e9 na\u00efve \u4f60"
    tokenizer.add_tokens(text.split(" ", 1))
    tokenizer.add_tokens(" low", special_tokens=True)  # the bytes of an ordinary token
    tokenizer.save_pretrained(tmp_path)
    ids = tokenizer.encode(text)
    assert BPETokenizer.from_pretrained(tmp_path).decode(ids) == text
    assert BPETokenizer.convert_from(tmp_path / "tokenizer.json").model == tokenizer.model
    fast = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert fast.encode(text) == ids
    assert fast.decode(ids) == "caf\ufffd na\u00efve \u4f60"
