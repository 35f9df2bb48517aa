"""Folders that others have saved: loaded as PreTrainedTokenizerFast loads them, or refused by name."""

import json
import warnings

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.conversion import _formats as formats
from hf_bpe.pretokenizers import to_printable
from support.cases import case
from support.fuzz.folder_fuzz import run
from support.profiles import by_profile, scaled
from support.strategies import BYTES

TEXTS = ["low lower", "<s>low</s>", "a  b<b>", "", "<unk> x<pad>", "one two  three\n"]


@scaled
def test_random_folders_are_loaded_as_by_others_or_refused(tmp_path_factory):
    number = by_profile(quick=60, thorough=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeds = [2193, *range(number)]  # the first with an empty named token
        loaded = []
        for seed in seeds:
            with case(seed):
                loaded.append(run(seed, tmp_path_factory.mktemp("folder")))
    assert sum(loaded) > number / 4


def backend(tokens=(), alphabet=range(256), words=("lo", "low"), unk_token=None, **parts):
    """Return a byte-level tokenizer of `tokenizers` with the tokens of a few merges and some added ones."""
    vocab = {to_printable(bytes([byte])): number for number, byte in enumerate(alphabet)}
    merges = [("l", "o"), ("lo", "w")][: len(words)]
    vocab |= {word: len(vocab) + number for number, word in enumerate(words)}
    if unk_token:
        vocab[unk_token] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token=unk_token))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(each, special=True) if isinstance(each, str) else each for each in tokens])
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer


def template(single, pair, tokenizer):
    names = {*f"{single} {pair}".split()} & tokenizer.get_vocab().keys()
    ids = [(token, tokenizer.token_to_id(token)) for token in names]
    return processors.TemplateProcessing(single, pair, ids)


@pytest.fixture
def write(tmp_path):
    """Return what writes a folder of a tokenizer and other files."""

    def write_folder(tokenizer, config=None, **files):
        content = tokenizer.to_str() if isinstance(tokenizer, Tokenizer) else tokenizer
        (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
        for name, value in {"tokenizer_config": config, **files}.items():
            if value is not None:
                text = value if isinstance(value, str) else json.dumps(value)
                (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
        return tmp_path

    return write_folder


def assert_same(folder):
    """Load a folder in both ways, compare, and return ours."""
    ours, fast = BPETokenizer.from_pretrained(folder), PreTrainedTokenizerFast.from_pretrained(folder)
    assert fast.get_vocab().items() <= ours.get_vocab().items()
    for name in ("special_tokens_map", "extra_special_tokens", "all_special_ids", "chat_template"):
        assert getattr(ours, name) == getattr(fast, name), name
    for text in TEXTS:
        for args in ((text,), (text, "b")):
            ids = fast(*args)["input_ids"]
            assert ours(*args)["input_ids"] == ids, args
            for skip in (False, True):
                assert ours.decode(ids, skip_special_tokens=skip) == fast.decode(ids, skip_special_tokens=skip), args
    return ours


# Added tokens


def as_config(tokens):
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    return {"added_tokens_decoder": {str(token_id): {"content": token, **flags} for token_id, token in tokens.items()}}


def test_added_tokens_whose_ids_are_taken_get_others(write):
    folder = write(backend(["<s>"]), as_config({258: "<s>", 97: "<b>", 256: "</s>"}))
    message = r"other ids by tokenizer\.json.*: '<b>' 259 \(not 97\), '</s>' 260 \(not 256\)"
    with pytest.warns(UserWarning, match=message) as warned:
        ours = assert_same(folder)
    assert warned[0].filename == __file__
    assert ours.convert_tokens_to_ids(["<b>", "</s>", "a", "lo"]) == [259, 260, 97, 256]
    assert ours.decode(ours.encode("a<b>lo</s>")) == "a<b>lo</s>"


def test_added_token_with_the_id_of_another_is_refused(write):
    content = json.loads(backend().to_str())
    content["model"]["vocab"] = {"a": 0, "b": 1, "c": 3, "d": 9}
    content["model"]["merges"] = []
    folder = write(json.dumps(content), as_config({4: "<s>"}))
    assert assert_same(folder).encode("<s>") == [4]
    (folder / "tokenizer_config.json").write_text(
        json.dumps(as_config({4: "<s>", 5: "<b>", 6: "x", 7: "y", 8: "z", 9: "w"}))
    )
    with pytest.raises(ValueError, match=r"tokenizer\.json: .*gives 'w' the id 9, which 'd' has, .*the ids of the voc"):
        BPETokenizer.from_pretrained(folder)
    content["model"]["vocab"] = {"a": 0, "b": 2}
    content["added_tokens"] = [{"id": 2, "content": "<s>", **dict.fromkeys(("special", "normalized"), False)}]
    with pytest.raises(ValueError, match="gives '<s>' the id 2, which 'b' has"):
        BPETokenizer.from_pretrained(write(json.dumps(content)))


def test_added_tokens_that_become_equal_are_refused(write):
    folder = write(backend([AddedToken("<a>"), AddedToken("<A>")], normalizer=normalizers.Lowercase()))
    with pytest.raises(ValueError, match=r"tokenizer\.json: added tokens '<a>' and '<A>' become equal"):
        BPETokenizer.convert_from(folder / "tokenizer.json")


def test_two_tokens_with_one_id_are_refused_beside_two_files(tmp_path):
    BPETokenizer(model=BPEModel(BYTES, [])).save_vocabulary(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(as_config({97: "<s>"})))
    with pytest.raises(ValueError, match="added_tokens_decoder: '<s>' has the id 97, which is the id of 'a'"):
        BPETokenizer.from_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(as_config({256: "a"})))
    with pytest.raises(ValueError, match="added_tokens_decoder: 'a' has the id 256, but is already token 97"):
        BPETokenizer.from_pretrained(tmp_path)
    tokens = {256: AddedToken("<s>"), 257: AddedToken("<s>")}
    with pytest.raises(ValueError, match="added_tokens_decoder: '<s>' has the id 256, but is already token 257"):
        BPETokenizer(model=BPEModel(BYTES, []), added_tokens_decoder=tokens)


# Names and templates


def test_template_of_tokenizer_json_is_kept(write):
    tokenizer = backend(["<s>", "<b>", "</s>"])
    tokenizer.post_processor = template("<s> $A", "<s> $A </s> $B:1", tokenizer)
    for files in ({"config": {"bos_token": "<b>"}}, {"special_tokens_map": {"bos_token": "<b>", "eos_token": "</s>"}}):
        folder = write(tokenizer, **files)
        ours = assert_same(folder)
        assert (ours.encode("a"), ours.bos_token, ours.add_bos_token) == ([258, 97], "<b>", False)
        before = json.loads((folder / "tokenizer.json").read_text("utf-8"))["post_processor"]
        for portable in (False, True):
            ours.save_pretrained(folder / "again", portable=portable)
            after = json.loads((folder / "again" / "tokenizer.json").read_text("utf-8"))["post_processor"]
            assert (after["single"], after["pair"]) == (before["single"], before["pair"])
            assert assert_same(folder / "again").template == ours.template


def test_bos_and_eos_asked_for_replace_the_template(write):
    tokenizer = backend(["<s>", "<b>", "</s>"])
    tokenizer.post_processor = template("<s> $A", "<s> $A $B", tokenizer)
    folder = write(tokenizer, {"bos_token": "<b>", "eos_token": "</s>", "add_bos_token": False})
    flags = [{"add_bos_token": True}, {"add_bos_token": False}, {"add_eos_token": True}]
    for options in (*flags, {"bos_token": "<s>"}, {}):
        ours = BPETokenizer.from_pretrained(folder, **options)
        with case(options):
            assert ours.encode("a") == PreTrainedTokenizerFast.from_pretrained(folder, **options).encode("a")


def test_a_template_token_that_is_not_special_stays_so(write):
    tokenizer = backend([AddedToken("<s>", special=False, normalized=False)])
    tokenizer.post_processor = template("<s> $A", "<s> $A <s> $B", tokenizer)
    folder = write(tokenizer)
    ours = assert_same(folder)
    assert (ours.bos_token, ours.decode([258, 97], skip_special_tokens=True)) == (None, "<s>a")
    assert formats.read(folder / "tokenizer.json").setting("bos_token") is None
    assert formats.read(folder).added_tokens[258].special is False


def test_named_token_that_fast_ones_find_ordinary_is_refused(write):
    folder = write(backend([AddedToken("<s>", special=False)]), {"bos_token": "<s>", **as_config({})})
    message = "bos_token is '<s>', which is no special token there, and added_tokens_decoder"
    with pytest.raises(ValueError, match=message):
        BPETokenizer.from_pretrained(folder)
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    assert assert_same(folder).decode([258], skip_special_tokens=True) == ""


# add_prefix_space


@pytest.mark.parametrize("in_file", [False, True])
def test_add_prefix_space_is_that_of_tokenizer_json(write, in_file):
    tokenizer = backend(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=in_file))
    for named in ({}, {"tokenizer_class": "PreTrainedTokenizerFast"}, {"tokenizer_class": "TokenizersBackend"}):
        for in_config in (True, False, None):
            ours = assert_same(write(tokenizer, {**named, "add_prefix_space": in_config}))
            assert (ours.encode("a"), ours.add_prefix_space) == ([32, 97] if in_file else [97], in_file)


def test_ambiguous_add_prefix_space_is_refused_unless_given(write):
    folder = write(backend(), {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True})
    message = r"add_prefix_space is False, and True in tokenizer_config\.json, which GPT2Tok"
    with pytest.raises(ValueError, match=message):
        BPETokenizer.from_pretrained(folder)
    for asked, ids in ((True, [32, 97]), (False, [97])):
        assert BPETokenizer.from_pretrained(folder, add_prefix_space=asked).encode("a") == ids


# Bytes without a token


def test_another_unk_token_than_that_of_the_model_is_refused(write):
    tokenizer = backend(["<s>", "<unk>"], b"alowernt <>/sbku", unk_token="<unk>")
    folder = write(tokenizer, {"unk_token": "<s>"}, special_tokens_map={})
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<s>")
    for load, source in ((BPETokenizer.from_pretrained, folder), (BPETokenizer.convert_from, fast)):
        with pytest.raises(ValueError, match=r"become '<unk>'.* and unk_token is '<s>'; set unk_token='<unk>'"):
            load(source)
    fast.unk_token = "<unk>"
    for ours in (BPETokenizer.from_pretrained(folder, unk_token="<unk>"), BPETokenizer.convert_from(fast)):
        assert ours.encode("!") == tokenizer.encode("!").ids


# Files that are damaged or missing


DAMAGED = [
    ("special_tokens_map", "{", "not JSON at line 1"),
    ("special_tokens_map", "", "not JSON at line 1"),
    ("special_tokens_map", "[" * 100_000, "expected a JSON object, got one nested"),
    ("special_tokens_map", "[]", "expected a JSON object, got list"),
    ("special_tokens_map", '{"bos_token": 5}', "bos_token: expected a string or an object with a content, got 5"),
    ("special_tokens_map", '{"extra_special_tokens": [{}]}', "extra_special_tokens: expected a string or an object"),
    ("added_tokens", '{"<s>": ', "not JSON at line 1"),
    ("added_tokens", '{"<s>": -%s}' % ("1" * 5000), "the number -1"),
    ("added_tokens", "null", "expected a JSON object, got NoneType"),
    ("added_tokens", '{"<s>": "5"}', "token '<s>' has the id '5', expected an integer"),
    ("added_tokens", '{"<s>": 5, "<b>": 5}', "tokens '<s>' and '<b>' have the same id, 5"),
]


def test_damaged_file_is_named(write, tmp_path):
    for name, content, message in DAMAGED:
        folder = write(backend(), **{name: content})
        with case(name, content[:80]), pytest.raises(ValueError, match=rf"{name}\.json: {message}"):
            BPETokenizer.from_pretrained(folder)
        (folder / "tokenizer_config.json").write_text(json.dumps(as_config({})))
        assert_same(folder)  # which does not look at them
        for path in tmp_path.iterdir():
            path.unlink()


def test_a_tokenizer_json_that_is_none_is_named(write):
    long = '{"added_tokens": [{"id": 1' + "0" * 5000 + "}]}"
    for content in ("[" * 100_000, long, "{}", "[]", '{"added_tokens": []}', '{"added_tokens": {}}'):
        with pytest.raises(ValueError, match=r"tokenizer\.json: "):
            BPETokenizer.from_pretrained(write(content, {}))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "it holds nothing"),
        (["x.model"], r"it holds x\.model\. BPETokenizer\.convert_from reads x\.model, or says what does"),
        (["encoder.json", "vocab.bpe"], r"rename encoder\.json to vocab\.json, and vocab\.bpe to merges\.txt"),
        (["model.gguf"], r"BPETokenizer\.convert_from reads model\.gguf"),
        (["merges.txt"], r"it holds merges\.txt"),
    ],
)
def test_folder_without_a_tokenizer_says_what_it_holds(tmp_path, files, message):
    for name in files:
        (tmp_path / name).write_text("{}")
    expected = r"expected tokenizer\.json, which alone is enough, or vocab\.json and merges\.txt; "
    start = f"{tmp_path} is not a folder to load: {expected}"
    with pytest.raises(ValueError, match=start + f".*{message}"):
        BPETokenizer.from_pretrained(tmp_path)


def test_token_without_bytes_is_distinguished_from_a_missing_one(write):
    content = json.loads(backend().to_str())
    content["model"]["vocab"]["’"] = 258
    for part, message in (("’", "'’' has the character '’', which stands for no byte"), ("zz", "'zz' is not a token")):
        content["model"]["merges"] = [["l", part]]
        with pytest.raises(ValueError, match=f"model: merge 0: {message}"):
            BPETokenizer.from_pretrained(write(json.dumps(content)))


# Panics


def test_a_panic_of_tokenizers_is_an_error_that_stops_saving(tmp_path):
    tokenizer = BPETokenizer.train(["low lower"], 258)
    tokens = [AddedToken("lines", rstrip=True), AddedToken("\n", lstrip=True)]  # of which the first may eat the second
    tokenizer.add_tokens(tokens)
    with pytest.raises(ValueError, match=r"(?s)Tokenizer\.from_file gives different ids.*fails: tokenizers panics: "):
        tokenizer.save_pretrained(tmp_path)
    assert not [*tmp_path.iterdir()]
    tokenizer.save_pretrained(tmp_path, verify=False)
    with pytest.raises(ValueError, match=r"fails: tokenizers panics: "):
        tokenizer.convert_to(tmp_path / "x.json", format="tokenizer.json")


def test_panics_become_errors_and_other_exceptions_propagate():
    from hf_bpe.normalizers._backend import panics_as_errors

    for error in (KeyboardInterrupt, SystemExit, KeyError):
        with pytest.raises(error), panics_as_errors():
            raise error
    panicking = Tokenizer(models.BPE())
    panicking.post_processor = processors.TemplateProcessing("$B", "$A $B", [])
    with pytest.raises(ValueError, match="tokenizers panics: index out of bounds"), panics_as_errors():
        panicking.encode("")
