"""What docs/how-to/migrate-from-tokenizers.md says is so: `train` learns what `tokenizers.trainers.BpeTrainer` does."""

import functools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer, Regex, Tokenizer, models
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split
from tokenizers.trainers import BpeTrainer

from hf_bpe import BPEModel, train
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.pretokenizers import CHAINS, NAMES, PATTERNS, from_printable
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from support.profiles import by_profile, scaled, thorough
from support.project import ROOT
from support.strategies import corpora, texts

GUIDES = ROOT / "docs" / "how-to"
PAGE = (GUIDES / "migrate-from-tokenizers.md").read_text(encoding="utf-8")
END = "<|endoftext|>"
SPLIT_BY_NO_TWO_PATTERNS_ALIKE = "don't DON'T HTMLParser 1234 x//\n\n  12 (low) low's \u0301a " * 3
# Words many of whose pairs tie.
counted = corpora.map(lambda counts: " ".join(word.decode("latin-1") for word in counts for _ in range(counts[word])))
documents = st.lists(texts | counted, min_size=1, max_size=4)
sizes = st.integers(1, 320)
numbers = st.integers(0, 8)

pytestmark = [
    pytest.mark.filterwarnings("ignore:the text gives:UserWarning"),  # most texts here are small
]


def table(header):
    """Return the rows of the table of the page whose first cell is this, as the code in their cells."""
    rows = re.search(rf"^\| {re.escape(header)} \|.*\n\|[-|]*\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[1]
    cells = [row.strip("| ").split(" | ") for row in rows.splitlines()]
    return [tuple(cell.strip("`") if cell[:1] == "`" else "" for cell in row) for row in cells]


OPTIONS = table("`BpeTrainer(…)`")
PRE_TOKENIZERS = table("`tokenizer.pre_tokenizer`")
WITHOUT_COUNTERPART = table("option")


def options(cell, **values):
    return eval(f"dict({cell})", {"ByteLevel": ByteLevel, "BPEModel": BPEModel, **values})


@functools.cache
def pre_tokenizer(code):
    names = {"ByteLevel": ByteLevel, "Digits": Digits, "Regex": Regex, "Sequence": Sequence, "Split": Split}
    return eval(code, names | {"CHAINS": CHAINS, "PATTERNS": PATTERNS})


def train_theirs(texts, how="ByteLevel(add_prefix_space=False)", **options):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer(how)
    alphabet = ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, BpeTrainer(**{"initial_alphabet": alphabet, "show_progress": False, **options})
    )
    return tokenizer


def merges_of(tokenizer):
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(from_printable(first), from_printable(second)) for first, second in merges]


def assert_equal(ours, theirs):
    """Compare merges and vocabularies, and the order of the ids in each part."""
    specials = [*theirs.get_added_tokens_decoder().values()]
    assert ours.merges == merges_of(theirs)
    printable = [token for token, _ in sorted(theirs.get_vocab().items(), key=lambda entry: entry[1])]
    assert {*printable} == {*ours.printable_vocab()}
    count = len(specials)
    assert printable[:count] == [token.content for token in specials] == [*ours.special_tokens]
    made = [first + second for first, second in ours.merges]
    assert [*map(from_printable, printable[len(printable) - len(made) :])] == made
    assert [*ours.vocab.values()][ours.vocab_size - len(made) :] == made


def assert_same_training(texts, theirs, ours):
    """Train on both sides; where there is no room for the alphabet, theirs makes no merge, and ours says so."""
    tokenizer = train_theirs(texts, **theirs)
    try:
        model = train(texts, tie_break="huggingface", **ours)
    except ValueError as error:
        message = str(error)
    else:
        assert_equal(model, tokenizer)
        return
    assert re.match(r"vocab_size \d+ is too small", message)
    assert merges_of(tokenizer) == []
    assert tokenizer.get_vocab_size() > ours["vocab_size"]


@pytest.mark.parametrize(("theirs", "ours"), [row[:2] for row in OPTIONS])
@given(documents, sizes, numbers)
def test_options_of_each_row_give_the_same_merges_and_tokens(theirs, ours, documents, n, k):
    theirs, ours = ({"vocab_size": n, **options(cell, n=n, k=k)} for cell in (theirs, ours))
    assert_same_training(documents, theirs, ours)


@pytest.mark.parametrize(("how", "pattern"), PRE_TOKENIZERS)
@given(documents, st.integers(256, 320), st.integers(0, 3), st.integers(3, 12))
def test_merges_of_each_pattern_are_those_of_tokenizers(how, pattern, documents, n, least, longest):
    texts = [*documents, SPLIT_BY_NO_TWO_PATTERNS_ALIKE]
    theirs = train_theirs(texts, how, vocab_size=n, min_frequency=least, max_token_length=longest)
    options = {"min_frequency": least, "max_token_bytes": longest - 1, "pattern": eval(pattern)}
    assert_equal(train(texts, n, tie_break="huggingface", **options), theirs)


def test_table_has_a_row_for_each_trainer_option_and_pattern():
    state = json.loads(BpeTrainer().__getstate__())["BpeTrainer"]
    documented = {name for row in OPTIONS for name in re.findall(r"(\w+)=", row[0])}
    documented |= {name for row in WITHOUT_COUNTERPART for name in re.findall(r"^\w+", row[0])}
    assert state.keys() - {"words"} <= documented  # words is what has been counted
    assert [eval(row[1]) for row in PRE_TOKENIZERS] == [*(name for name in NAMES if name in WITH_SCANNER), None]


@given(documents)
def test_defaults_of_tokenizers_are_30000_tokens_and_bytes_seen(documents):
    theirs = train_theirs(documents, initial_alphabet=[])
    assert json.loads(BpeTrainer().__getstate__())["BpeTrainer"]["vocab_size"] == 30_000
    assert_equal(train(documents, 30_000, initial_alphabet="observed", tie_break="huggingface"), theirs)


@given(documents, st.integers(256, 320))
def test_byte_level_bpe_tokenizer_asks_for_a_frequency_of_two(documents, n):
    theirs = ByteLevelBPETokenizer()
    theirs.train_from_iterator(documents, vocab_size=n, show_progress=False)
    assert_equal(train(documents, n, min_frequency=2, tie_break="huggingface"), theirs._tokenizer)


@given(documents, st.integers(256, 320))
def test_a_space_before_each_text_is_what_add_prefix_space_adds(documents, n):
    with_space = [text if text.startswith(" ") else " " + text for text in documents]
    theirs = train_theirs(documents, "ByteLevel()", vocab_size=n)
    assert_equal(train(with_space, n, tie_break="huggingface"), theirs)


@given(st.lists(texts | st.sampled_from(["\n", "\r\n", "\n\n", "a\n b"]), max_size=9).map("".join))
def test_lines_of_a_file_are_what_training_on_files_takes(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_text(text, encoding="utf-8", newline="")
    theirs = train_theirs([])
    theirs.train([str(path)], BpeTrainer(initial_alphabet=ByteLevel.alphabet(), vocab_size=290, show_progress=False))
    with path.open(encoding="utf-8", newline="\n") as lines:
        assert_equal(train(lines, 290, tie_break="huggingface"), theirs)


SPECIALS = ["<s>", "<s>a", "</s>"]


@given(st.lists(texts | st.sampled_from([*SPECIALS, "<", "s>", "a", "ab"]), max_size=30).map("".join))
def test_special_tokens_in_text_are_cut_out_before_training(text):
    pieces = re.split("|".join(sorted(SPECIALS, key=len, reverse=True)), text)
    theirs = train_theirs(pieces, vocab_size=300, special_tokens=SPECIALS)
    ours = train([text], 300, SPECIALS, tie_break="huggingface")
    assert ours.merges == merges_of(theirs)
    assert ours.printable_vocab().keys() == theirs.get_vocab().keys()


@given(documents, texts, st.integers(256, 320))
def test_ids_of_theirs_through_the_printable_forms_are_ours(documents, text, n):
    theirs = train_theirs(documents, vocab_size=n)
    ours = train(documents, n, tie_break="huggingface")
    ids = ours.printable_vocab()
    to_ours = {token_id: ids[token] for token, token_id in theirs.get_vocab().items()}
    assert sorted(to_ours.values()) == [*range(ours.vocab_size)]
    for encoded in (text, *documents):
        assert [to_ours[i] for i in theirs.encode(encoded).ids] == make_encoder(ours).encode(encoded, Options())


# Real text

VOCAB_SIZE = by_profile(quick=800, thorough=2000)


@functools.cache
def train_theirs_on_a_file(path, size, how):
    """Return the pieces of the beginning of a file, and what their trainer makes of them."""
    with path.open("rb") as file:
        pieces = file.read(size).decode(errors="ignore").split(END)
    return pieces, train_theirs(pieces, how, vocab_size=VOCAB_SIZE, special_tokens=[END])


@scaled
@pytest.mark.parametrize("how", [row[0] for row in PRE_TOKENIZERS if row[1] != "None"])
@pytest.mark.parametrize("name", ["english", "code", "multilingual", "nonlatin", "docs"])
def test_merges_of_real_text_are_the_same_with_each_pattern(test_data, name, how):
    pattern = eval(dict(PRE_TOKENIZERS)[how])
    size = by_profile(quick=40_000, thorough=2_000_000 if pattern == "gpt2" else 600_000)
    pieces, theirs = train_theirs_on_a_file(test_data / "text" / f"{name}.txt", size, how)
    assert_equal(train([END.join(pieces)], VOCAB_SIZE, [END], pattern=pattern, tie_break="huggingface"), theirs)


@thorough
def test_merges_of_seventy_megabytes_are_the_same(test_data):
    paths = [test_data / "text" / f"{name}.txt" for name in ("english", "code", "multilingual", "docs")]
    ours = train(paths, 32_000, [END], tie_break="huggingface")
    assert len(ours.merges) == 32_000 - 257
    pieces = (piece for path in paths for piece in path.read_bytes().decode().split(END))
    assert_equal(ours, train_theirs(pieces, vocab_size=32_000, special_tokens=[END]))
