"""The core in JavaScript: its ids, offsets and text are those of Python, and files that it does not know are refused.

The same is asked of node, see answers.mjs, and of a page in Chromium.
"""

import contextlib
import http.server
import json
import random
import re
import subprocess
import sys
import threading

import pytest
from tokenizers import Tokenizer, normalizers

from hf_bpe import BPETokenizer
from hf_bpe.pretokenizers import NAMES, Pattern
from support.cases import case
from support.models.real_models import real_pipeline
from support.processes import PATIENCE
from support.profiles import by_profile, scaled, thorough
from support.servers.web import ANSWERS, SOURCES, WEB

REAL = (
    *("claude", "command_r_plus", "deepseek_v3", "florence", "gemma3", "gpt35turbo", "gpt_neox", "gptoss", "internlm2"),
    *("llama3_1", "minimind", "mistral_nemo", "mistral_v0_1", "olmo", "qwen3", "swe_gpt"),
)
TEXTS = ("english", "code", "multilingual", "nonlatin", "docs")
LENGTH = by_profile(quick=20_000, thorough=300_000)  # of each text

ODD = [
    *("", " ", "  ", "\n", "a", "é", "e\u0301", "▁", " ▁ a▁b", "\u00a0x\u2003"),
    *("\ufeffa", "a\0b", "🦊", "👩‍👩‍👧‍👦 x", "한국어 \u1112\u1161\u11ab"),
    *("\ud83e\udd8a", "\ud800", "a\udc00b \ud800\ud800\udc00", "\udfff\ud83e", "\ufb01 ① ｶﾞ", "१२३ 12345"),
    "don't I'LL",
    *("a" * 3000, " " * 300, "\n" * 70 + "x", "é" * 500, "ab" * 2000 + "\u0301"),
    # Characters that no version 9.0 of Unicode had, and which a browser normalizes.
    *("a\U000108e0\u0301", "\u08d3\u0301a", "x\U00011938\u0301", "\U00016121\U0001611f", "e\u0301\u1ac1\u0323"),
]


@pytest.fixture(scope="module")
def web_build():
    """Return the folder that web/build.sh has made, of these sources."""
    for source in SOURCES:
        built = (WEB / source.name).read_text("utf-8")
        assert built == source.read_text("utf-8"), f"{source.name} has changed: run web/build.sh again"
    return WEB


def ask(file, questions):
    """Return the answers of node, see answers.mjs."""
    given = json.dumps({"file": str(file), "questions": questions})
    command = ["node", str(ANSWERS), str(WEB / "tokenizer.js")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=10 * PATIENCE, check=True)
    return json.loads(done.stdout)


def in_units(text, offsets):
    """Return offsets in characters as offsets in UTF-16, in one list. A surrogate pair may be given as two."""
    places = [0]
    for character in text:
        places.append(places[-1] + (2 if ord(character) > 0xFFFF else 1))
    return [places[each] for pair in offsets for each in pair]


def has_lost_places(normalizer, text):
    """Return whether a normalizer changes a text, so that the JavaScript refuses its offsets."""
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return normalizer is not None and normalizer.normalize_str(repaired) != repaired


def compare(file, pipeline, texts):
    """Compare all that JavaScript says of texts with Python."""
    rows = [pipeline.encode([text], add_special_tokens=True)[0] for text in texts]
    questions = [["encode", text] for text in texts] + [["offsets", text] for text in texts]
    questions += [["encode", text, {"addSpecialTokens": False}] for text in texts]
    questions += [["decode", row, {"skipSpecialTokens": skips}] for skips in (False, True) for row in rows]
    answers = ask(file, questions)
    assert len(answers) == len(questions), answers
    encoded, placed, bare, *decoded = (answers[at : at + len(texts)] for at in range(0, len(answers), len(texts)))
    assert encoded == rows
    assert bare == pipeline.encode(texts)
    normalizer = Tokenizer.from_file(str(file)).normalizer if pipeline.model.alphabet.is_bytes else None
    refused = 0
    for text, row, answer in zip(texts, rows, placed, strict=True):
        if has_lost_places(normalizer, text):
            assert "UnsupportedTokenizerError: offsets: the text is not in " in answer["error"]
            refused += 1
            continue
        offsets = pipeline.encodings([[text]], add_special_tokens=True)[0].offsets
        assert answer == {"ids": row, "offsets": in_units(text, offsets)}, text[:200]
    assert refused < len(texts)
    for skips, answer in zip((False, True), decoded, strict=True):
        assert answer == pipeline.decode(rows, skip_special_tokens=skips)


@scaled
@pytest.mark.filterwarnings("ignore:padding and truncation are ignored")  # Florence has them
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "minimind" else thorough) for name in REAL])
def test_real_files_say_the_same_as_in_python(web_build, test_data, name):
    pipeline = real_pipeline(test_data, name)
    tokens = [token.content for token in pipeline.added_tokens.values()]
    generator = random.Random(7)
    mixed = [" ".join(generator.choices([*ODD, *tokens], k=12)) for _ in range(by_profile(quick=20, thorough=200))]
    joined = ["".join(generator.choices([*ODD, *tokens], k=5)) for _ in range(by_profile(quick=20, thorough=200))]
    texts = [*ODD, *mixed, *joined]
    for each in TEXTS:
        content = (test_data / "text" / f"{each}.txt").read_text("utf-8")[:LENGTH]
        texts += content.split("<|endoftext|>")
        texts.append(content[: LENGTH // 4])
    compare(test_data / "tokenizers" / name / "tokenizer.json", pipeline, texts)


def variant(test_data, tmp_path, name, **parts):
    """Write a real tokenizer.json with other parts; those of the model are a dictionary `model`."""
    content = json.loads((test_data / "tokenizers" / name / "tokenizer.json").read_text("utf-8"))
    content["model"] |= parts.pop("model", {})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content | parts), encoding="utf-8")
    return path


def token(number, content, *flags, first=6400):
    names = ("special", "normalized", "lstrip", "rstrip", "single_word")
    return {"id": first + number, "content": content, **{name: name in flags for name in names}}


TOKENS = [
    *(token(0, "<l>", "lstrip"), token(1, "<r>", "rstrip", "normalized"), token(2, "<w>", "single_word", "special")),
    *(token(3, "é!", "normalized"), token(4, "ﬁ", "normalized", "lstrip", "rstrip")),
    token(5, "<lr>", "lstrip", "rstrip"),
    token(6, " x ", "normalized", "special"),
]
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<w>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"<w>": {"id": "<w>", "ids": [6402], "tokens": ["<w>"]}},
}
ENDS = {"cls": ["<w>", 6402], "sep": ["<l>", 6400]}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
WITH_SPACE = BYTE_LEVEL | {"add_prefix_space": True}
VARIANTS = [
    *({"pre_tokenizer": Pattern.read(name).hub_chain.to_json()} for name in NAMES),
    {"pre_tokenizer": BYTE_LEVEL | {"use_regex": False}},
    {"pre_tokenizer": WITH_SPACE},
    {"model": {"ignore_merges": True}},
    *({"normalizer": {"type": form}} for form in ("NFC", "NFD", "NFKC", "NFKD")),
    *({"post_processor": each} for each in (BYTE_LEVEL, WITH_SPACE, TEMPLATE, {"type": "BertProcessing", **ENDS})),
    {"post_processor": {"type": "RobertaProcessing", **ENDS, "trim_offsets": True, "add_prefix_space": True}},
    {"post_processor": {"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]}},
]
METASPACE = [
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": splits}
    for scheme in ("always", "first", "never")
    for splits in (True, False)
]


def mixed_texts():
    """Return texts of odd pieces and added tokens."""
    generator = random.Random(11)
    pieces = [*ODD, *(each["content"] for each in TOKENS), "w<w>", "low lower", "x\u00a0", " 12 "]
    return [*ODD, *("".join(generator.choices(pieces, k=6)) for _ in range(by_profile(quick=30, thorough=500)))]


@scaled
def test_parts_of_byte_level_files_mean_the_same(web_build, test_data, tmp_path):
    for parts in VARIANTS:
        with case(parts):
            content = json.loads((test_data / "tokenizers" / "minimind" / "tokenizer.json").read_text("utf-8"))
            file = variant(test_data, tmp_path, "minimind", added_tokens=content["added_tokens"] + TOKENS, **parts)
            compare(file, BPETokenizer.convert_from(file).pipeline, mixed_texts())


@thorough
def test_parts_of_character_files_mean_the_same(web_build, test_data, tmp_path):
    specials = [token(i, each, "special", first=0) for i, each in enumerate(("<unk>", "<s>", "</s>"))]
    others = [each for each in TOKENS if each["content"] != "ﬁ"]  # which the vocabulary has
    flags = ("special", "lstrip", "rstrip", "single_word")
    tokens = specials + [
        token(i, each["content"], *filter(each.get, flags), first=32000) for i, each in enumerate(others)
    ]
    for parts in [
        *({"normalizer": None, "pre_tokenizer": each} for each in METASPACE),
        {"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}},
        {"model": {"byte_fallback": False, "fuse_unk": False}},
        {"model": {"byte_fallback": False, "fuse_unk": True}},
    ]:
        with case(parts):
            file = variant(test_data, tmp_path, "mistral_v0_1", added_tokens=tokens, **parts)
            compare(file, BPETokenizer.convert_from(file).pipeline, mixed_texts())


def metaspace_file(path, *tokens, **parts):
    """Write a model of characters with Metaspace, few tokens, and these added tokens."""
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": False, "byte_fallback": False, "dropout": None}
    model |= {"vocab": {"<unk>": 0, "▁": 1, "a": 2, "b": 3}, "merges": []}
    content = {"version": "1.0", "normalizer": None, "pre_tokenizer": METASPACE[0], "post_processor": None}
    content["decoder"] = {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
        ],
    }
    content |= {"added_tokens": [token(0, "<unk>", "special", first=0), *tokens], "model": model}
    path.write_text(json.dumps(content | parts), encoding="utf-8")
    return path


def test_normalized_tokens_of_metaspace_are_searched_or_refused(web_build, tmp_path):
    tokens = (
        token(0, "<n>", "normalized", first=4),
        token(1, "ab", "normalized", "single_word", first=4),
        token(2, "▁▁", "lstrip", first=4),
    )
    file = metaspace_file(tmp_path / "tokenizer.json", *tokens)
    pieces = ["a", "b", "ab", " ", "  ", "▁", "▁▁", "<n>"]
    generator = random.Random(5)
    texts = ["a  b", "a▁▁b", *("".join(generator.choices(pieces, k=6)) for _ in range(300))]
    for scheme in METASPACE:
        with case(scheme):
            metaspace_file(file, *tokens, pre_tokenizer=scheme)
            tokenizer = Tokenizer.from_file(str(file))
            rows = [tokenizer.encode(text).ids for text in texts]
            assert ask(file, [["encode", text] for text in texts]) == rows
    for content, *flags in [("▁▁",), ("x y",), ("<l>", "lstrip"), ("<r>", "rstrip")]:
        with case(content):
            metaspace_file(file, token(0, content, "normalized", *flags, first=4))
            (answer,) = ask(file, [])
            assert f'added_tokens: "{content}" is normalized, in a model with Metaspace' in answer["error"]


def test_trimmed_offsets_cut_no_surrogate_pair(web_build, test_data, tmp_path):
    texts = ["😀", "😀 😀", " 😀", "  😀 ", "a😀", "\n😀", "é", "\ud800", "", "   ", "𝒳𝒴 low 🦊"]
    texts += [f"{text}<w>{text}" for text in texts]
    for name in ("minimind", "gpt_neox"):
        file = test_data / "tokenizers" / name / "tokenizer.json"
        content = json.loads(file.read_text("utf-8"))
        split = WITH_SPACE if name == "minimind" else content["pre_tokenizer"] | {"add_prefix_space": True}
        for processor in (BYTE_LEVEL, WITH_SPACE):
            with case(name, processor):
                path = variant(test_data, tmp_path, name, pre_tokenizer=split, post_processor=processor)
                compare(path, BPETokenizer.convert_from(path).pipeline, texts)


@thorough
def test_missing_bytes_mean_the_same(web_build, test_data, tmp_path):
    content = json.loads((test_data / "tokenizers" / "minimind" / "tokenizer.json").read_text("utf-8"))
    vocab, merges = content["model"]["vocab"], content["model"]["merges"]
    gone = {"Ø", "ö", "Z"}  # bytes in printable form
    kept = {text: number for number, text in enumerate(each for each in vocab if not gone & {*each})}
    merges = [each for each in merges if not gone & {*"".join(each)}]
    added = [each | {"id": kept[each["content"]]} for each in content["added_tokens"]]
    for unk_token in (None, added[0]["content"]):
        with case(unk_token):
            model = {"vocab": kept, "merges": merges, "unk_token": unk_token}
            file = variant(test_data, tmp_path, "minimind", added_tokens=added, model=model)
            compare(file, BPETokenizer.convert_from(file).pipeline, [*mixed_texts(), "ZZ top", "aZ b"])


REFUSED = [
    ({"model": {"type": "Unigram"}}, 'model: is "Unigram"'),
    ({"model": {"dropout": 0.1}}, "model: dropout 0.1"),
    ({"model": {"continuing_subword_prefix": "##"}}, 'model: continuing_subword_prefix "##"'),
    ({"model": {"end_of_word_suffix": "</w>"}}, "model: end_of_word_suffix"),
    ({"model": {"ignore_merges": "yes"}}, "model: ignore_merges"),
    ({"model": {"newer": 1}}, "model: newer is not known"),
    ({"model": {"merges": [["a", "not there"]]}}, "model: expected vocab and merges"),
    ({"model": {"vocab": {"a": 0, "b": 0}}}, "model: expected vocab and merges"),
    ({"newer": {}}, "the file: newer is not known"),
    ({"normalizer": {"type": "Lowercase"}}, 'normalizer: {"type":"Lowercase"}'),
    ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]}}, "normalizer: "),
    ({"pre_tokenizer": None}, "pre_tokenizer: null"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, 'pre_tokenizer: {"type":"Whitespace"}'),
    ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": r"\d"},
      "behavior": "Isolated", "invert": False}, BYTE_LEVEL]}}, "is none of the patterns with a name"),
    ({"pre_tokenizer": BYTE_LEVEL | {"newer": True}}, "pre_tokenizer: newer is not known"),
    ({"decoder": None}, "decoder: null"),
    ({"decoder": {"type": "WordPiece"}}, 'decoder: {"type":"WordPiece"}'),
    ({"post_processor": {"type": "Newer"}}, 'post_processor: {"type":"Newer"}'),
    ({"post_processor": TEMPLATE}, 'post_processor: adds "<w>" as the id 6402'),
    ({"added_tokens": [token(5, "<gap>")]}, 'added_tokens: "<gap>" has the id 6405, where tokenizers gives it 6400'),
    ({"added_tokens": [token(0, "<a>"), token(0, "<a>")]}, 'added_tokens: "<a>" is given twice'),
    ({"added_tokens": [token(0, "<a>") | {"newer": 1}]}, "added_tokens: newer is not known"),
    ({"added_tokens": [token(0, "<a>") | {"lstrip": 1}]}, "added_tokens: lstrip: 1"),
    ({"normalizer": {"type": "NFC"}, "added_tokens": [token(0, "n\xe9"), token(1, "ne\u0301", "normalized")]},
     "added_tokens: ne\u0301 becomes equal"),
]  # fmt: skip


def test_files_that_are_not_known_are_refused_by_name(web_build, test_data, tmp_path):
    for parts, message in REFUSED:
        with case(parts):
            (answer,) = ask(variant(test_data, tmp_path, "minimind", **parts), [])
            assert message in answer["error"]
            assert answer["error"].startswith("UnsupportedTokenizerError: ")


def test_files_that_are_no_json_in_utf8_are_refused(web_build, test_data, tmp_path):
    content = (test_data / "tokenizers" / "minimind" / "tokenizer.json").read_bytes()
    file = tmp_path / "tokenizer.json"
    for broken in (content.replace(b'"!"', b'"\xff"', 1), content.rstrip()[:-1], b"\xef\xbb\xbf" + content):
        file.write_bytes(broken)
        (answer,) = ask(file, [])
        assert answer["error"].startswith(("SyntaxError: not a tokenizer.json: ", "UnsupportedTokenizerError: model: "))


@thorough
def test_character_files_that_are_not_known_are_refused_by_name(web_build, test_data, tmp_path):
    for parts, message in [
        ({"normalizer": {"type": "Prepend", "prepend": "▁"}}, "normalizer "),
        ({"normalizer": {"type": "NFKC"}}, 'normalizer {"type":"NFKC"}'),
        ({"pre_tokenizer": METASPACE[0]}, "with pre_tokenizer"),
        ({"decoder": {"type": "Fuse"}}, 'decoder: {"type":"Fuse"}'),
        ({"model": {"ignore_merges": True}}, "model: ignore_merges without ByteLevel"),
        ({"model": {"byte_fallback": False, "unk_token": None}}, "model: neither byte_fallback nor an unk_token"),
        ({"added_tokens": [token(0, "<a>", "normalized", first=32000)]}, 'added_tokens: "<a>" is normalized'),
    ]:
        with case(parts):
            (answer,) = ask(variant(test_data, tmp_path, "mistral_v0_1", **parts), [])
            assert message in answer["error"]
            assert answer["error"].startswith("UnsupportedTokenizerError: ")


def test_wrong_arguments_are_named(web_build, test_data):
    file = test_data / "tokenizers" / "minimind" / "tokenizer.json"
    answers = ask(
        file,
        [["encode", None], ["encode", 3], ["decode", [0, 9999]], ["decode", [-1]], ["decode", [1.5]], ["bytes", 9999]],
    )
    assert [answer["error"] for answer in answers] == [
        "TypeError: text: expected a string, got null",
        "TypeError: text: expected a string, got number",
        "RangeError: 9999 at 1 is the id of no token",
        "RangeError: ids: expected integers from 0 on, got -1 at 0",
        "RangeError: ids: expected integers from 0 on, got 1.5 at 0",
        "RangeError: 9999 at 0 is the id of no token",
    ]


NORMALIZE = """
const { Normalizer } = await import(process.argv[1]);
let given = "";
for await (const piece of process.stdin.setEncoding("utf8")) given += piece;
const texts = JSON.parse(given);
const normalized = (form) => texts.map((text) => new Normalizer(form, null).apply(text));
const answers = Object.fromEntries(["NFC", "NFD", "NFKC", "NFKD"].map((form) => [form, normalized(form)]));
console.log(JSON.stringify(answers));
"""


@thorough
def test_normalization_is_that_of_tokenizers_for_every_character(web_build):
    codes = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    generator = random.Random(3)
    nfc = normalizers.NFC().normalize_str
    joining = [chr(code) for code in codes if nfc(f"a{chr(code)}\u0334") != f"a{chr(code)}\u0334"]
    texts = [f"e{chr(code)}\u0323\u0301" for code in codes]
    texts += [
        "".join(map(chr, generator.choices(codes, k=3))) + "".join(generator.choices(joining, k=4))
        for _ in range(100_000)
    ]
    command = ["node", "--input-type=module", "-e", NORMALIZE, (WEB / "normalization.js").as_uri()]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, timeout=10 * PATIENCE, check=True
    )
    for form, answers in json.loads(done.stdout).items():
        normalizer = getattr(normalizers, form)()
        wrong = [text for text, answer in zip(texts, answers, strict=True) if normalizer.normalize_str(text) != answer]
        assert wrong == []


@contextlib.contextmanager
def served(*folders):
    """Serve the files of folders, the first that has one."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            found = [folder / path.lstrip("/") for folder in folders]
            return str(next(filter(lambda each: each.is_file(), found), found[0]))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


IN_PAGE = """
(async () => {
  const { load } = await import("./tokenizer.js");
  const tokenizer = await load(await (await fetch("%s/tokenizer.json")).arrayBuffer());
  return %s.map((text) => [...tokenizer.encode(text)]);
})()
"""


@pytest.mark.parametrize("name", ["minimind", pytest.param("mistral_v0_1", marks=thorough)])
def test_ids_in_chromium_are_those_of_python(web_build, chromium, test_data, name):
    texts = [each for each in ODD if each.isprintable() or len(each) < 100]
    texts += [(test_data / "text" / f"{each}.txt").read_text("utf-8")[:20_000] for each in TEXTS]
    chromium.events.clear()
    with served(WEB, test_data / "tokenizers") as address:
        chromium.open(f"{address}/index.html")
        rows = chromium.evaluate(IN_PAGE % (name, json.dumps(texts)))
    assert rows == [real_pipeline(test_data, name).encode([text], add_special_tokens=True)[0] for text in texts]
    assert chromium.problems() == []


def test_the_example_of_the_guide_runs(web_build, chromium, test_data, tmp_path):
    page = (WEB.parent.parent / "docs" / "how-to" / "use-in-the-browser.md").read_text("utf-8")
    (example,) = re.findall(r"^```\{code-block\} js\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "example.js").write_text(f"{example}\nexport {{ ids, offsets }};\n", encoding="utf-8")
    chromium.events.clear()
    with served(WEB, test_data / "tokenizers" / "minimind", tmp_path) as address:
        chromium.open(f"{address}/index.html")
        answer = chromium.evaluate("import('./example.js').then(({ ids, offsets }) => [[...ids], [...offsets]])")
    encodings = real_pipeline(test_data, "minimind").encodings([["🦊 fox"]], add_special_tokens=True)
    assert answer == [encodings[0].ids, in_units("🦊 fox", encodings[0].offsets)]
    assert chromium.problems() == []


def test_the_page_shows_the_tokens_of_a_file(web_build, chromium, test_data, tmp_path):
    text = "<b>low</b> é\n🦊"
    file = test_data / "tokenizers" / "minimind" / "tokenizer.json"
    chromium.events.clear()
    with served(WEB) as address:
        chromium.open(f"{address}/index.html")
        choose(chromium, file)
        chromium.wait_for("document.querySelectorAll('#tokens bdi').length > 9")
        chromium.evaluate("document.querySelector('#text').value = ''; document.querySelector('#text').focus()")
        chromium.insert(text)
        pipeline = real_pipeline(test_data, "minimind")
        (ids,) = pipeline.encode([text])
        chromium.wait_for(f"document.querySelectorAll('#tokens bdi').length === {len(ids)}")
        shown = "".join(
            chromium.evaluate("[...document.querySelectorAll('#tokens bdi')].map((each) => each.textContent)")
        )
        assert shown == "".join(as_shown(pipeline.decode_bytes([each])) for each in ids)
        state = "document.querySelector('#state').textContent"
        assert chromium.evaluate(state).startswith(f"{len(ids)} tokens of {len(text.encode())} bytes")
        choose(chromium, variant(test_data, tmp_path, "minimind", normalizer={"type": "Lowercase"}))
        chromium.wait_for(f"{state}.includes('normalizer')")
        assert chromium.evaluate("document.querySelectorAll('#tokens bdi').length") == 0
    assert chromium.problems() == []


def as_shown(data):
    try:
        return data.decode().replace("\n", "↵")
    except UnicodeDecodeError:
        return "".join(f"<{byte:02x}>" for byte in data)


def choose(chromium, file):
    document = chromium.call("DOM.getDocument")["root"]["nodeId"]
    node = chromium.call("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
    chromium.call("DOM.setFileInputFiles", nodeId=node, files=[str(file)])
