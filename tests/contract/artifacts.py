"""The tokenizers that are loaded in every way: models trained here, edited `tokenizer.json` files, and real files.

An artifact is made in a folder of its own, as a user would have downloaded it. What needs no real data always runs;
real files are taken from the folder that the environment variable HF_BPE_TEST_DATA names.
"""

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock

from contract import api

from hf_bpe import BPETokenizer
from hf_bpe.training import Superwords

DATA = Path(os.environ["HF_BPE_TEST_DATA"]) if os.environ.get("HF_BPE_TEST_DATA") else None

BOS, EOS, EXTRA, PAD, MASK = "<|bos|>", "<|eos|>", "<|extra|>", "<pad>", "<mask>"
CORPUS = [
    "The quick brown fox jumps over the lazy dog. It's low, lower, lowest; they'll see we've 12 and 1234567 in 2024!",
    "def f(x):\n    return x  # 100%\n\nnewer  newest   widest\r\nyou're I'M DON'T caf\u00e9 na\u00efve "
    "你好世界 привет",
    "the of the and by the way; one of the best, one of the rest \u0e44\u0e17\u0e22 \ud55c\uae00 👩🏽\u200d🚀",
] * 4
CHAT = (
    "{{ bos_token }}{% for message in messages %}<{{ message.role }}>"
    "{% if message.role == 'assistant' %}{% generation %}{{ message.content }}{{ eos_token }}{% endgeneration %}"
    "{% else %}{{ message.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
SETTINGS = {"bos_token": BOS, "eos_token": EOS, "pad_token": PAD, "chat_template": CHAT, "model_max_length": 1000}


@dataclass(frozen=True)
class Artifact:
    """A tokenizer as a user has it.

    Attributes:
        name: what the tables and failures call it.
        kind: "folder" with a `tokenizer.json`, "gpt2" for GPT-2's two files, "encoding" of tiktoken, "refused" and
            "refused encoding" for what nothing may load.
        make: makes it in an empty folder; returns the folder, or the encoding.
        is_quick: whether the quick form has it.
        train: returns it as `BPETokenizer.train` gives it, for those that are trained here.
        group: the column of the table at the end.
    """

    name: str
    kind: str
    make: Callable[[Path], object]
    is_quick: bool = True
    train: Callable[[], BPETokenizer] | None = None
    group: str = "real files"


def trained(name, is_quick=False, kind="folder", **options):
    """Return an artifact that is trained here with options, written as other tools write a folder."""

    @cache
    def train():
        texts = (
            api.NormalizedTexts(CORPUS, [BOS, EOS, PAD], options["normalizer"]) if "normalizer" in options else CORPUS
        )
        size = {} if "vocab_size" in options else {"num_merges": 120}
        return BPETokenizer.train(texts, **{**SETTINGS, **size, **options})

    def make(folder):
        if kind == "folder":
            content = json.loads(train().backend_tokenizer.to_str())
            named = ("unk_token", "extra_special_tokens")
            return write_folder(folder, content, SETTINGS | {name: options[name] for name in named if name in options})
        return folder

    return Artifact(name, kind, make, is_quick, train, "trained")


def write_folder(folder, content, settings):
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **settings}
    folder.joinpath("tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    folder.joinpath("tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False), "utf-8")
    return folder


def edited(
    name,
    is_quick=False,
    pattern="gpt2",
    settings=SETTINGS,
    added=(),
    without="",
    behind=None,
    ignore_merges=False,
    **parts,
):
    """Return an artifact with the `tokenizer.json` of a family: one trained here, with other parts.

    Args:
        name, is_quick: as in Artifact.
        pattern: the name of the pattern, where `parts` have no `pre_tokenizer`.
        settings: those of `tokenizer_config.json`.
        added: added tokens, in JSON, without their ids.
        without: printable bytes that the vocabulary lacks.
        behind: further tokens of the vocabulary, with how many ids are unused before each.
        ignore_merges: the option of the model.
        parts: other entries of `tokenizer.json`.
    """

    def make(folder):
        plain = BPETokenizer.train(
            CORPUS, num_merges=120, pattern=pattern, **{**SETTINGS, "extra_special_tokens": [MASK]}
        )
        content = json.loads(plain.backend_tokenizer.to_str())
        model = content["model"]
        tokens = [token for token in sorted(model["vocab"], key=model["vocab"].get) if token not in {*without}]
        model["vocab"] = {token: number for number, token in enumerate(tokens)}
        for token, unused in (behind or {}).items():
            model["vocab"][token] = max(model["vocab"].values()) + 1 + unused
        model["ignore_merges"] = ignore_merges
        for token in content["added_tokens"]:
            token["id"] = model["vocab"][token["content"]]
        for number, token in enumerate(added, max(model["vocab"].values()) + 1):
            flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
            content["added_tokens"].append({**flags, "id": model["vocab"].get(token["content"], number), **token})
        content |= parts
        content["post_processor"] = with_ids(content["post_processor"], model["vocab"])
        return write_folder(folder, content, settings)

    return Artifact(name, "folder", make, is_quick, group="families")


def with_ids(processor, vocab):
    if processor and processor["type"] == "Sequence":
        return {**processor, "processors": [with_ids(each, vocab) for each in processor["processors"]]}
    if processor and processor["type"] == "TemplateProcessing":
        pieces = [*processor["single"], *processor["pair"]]
        named = {piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece}
        tokens = {name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in named}
        return {**processor, "special_tokens": tokens}
    if processor and processor["type"] == "RobertaProcessing":
        return {**processor, "cls": [BOS, vocab[BOS]], "sep": [EOS, vocab[EOS]]}
    return processor


def byte_level(trim_offsets=False, add_prefix_space=False, use_regex=True):
    flags = {"add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets, "use_regex": use_regex}
    return {"type": "ByteLevel", **flags}


def split(expression, behavior="Isolated"):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": behavior, "invert": False}


def sequence(*stages):
    return {"type": "Sequence", "pretokenizers": [*stages]}


def template(single, pair):
    """Return a TemplateProcessing; `single` and `pair` are written like `BOS A B:1 EOS:1`."""

    def pieces(text):
        for word in text.split():
            name, _, type_id = word.partition(":")
            token = {"BOS": BOS, "EOS": EOS, "EXTRA": EXTRA}.get(name)
            kind = "SpecialToken" if token else "Sequence"
            yield {kind: {"id": token or name, "type_id": int(type_id or 0)}}

    return {"type": "TemplateProcessing", "single": [*pieces(single)], "pair": [*pieces(pair)]}


def roberta(**flags):
    return {"type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False, **flags}


NFC, NFKC = {"type": "NFC"}, {"type": "NFKC"}
SPACE = {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
MASKS = {"content": "<m>", "special": True, "lstrip": True}
SPACES = tuple({"content": " " * size, "normalized": True} for size in (2, 3, 8, 24))
FLAGGED = (
    {"content": "low", "single_word": True},
    {"content": "<l>", "lstrip": True},
    {"content": "<r>", "rstrip": True},
    {"content": "<both>", "lstrip": True, "rstrip": True, "special": True},
    {"content": "<n>er", "normalized": True},
    {"content": "caf\u00e9", "normalized": False},
    {"content": " the", "special": True},  # with the bytes of an ordinary token
)
NO_BYTES = ("", "\u4e2d", "low low")  # entries of a vocabulary to which no text is encoded
PADDING = {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 258}
PADDING |= {"pad_type_id": 0, "pad_token": PAD}
TRUNCATION = {"direction": "Left", "max_length": 800, "strategy": "LongestFirst", "stride": 0}
LLAMA = {"type": "Sequence", "processors": [byte_level(), template("BOS A", "BOS A BOS B:1")]}
BLOOM = sequence(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), byte_level(use_regex=False))
FALCON = sequence(
    {"type": "Punctuation", "behavior": "Contiguous"},
    byte_level(),
    {"type": "Digits", "individual_digits": False},
    split("[0-9][0-9][0-9]"),
)
SUPERBPE = sequence(split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))"), byte_level(use_regex=False))
LOOSE = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"

FAMILIES = [
    edited("RoBERTa", True, post_processor=roberta(), added=[MASKS]),
    edited("RoBERTa with a prefix space", pre_tokenizer=byte_level(add_prefix_space=True),
           post_processor=roberta(add_prefix_space=True), added=[MASKS]),
    edited("NeoX", True, normalizer=NFC, post_processor=byte_level(trim_offsets=True), added=SPACES, without="ÀÁõÿ"),
    edited("Llama 3", True, pattern="llama3", ignore_merges=True, post_processor=LLAMA),
    edited("Qwen2", True, pattern="qwen2", normalizer=NFC),
    edited("ModernBERT", normalizer=NFC, post_processor=template("BOS A EOS", "BOS A EOS B EOS"), added=SPACES),
    edited("DeBERTa", post_processor=template("BOS A EOS", "BOS A EOS B:1 EOS:1")),
    edited("OPT", post_processor=template("EOS A", "EOS A EOS B")),
    edited("Nougat", normalizer=NFKC, post_processor=template("BOS A EOS", "BOS A B EOS")),
    edited("BLOOM", pre_tokenizer=BLOOM),
    edited("Falcon", pre_tokenizer=FALCON),
    edited("SuperBPE", pre_tokenizer=SUPERBPE),
    edited("LLaDA", pre_tokenizer=sequence(split(LOOSE), byte_level(use_regex=False))),
    edited("OLMo 2", pre_tokenizer=sequence(split(LOOSE, "Removed"), byte_level(use_regex=False))),
    edited("flags of added tokens", True, added=FLAGGED),
    edited("flags of added tokens, NFC", normalizer=NFC, added=FLAGGED),
    edited("Whisper", True, behind=dict.fromkeys(NO_BYTES, 0), added=[MASKS],
           post_processor=template("BOS A EOS", "BOS A B EOS"),
           decoder={"type": "Sequence", "decoders": [byte_level()]}),
    edited("padding and truncation", padding=PADDING, truncation=TRUNCATION),
    edited("unused ids", behind={MASKS["content"]: 16}, added=[MASKS]),
    edited("lower case", normalizer={"type": "Lowercase"}),
    edited("no config", settings={}),
]  # fmt: skip
TRAINED = [
    trained("train", True),
    trained("add_bos_token", True, add_bos_token=True),
    trained("add_bos_token, add_eos_token", add_bos_token=True, add_eos_token=True),
    trained("NFC", normalizer="NFC"),
    trained("normalizers", True, normalizer={"type": "Sequence", "normalizers": [NFKC, SPACE, STRIP]}),
    trained("huggingface ties", tie_break="huggingface"),
    trained("no pattern", pattern=None),
    trained("own pattern", pattern=r"\p{L}+|\p{N}{1,2}|[^\p{L}\p{N}]"),
    trained("add_prefix_space", add_prefix_space=True),
    trained("unk_token", unk_token="<unk>", initial_alphabet="observed"),
    trained("superwords", is_quick=True, vocab_size=420, superwords=Superwords(after=80)),
    trained("extra special tokens", extra_special_tokens=["<image>", "<|im_start|>"]),
    *(trained(f"pattern {name}", name == "o200k", pattern=name) for name in api.PATTERN_NAMES if name != "gpt2"),
]


def gpt2_of_training(folder):
    BPETokenizer.train(CORPUS, num_merges=120, special_tokens=["<|endoftext|>"]).save_vocabulary(folder)
    return folder


def real(name, is_quick=False, kind="folder"):
    return Artifact(name, kind, lambda _: DATA / "tokenizers" / name, is_quick)


def encoding(name, is_quick=False, kind="encoding"):
    """Return an encoding as `tiktoken_ext.openai_public` defines it, with the ranks of the test data."""

    def ranks(path, **_):
        lines = (DATA / "tiktoken" / Path(path).name).read_bytes().splitlines()
        return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}

    def make(_):
        import tiktoken
        import tiktoken_ext.openai_public as public

        with mock.patch.object(public, "load_tiktoken_bpe", ranks):
            return tiktoken.Encoding(**getattr(public, name)())

    return Artifact(name, kind, make, is_quick)


SMALL_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s"""
)
"""The pattern of cl100k as tiktoken writes it."""


def small_encoding(_):
    """Return an encoding of tiktoken with cl100k's pattern and special tokens whose ids are far after the others."""
    import tiktoken

    model = BPETokenizer.train([*CORPUS, "12 123 1234 12345 99"], num_merges=150, pattern="cl100k").model
    ranks = {token: rank for rank, token in model.vocab.items()}
    special = {"<|endoftext|>": len(ranks) + 5, "<|fim_prefix|>": len(ranks) + 7}
    return tiktoken.Encoding("small", pat_str=SMALL_CL100K, mergeable_ranks=ranks, special_tokens=special)


def without_code(folder):
    """Copy InternLM 2's folder without its own classes, which transformers runs only with `trust_remote_code`."""
    files = DATA / "tokenizers" / "internlm2"
    config = json.loads((files / "tokenizer_config.json").read_text("utf-8"))
    folder.joinpath("tokenizer.json").write_bytes((files / "tokenizer.json").read_bytes())
    config |= {"tokenizer_class": "PreTrainedTokenizerFast"}
    del config["auto_map"]
    folder.joinpath("tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return folder


def unnamed_unk_token(folder):
    """Write a `tokenizer.json` whose model has an unk_token for bytes without a token, which nothing else names."""
    plain = BPETokenizer.train(CORPUS, num_merges=120, unk_token="<unk>", initial_alphabet="observed", **SETTINGS)
    return write_folder(folder, json.loads(plain.backend_tokenizer.to_str()), SETTINGS)


def gemma(folder):
    """Write the file of Gemma 1 and 2, small: the tab has the place of the token of its byte."""
    settings = {**SETTINGS, "unk_token": "<unk>", "add_bos_token": True}
    plain = BPETokenizer.train(CORPUS, num_merges=120, byte_fallback=True, **settings)
    content = json.loads(plain.backend_tokenizer.to_str())
    content["model"]["vocab"]["\t"] = content["model"]["vocab"].pop("<0x09>")
    content["model"]["merges"] = [["\t", "\t"], *content["model"]["merges"]]
    content["model"]["vocab"]["\t\t"] = len(content["model"]["vocab"])
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    text = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    content |= {
        "normalizer": space,
        "pre_tokenizer": {**split("", "MergedWithPrevious"), "pattern": {"String": " "}},
        "decoder": {"type": "Sequence", "decoders": [text, {"type": "ByteFallback"}, {"type": "Fuse"}]},
    }
    content["model"]["fuse_unk"] = True
    return write_folder(folder, content, settings)


OF_CHARACTERS = ("mistral_v0_1", "gemma3", "internlm2", "Gemma 2")
"""Those whose alphabet is characters, which fewer formats can hold."""


def with_suffixes(folder):
    """Write a `tokenizer.json` of BPE whose tokens say where words end, as CLIP's do."""
    model = {"type": "BPE", "end_of_word_suffix": "</w>", "vocab": {"l": 0, "l</w>": 1}, "merges": []}
    return write_folder(folder, {"version": "1.0", "added_tokens": [], "model": model}, {})


REAL = [
    *(real(name, True) for name in ("florence", "gpt_neox", "minimind")),
    *map(real, ("claude", "command_r_plus", "deepseek_v3", "gpt35turbo", "gptoss", "llama3_1", "mistral_nemo")),
    *map(real, ("olmo", "qwen3", "swe_gpt")),
    *(real(name, name == "mistral_v0_1") for name in ("mistral_v0_1", "gemma3")),
    Artifact("internlm2", "folder", without_code, False),
    Artifact("GPT-2's files", "gpt2", lambda _: DATA / "gpt2", False),
    encoding("cl100k_base", True),
    *map(encoding, ("r50k_base", "o200k_base")),
    encoding("o200k_harmony", kind="refused encoding"),  # two of its special tokens have the same id
]
ARTIFACTS = {
    each.name: each
    for each in (
        *TRAINED,
        *FAMILIES,
        Artifact("Gemma 2", "folder", gemma, True, group="families"),
        Artifact("unk_token of the model alone", "folder", unnamed_unk_token, True, group="families"),
        Artifact("CLIP", "refused", with_suffixes, group="families"),
        Artifact("GPT-2's files, small", "gpt2", gpt2_of_training, group="trained"),
        Artifact("cl100k, small", "encoding", small_encoding, group="trained"),
        *(REAL if DATA else ()),
    )
}
"""Name → artifact: all that can be made here."""
