"""`.tiktoken` files: merges recovered from ranks give tiktoken's ids, whatever the ranks are."""

import base64
import hashlib
import itertools
import sys

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPEModel, BPETokenizer, conversion
from hf_bpe.conversion import Definition, model_of_ranks, recover_merges
from hf_bpe.encoding import unreachable
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats import Pipeline
from hf_bpe.pretokenizers import PATTERNS, Pattern
from support.profiles import by_profile, thorough
from support.strategies import models

BYTES = [bytes([byte]) for byte in range(256)]
NAMES = {"r50k": "gpt2", "cl100k": "cl100k", "o200k": "o200k"}


@st.composite
def rank_tables(draw):
    """Draw tokens over few letters, with any ranks: some cannot be reached, some are made of ones that come later."""
    tokens = draw(st.lists(st.text("ab ", min_size=2, max_size=7), max_size=14, unique=True))
    others = [token.encode() for token in tokens]
    ids = draw(st.permutations(range(len(BYTES) + len(others))))
    return dict(zip([*others, *BYTES], ids, strict=False))


def literal_merge(word, ranks):
    """Merge as tiktoken's own description says: the neighbors that joined have the lowest rank, leftmost first."""
    parts = [bytes([byte]) for byte in word]
    while True:
        pairs = [(ranks[a + b], place) for place, (a, b) in enumerate(itertools.pairwise(parts)) if a + b in ranks]
        if not pairs:
            return parts
        _, place = min(pairs)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


@given(ranks=rank_tables(), words=st.lists(st.text("ab ", max_size=24).map(str.encode), max_size=6))
def test_recovered_merges_make_what_the_ranks_make_of_any_word(ranks, words):
    model = BPEModel({token_id: token for token, token_id in ranks.items()}, recover_merges(ranks), (), None)
    encoder = make_encoder(model)
    for word in [*words, *ranks]:
        assert encoder.encode(word, Options()) == [ranks[part] for part in literal_merge(word, ranks)]
    assert len({first + second for first, second in model.merges}) == len(model.merges)
    lost = [
        rank
        for token, rank in sorted(ranks.items(), key=lambda item: item[1])
        if literal_merge(token, ranks) != [token]
    ]
    assert unreachable(model) == lost


@given(
    ranks=rank_tables(),
    texts=st.lists(st.text("ab \n1", max_size=24), max_size=6),
    name=st.sampled_from(["gpt2", "cl100k", None]),
)
def test_models_of_ranks_give_the_ids_of_tiktoken(ranks, texts, name):
    encoding = tiktoken.Encoding(
        "x", pat_str=Pattern.read(name).expression or "(?s:.+)", mergeable_ranks=ranks, special_tokens={"<|x|>": 900}
    )
    tokenizer = BPETokenizer(model=model_of_ranks(ranks, {"<|x|>": 900}, name))
    for text in [*texts, *(token.decode() for token in ranks if len(token) > 1), "ab<|x|>ab"]:
        assert tokenizer.encode(text) == encoding.encode(text, allowed_special="all")


@settings(max_examples=by_profile(quick=8, thorough=20))
@given(ranks=rank_tables())
def test_an_encoding_in_memory_is_a_tokenizer_and_its_file_again(ranks, tmp_path_factory):
    encoding = tiktoken.Encoding("x", pat_str=PATTERNS["o200k"], mergeable_ranks=ranks, special_tokens={"<|x|>": 900})
    tokenizer = BPETokenizer.convert_from(encoding)
    assert tokenizer.model == Pipeline.from_definition(conversion.definition_of(encoding)).model
    assert tokenizer.pattern == "o200k"
    path = tmp_path_factory.mktemp("x") / "x.tiktoken"
    tokenizer.convert_to(path)
    lines = map(bytes.split, path.read_bytes().splitlines())
    assert {base64.b64decode(token): int(rank) for token, rank in lines} == ranks
    assert conversion.read(path) == tokenizer.definition


@settings(max_examples=by_profile(quick=8, thorough=30))
@given(model=models(all_bytes=True))
def test_models_are_read_back_equal_or_refused_by_name(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("x") / "x.tiktoken"
    try:
        conversion.write(conversion.definition_of(model), path)
    except ValueError:
        assert not path.exists()
        ranks = {
            token: i for i, token in model.vocab.items() if token.decode("utf-8", "replace") not in model.special_tokens
        }
        assert recover_merges(ranks) != model.merges or unreachable(model)
    else:
        assert conversion.read(path).model == Pipeline.from_definition(Definition(model)).model


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "r50k" else thorough) for name in NAMES])
def test_real_rank_files_have_no_unreachable_token(test_data, name):
    path = test_data / f"tiktoken/{name}_base.tiktoken"
    model = conversion.read(path, pattern=NAMES[name], special_tokens={"<|endoftext|>": 300_000}).model
    assert not model.ignore_merges
    assert len(model.merges) == model.vocab_size - 257
    if name == "r50k":
        assert model.merges == conversion.read(test_data / "gpt2").model.merges


class TestNamesOfEncodings:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch, tmp_path):
        """Let tiktoken have a small encoding for any of its names, and no network."""
        ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256}
        monkeypatch.chdir(tmp_path)
        options = {"pat_str": PATTERNS["cl100k"], "mergeable_ranks": ranks}
        small = lambda name: tiktoken.Encoding(name, special_tokens={f"<|{name}|>": 257}, **options)  # noqa: E731
        monkeypatch.setattr(tiktoken, "get_encoding", small)

    @pytest.mark.parametrize(
        ("name", "encoding"), {"cl100k_base": "cl100k_base", "gpt-4": "cl100k_base", "gpt-4o": "o200k_base"}.items()
    )
    def test_encoding_of_a_name_or_model_is_converted(self, name, encoding):
        tokenizer = BPETokenizer.convert_from(name)
        assert tokenizer.encode(f"lo<|{encoding}|>") == [256, 257]

    def test_folder_of_the_name_comes_first(self):
        saved = BPETokenizer.train(["low"], vocab_size=256)
        saved.save_pretrained("gpt-4o")
        assert BPETokenizer.convert_from("gpt-4o").model == saved.model

    @pytest.mark.parametrize("name", ["gpt-4o-mine", "cl100k", "./gpt-4o", "gpt-4o/"])
    def test_name_of_no_model_is_a_missing_file(self, name):
        with pytest.raises(FileNotFoundError, match=name.strip("./")):
            BPETokenizer.convert_from(name)

    def test_options_of_files_are_refused(self):
        with pytest.raises(ValueError, match="pattern is only for files"):
            BPETokenizer.convert_from("gpt-4o", pattern="o200k")

    def test_encoding_that_tiktoken_cannot_get_is_named(self, monkeypatch):
        def fails(name):
            raise ConnectionError("no network")

        monkeypatch.setattr(tiktoken, "get_encoding", fails)
        with pytest.raises(OSError, match=r"tiktoken's encoding o200k_base, which it cannot get; .*: no network"):
            BPETokenizer.convert_from("gpt-4o")

    def test_without_tiktoken_only_files_are_read(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "tiktoken", None)
        with pytest.raises(FileNotFoundError, match=r"no file or folder 'gpt-4o'; .* pip install tiktoken"):
            BPETokenizer.convert_from("gpt-4o")


def test_real_encoding_is_converted_by_its_name(test_data, monkeypatch, tmp_path):
    url = "https://openaipublic.blob.core.windows.net/encodings/r50k_base.tiktoken"
    cached = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    cached.write_bytes((test_data / "tiktoken" / "r50k_base.tiktoken").read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})  # a cache of the process
    assert BPETokenizer.convert_from("davinci").encode("The quick brown fox") == [464, 2068, 7586, 21831]
