"""Text is brought to NFC exactly as `tokenizers` does it, whatever Unicode this Python has."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from hf_bpe.normalizers import Normalizer, to_nfc
from support.profiles import by_profile, scaled
from support.strategies import decomposed_fragments

CHARACTERS = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x32000), *range(0xE0000, 0xE0200)]]
normalize = normalizers.NFC().normalize_str


def is_joined(char):
    return Normalizer.parse("NFC").last_segment("a" + char, 1) == 0


@pytest.fixture(scope="module", params=["unicodedata", "unicodedata2"], autouse=True)
def any_unicode(request):
    """Recognize normalized text by the Unicode of this Python, and by a newer one."""
    with pytest.MonkeyPatch.context() as patch:
        newer = pytest.importorskip(request.param, reason="what newer Pythons know needs unicodedata2")
        patch.setattr(
            "hf_bpe.normalizers._normalizer.are_normalized",
            lambda texts, forms: (all(newer.normalize(form, text) == text for form in forms) for text in texts),
        )
        yield newer


FORMS = {name: getattr(normalizers, name)() for name in ("NFC", "NFD", "NFKC", "NFKD")}
FORMS |= {'[{"type":"NFKD"},{"type":"NFC"}]': normalizers.Sequence([normalizers.NFKD(), normalizers.NFC()])}
fragments_of_lines = st.one_of(decomposed_fragments, st.sampled_from([*" \n\u0301\u1161\u0e33\xb4\ufb01"]))


@given(st.lists(fragments_of_lines, max_size=15).map("".join), st.sampled_from([*FORMS]))
def test_words_and_lines_are_normalized_as_the_whole_text_is(text, name):
    kind = {"type": "Sequence", "normalizers": json.loads(name)} if "[" in name else name
    assert Normalizer.parse(kind).apply(text) == FORMS[name].normalize_str(text)


@given(st.lists(decomposed_fragments, max_size=10).map("".join))
def test_text_normalized_for_python_stays_unchanged(any_unicode, text):
    text = any_unicode.normalize("NFC", text)
    assert to_nfc(text) == normalize(text) == text


@scaled
def test_characters_near_marks_are_normalized_as_by_tokenizers():
    forms = ["{}", "q\u0345{}", "a{}\u0334", "{}\u0301", "\u0915{}\u0323"]
    texts = [form.format(char) for char in CHARACTERS[:: by_profile(quick=7, thorough=1)] for form in forms]
    assert [text for text in texts if to_nfc(text) != normalize(text)] == []


def test_compositions_are_those_of_tokenizers(any_unicode):
    decomposed = [any_unicode.normalize("NFD", char) for char in CHARACTERS]
    assert [text for text in decomposed if to_nfc(text) != normalize(text)] == []


def test_segments_begin_where_a_character_joins_nothing_before(any_unicode):
    decomposed = [any_unicode.normalize("NFD", char) for char in CHARACTERS]
    joined = {text[0] for text in decomposed if any_unicode.combining(text[0])}
    joined |= {text[-1] for text in decomposed if normalize(text) != text and len(text) > 1}
    assert [char for char in joined if not is_joined(char)] == []
    assert not any(map(is_joined, "aé \n가\u1100你\udc80"))


def test_surrogates_stay_as_they_are():
    assert to_nfc("\udccce\u0301\udc81") == "\udccc\xe9\udc81"
