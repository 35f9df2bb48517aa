"""A normalizer can make a text only so much longer: tokenizers ends the process when memory runs out."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.normalizers import Normalizer
from hf_bpe.normalizers._steps import total_growth
from support.cases import case
from support.edited_folders import edit_json, save_as_others
from support.processes import PATIENCE


def replace(pattern, content, syntax="String"):
    return {"type": "Replace", "pattern": {syntax: pattern}, "content": content}


def sequence(*normalizers):
    return {"type": "Sequence", "normalizers": [*normalizers]}


NAMES = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")
MAX_GROWTH, MAX_STAGES = 256, 64
DOUBLING = replace("a", "aa")
BOMB = sequence(*[DOUBLING] * 28)


WITHIN_LIMITS = [
    replace("a", "b" * MAX_GROWTH),
    replace("é", "b" * MAX_GROWTH * 2),
    replace("a+", "b" * MAX_GROWTH, "Regex"),
    replace("a*", "b" * 127, "Regex"),
    {"type": "Prepend", "prepend": "b" * (MAX_GROWTH - 1)},
    sequence(*[DOUBLING] * 8),
    sequence(*[replace("a", "b")] * MAX_STAGES),
    sequence(*({"type": kind} for kind in NAMES), replace(" ", "▁")),
    sequence(*[{"type": "NFKD"}] * MAX_STAGES),
]


def test_normalizer_within_the_limits_is_taken():
    for normalizer in WITHIN_LIMITS:
        with case(normalizer):
            assert sum(total_growth(Normalizer.parse(normalizer).steps)) <= MAX_GROWTH


TOO_LONG = [
    (replace("a", "b" * (MAX_GROWTH + 1)), "with Replace, a character can become 257 times as long; expected at"),
    (replace("a*", "b" * 128, "Regex"), "257 times"),
    (replace("(?!a)", "b" * 128, "Regex"), "257 times"),
    ({"type": "Prepend", "prepend": "b" * MAX_GROWTH}, "with Prepend, a character can become 257 times"),
    (sequence(*[DOUBLING] * 9), "with Replace, number 9 of 9, a character can become 512 times"),
    (sequence(sequence(*[DOUBLING] * 5), *[sequence(DOUBLING)] * 5), "number 9 of 10"),
    (sequence(*[replace("a", "b")] * (MAX_STAGES + 1)), "a Sequence of 65 normalizers; expected at most 64"),
    (sequence(*[{"type": "Prepend", "prepend": "x" * 100}] * 3), "number 3 of 3, a character can become 301"),
]


def test_normalizer_that_can_make_a_text_too_long_is_refused():
    for normalizer, message in TOO_LONG:
        with case(normalizer):
            with pytest.raises(ValueError, match=message):
                Normalizer.parse(normalizer)
            with pytest.raises(ValueError, match=message):
                BPEModel({97: b"a"}, [], normalizer=normalizer)


def parts():
    text = st.text(st.sampled_from("aé ▁ﷺ"), min_size=1, max_size=4)
    contents = st.text(st.sampled_from("aé ▁ﷺ"), max_size=6)
    expressions = st.sampled_from([r"\s+", "a", "a|é", "a(?=a)", ".", r"\b", "a*", "(?<=a)"])
    return st.one_of(
        st.sampled_from(NAMES).map(lambda name: {"type": name}),
        text.map(lambda value: {"type": "Prepend", "prepend": value}),
        st.builds(replace, text, contents),
        st.builds(replace, expressions, contents, st.just("Regex")),
    )


@given(st.lists(parts(), min_size=1, max_size=5), st.text(st.sampled_from("aéÅİ ▁ﷺȺ\U0001d160"), max_size=12))
def test_no_text_grows_more_than_is_computed(parts, text):
    growth = total_growth(parts)
    if sum(growth) > MAX_GROWTH:
        return
    try:
        new = Normalizer.parse(sequence(*parts)).apply(text)
    except ValueError:  # an expression matches nothing at the beginning
        return
    assert len(new.encode()) <= growth.factor * len(text.encode()) + growth.added


def test_text_that_could_become_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("hf_bpe.normalizers._steps.MAX_NORMALIZED_BYTES", 300)
    tokenizer = BPETokenizer.train(["low"], num_merges=1, normalizer=replace(" ", "▁"))
    assert tokenizer.encode("low" * 33)
    message = r"a text of 101 bytes could become 303 bytes when it is normalized; expected at most 300: divide it"
    for call in (tokenizer, tokenizer.encode, tokenizer.tokenize, tokenizer.encode_to_numpy):
        with pytest.raises(ValueError, match=message):
            call(["l" * 101] if call in (tokenizer, tokenizer.encode_to_numpy) else "l" * 101)
    with pytest.raises(ValueError, match=message):
        tokenizer("l" * 101, return_offsets_mapping=True)
    with pytest.raises(ValueError, match=message):
        BPETokenizer.train(["l" * 101], num_merges=1, normalizer=replace(" ", "▁"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with a harmful `tokenizer.json` of another library, and one of ours that somebody has edited."""
    tokenizer = BPETokenizer.train(["low lower"], num_merges=2, normalizer="NFC")
    root = tmp_path_factory.mktemp("growth")
    save_as_others(tokenizer, root / "foreign", normalizer=BOMB)
    tokenizer.save_pretrained(root / "ours")
    edit_json(root / "ours" / "tokenizer.json", normalizer=BOMB)
    edit_json(root / "ours" / "tokenizer_config.json", normalizer=json.dumps(BOMB), file_digests=None)
    return root


WAYS_TO_LOAD = {
    "from_pretrained": "BPETokenizer.from_pretrained('foreign')",
    "from_pretrained of ours": "BPETokenizer.from_pretrained('ours')",
    "AutoTokenizer": "transformers.AutoTokenizer.from_pretrained('ours')",
    "convert_from(folder)": "BPETokenizer.convert_from('foreign')",
    "convert_from(file)": "BPETokenizer.convert_from('foreign/tokenizer.json')",
    "convert_from(Tokenizer)": "BPETokenizer.convert_from(tokenizers.Tokenizer.from_file('foreign/tokenizer.json'))",
    "accelerate": "accelerate(transformers.PreTrainedTokenizerFast.from_pretrained('foreign'))",
    "BPETokenizerFast": "BPETokenizerFast.from_pretrained('foreign')",
    "train": "BPETokenizer.train(['a'], num_merges=1, normalizer=BOMB)",
    "command": "command('convert', 'foreign', 'out.gguf')",
    "inspect": "command('inspect', 'foreign')",
}
SCRIPT = """
import json, os, resource, sys
import tokenizers, transformers.models.auto.tokenization_auto  # with torch, if it is installed
from hf_bpe import BPETokenizer, BPETokenizerFast, accelerate
from hf_bpe.cli import main
def command(*arguments):
    sys.argv = ["hf-bpe", *arguments]
    main()
WAYS_TO_LOAD, BOMB = map(json.loads, sys.argv[1:])
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for way, code in WAYS_TO_LOAD.items():
    if os.fork():
        print(way, os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
        continue
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (2 << 30),) * 2)
    for stream in (1, 2):
        os.dup2(os.open(way, os.O_CREAT | os.O_APPEND | os.O_WRONLY), stream)
    try:
        if not getattr(eval(code), "is_accelerated", True):
            sys.exit(3)
    except ValueError as error:
        sys.exit(str(error))
    break
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is that of Linux")
def test_every_way_in_refuses_a_file_that_keeps_doubling_texts(folders):
    command = [sys.executable, "-c", SCRIPT, json.dumps(WAYS_TO_LOAD), json.dumps(BOMB)]
    done = subprocess.run(command, cwd=folders, capture_output=True, text=True, timeout=PATIENCE, check=True)
    # That of transformers works without us, and says why.
    assert done.stdout == "".join(f"{way} {3 if way == 'BPETokenizerFast' else 1}\n" for way in WAYS_TO_LOAD)
    for way in WAYS_TO_LOAD:
        said = (folders / way).read_text(encoding="utf-8")
        assert "with Replace, number 9 of 28, a character can become 512 times as long" in said, way
