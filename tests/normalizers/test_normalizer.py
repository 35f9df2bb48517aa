"""A normalizer has one spelling, and what is not supported is refused by name."""

import json
import pickle
import subprocess
import sys

import pytest

from hf_bpe import BPEModel
from hf_bpe.normalizers import Normalizer
from support.cases import case, check_refusals

NAMES = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")
STRIP = {"type": "Strip", "strip_left": True, "strip_right": False}
REPLACE = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
LOWERCASE = {"type": "Lowercase"}


def sequence(*normalizers):
    return {"type": "Sequence", "normalizers": [*normalizers]}


SPELLINGS = [
    (None, None),
    ("NFC", "NFC"),
    ({"type": "NFC"}, "NFC"),
    (sequence(sequence(), sequence({"type": "NFC"})), "NFC"),
    (sequence(), None),
    ("Lowercase", '{"type":"Lowercase"}'),
    (' { "type" : "Lowercase" } ', '{"type":"Lowercase"}'),
    ({"strip_right": False, **STRIP}, '{"type":"Strip","strip_left":true,"strip_right":false}'),
    ({"type": "Prepend", "prepend": "▁"}, '{"type":"Prepend","prepend":"▁"}'),
    (
        sequence(LOWERCASE, sequence(sequence(REPLACE), LOWERCASE)),
        json.dumps(sequence(LOWERCASE, REPLACE, LOWERCASE), separators=(",", ":")),
    ),
]


def test_equal_normalizers_have_one_spelling():
    for value, canonical in SPELLINGS:
        with case(value):
            normalizer = Normalizer.parse(value)
            assert normalizer.canonical == canonical
            assert Normalizer.parse(canonical) is Normalizer.parse(normalizer.json) is Normalizer.parse(normalizer)
            assert pickle.dumps(normalizer) == pickle.dumps(Normalizer(canonical))
            assert BPEModel({97: b"a"}, [], normalizer=value).normalizer == canonical


def test_name_stands_for_a_normalizer():
    for name in NAMES:
        with case(name):
            assert Normalizer.parse(name).json == {"type": name}


def test_other_normalizer_is_refused_by_name():
    for kind in ["BertNormalizer", "Precompiled", "ByteLevel", "Nmt", "Unknown"]:
        with case(kind):
            for value in ({"type": kind}, sequence(LOWERCASE, {"type": kind, "lowercase": True})):
                with pytest.raises(ValueError, match=f"normalizer: '{kind}' is not supported, expected NFC, NFD"):
                    Normalizer.parse(value)
            with pytest.raises(ValueError, match=f"normalizer: expected one of None, 'NFC', .* got '{kind}'"):
                Normalizer.parse(kind)


MALFORMED = [
    ("", "expected one of None"),
    ("[1]", "expected one of None"),
    ("[" * 100_000, "expected one of None"),
    ({}, 'expected an object with a "type", got {}'),
    (sequence("NFC"), "expected an object with a \"type\", got 'NFC'"),
    ({"type": "Sequence"}, 'Sequence: expected a list "normalizers"'),
    ({"type": "NFC", "form": 1}, 'NFC: expected nothing next to "type"'),
    ({"type": "Strip", "strip_left": True}, "Strip: expected strip_left, strip_right next to"),
    ({**STRIP, "strip_left": 1}, "Strip: strip_left: expected true or false, got 1"),
    ({**REPLACE, "content": 1}, "content: expected text, got 1"),
    ({**REPLACE, "content": "\ud800"}, "content: .* holds a lone surrogate"),
    ({**REPLACE, "pattern": r"\s"}, 'pattern: expected {"String": …} or {"Regex": …}'),
    ({**REPLACE, "pattern": {"String": ""}}, "pattern: expected text, got ''"),
    ({**REPLACE, "pattern": {"Regex": "("}}, r"pattern: '\(': Oniguruma error"),
    ({"type": "Prepend", "prepend": ""}, "prepend: expected text, got ''; tokenizers panics"),
]


def test_malformed_normalizer_is_refused_with_the_field():
    check_refusals(((value, f"^normalizer: .*{message}") for value, message in MALFORMED), Normalizer.parse)


def test_value_of_another_type_is_refused():
    with pytest.raises(TypeError, match="normalizer: expected a str, a mapping or None, got 5"):
        Normalizer.parse(5)


def test_text_is_aligned_without_steps():
    data, begins, ends = Normalizer.parse(None).align("é")
    assert (data, [*begins], [*ends]) == ("é".encode(), [0, 0], [2, 2])


def test_models_with_different_normalizers_differ():
    models = [BPEModel({97: b"a"}, [], normalizer=name) for name in (None, *NAMES)]
    assert len({model.fingerprint for model in models}) == len({model.signature for model in models}) == len(models)
    assert "|normalizer=json:sha256:" in models[-1].signature
    assert BPEModel({97: b"a"}, []).with_signature(models[-1].signature).signature == models[0].signature


def test_models_are_made_without_importing_tokenizers():
    code = "import hf_bpe, sys; hf_bpe.BPEModel({}, [], normalizer='NFKC'); assert 'tokenizers' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
