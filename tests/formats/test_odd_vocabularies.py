"""Vocabularies as files in use have them: entries that are not bytes, spaces, duplicates, missing bytes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hf_bpe import BPETokenizer, train
from hf_bpe.conversion import FORMATS
from hf_bpe.pretokenizers import from_printable
from support.models.model_families import FAMILIES, tokenizer_json
from support.profiles import by_profile
from support.samples import CORPUS
from support.strategies import FLAGS

MODEL = train([*CORPUS, " 中 õ é ÷ low  low   x"] * 3, num_merges=60)
ENTRIES = ["õ", "÷", "中", "  ", "   ", "low low", "Ġlow", "é", "<x>", "ÿ", "ab  "]
ENTRIES += ["\u200b", "Ā", "ĠĠ", "low", "½", "o w"]
TEXTS = ["low low  low   lower õ ÷ 中 é <x>", "õõ÷ab  \t½ÿ İ", "Ġlow ĠĠ Ā l", "\u200b中中  x low o w", "   low", ""]


def odd_file(family="GPT-2", entries=(), added=(), **options):
    """Return a `tokenizer.json` with further entries of the vocabulary and further added tokens."""
    content = json.loads(tokenizer_json(FAMILIES[family], MODEL))
    vocab = content["model"]["vocab"]
    for entry in entries:
        vocab.setdefault(entry, len(vocab))
    ids = {}
    for token in added:
        text = token["content"]
        following = len(vocab) + len(ids)
        token_id = vocab[text] if text in vocab else ids.setdefault(text, following)
        content["added_tokens"].append({**dict.fromkeys(FLAGS, False), **token, "id": token_id})
    content["model"] |= options
    return content


files = st.builds(
    odd_file,
    st.sampled_from(["GPT-2", "Llama 3", "Qwen2, 2.5, 3", "SmolLM, StarCoder"]),
    st.lists(st.sampled_from(ENTRIES), max_size=4),
    st.lists(
        st.fixed_dictionaries({"content": st.sampled_from(ENTRIES), **dict.fromkeys(FLAGS, st.booleans())}), max_size=5
    ),
    fuse_unk=st.booleans(),
    byte_fallback=st.booleans(),
    dropout=st.sampled_from([None, 0.0]),
)


def compare(ours, theirs, texts):
    assert ours.get_vocab() == theirs.get_vocab(with_added_tokens=True)
    ids = range(max(theirs.get_vocab().values()) + 1)
    assert ours.convert_ids_to_tokens([*ids]) == [*map(theirs.id_to_token, ids)]
    # Added tokens are decoded as they are written, which is documented.
    odd = {i for i, token in ours.added_tokens_decoder.items() if (from_printable(token.content) or b"").isascii()}
    plain = [each for each in ids if each not in ours.added_tokens_decoder or each in odd]
    plain = [each for each in plain if "Ġ" not in ours.convert_ids_to_tokens(each) or each not in odd]
    assert [ours.decode(each) for each in plain] == [theirs.decode([each], skip_special_tokens=False) for each in plain]
    assert ours.decode(plain) == theirs.decode(plain, skip_special_tokens=False)
    assert ours.decode_to_texts([plain, []])[0] == ours.decode(plain)
    for text in texts:
        try:
            expected = theirs.encode(text)
        except BaseException as error:  # by overlapping white space of added tokens
            assert type(error).__name__ == "PanicException"  # noqa: PT017
            continue
        got = ours(text)
        assert got["input_ids"] == expected.ids
        if ours.normalizer is None:
            assert got.encodings[0].offsets == expected.offsets


@given(files, st.lists(st.sampled_from(ENTRIES), max_size=6).map(" ".join))
@settings(max_examples=by_profile(quick=40, thorough=900))
def test_odd_vocabularies_are_as_in_tokenizers_or_refused(content, text):
    theirs = Tokenizer.from_str(json.dumps(content))
    try:
        ours = BPETokenizer.convert_from(theirs)
    except ValueError as error:
        if "is how vocab.json writes the byte" not in str(error):
            raise
        return
    compare(ours, theirs, [*TEXTS, text])


def test_unused_token_becomes_an_added_token_at_its_id():
    theirs = Tokenizer.from_str(json.dumps(odd_file(entries=["中", "low low"])))
    ours = BPETokenizer.convert_from(theirs)
    unused = ours.unused_tokens["low low"]
    assert theirs.add_tokens(["low low"]) + ours.add_tokens(["low low"], special_tokens=False) in (0, 1)
    assert ours.encode("a low low") == theirs.encode("a low low").ids
    assert unused in ours.encode("a low low")


def test_changed_unused_tokens_are_decoded_after_use():
    tokenizer = BPETokenizer(model=train(["low lower"], vocab_size=257), unused_tokens={"X x": 300})
    assert tokenizer.decode([300]) == "X x"
    tokenizer.unused_tokens = {"Y y": 300, "Z z": 301}
    assert tokenizer.decode([300, 301]) == "Y yZ z"


def test_unused_tokens_are_dropped_by_edits():
    ours = BPETokenizer.convert_from(Tokenizer.from_str(json.dumps(odd_file(entries=["中"]))))
    smaller, _ = ours.truncate(len(ours) - 3)
    assert smaller.unused_tokens == {}
    assert "unused_tokens" in FORMATS["gguf"].missing(ours.definition)
    assert "unused_tokens" not in FORMATS["tokenizer.json"].missing(ours.definition)


@pytest.mark.parametrize(
    ("unused", "message"),
    [
        ({"low": 999}, "is the printable form of bytes"),
        ({"中": 0}, "the vocabulary has"),
        ({"中": -1}, "expected an id, got -1"),
        ({"中": 999, "文": 999}, "two tokens have the same id"),
        ({"中": 999, "文": "x"}, "expected"),
    ],
)
def test_wrong_unused_tokens_are_refused(unused, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BPETokenizer(model=MODEL, unused_tokens=unused)


def test_byte_fallback_with_tokens_for_bytes_is_refused():
    content = odd_file("SmolLM, StarCoder", entries=["<0x04>"], byte_fallback=True)
    with pytest.raises(ValueError, match="byte_fallback"):
        BPETokenizer.convert_from(Tokenizer.from_str(json.dumps(content)))
