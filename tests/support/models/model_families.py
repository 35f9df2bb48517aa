"""Families of byte-level BPE tokenizers: what their `tokenizer.json` files hold around the merges.

Sources: `models/*/tokenization_*.py` and the converters of transformers 5.23, llama.cpp's `src/llama-vocab.cpp`, and
the files of these models.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from contract.artifacts import BOS, EOS, EXTRA, LOOSE, NFC, byte_level, roberta, template, with_ids
from tokenizers import AddedToken, Tokenizer

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.pretokenizers import CHAINS, NAMES, PATTERNS, ByteLevel, Digits, Pattern, PreTokenizer, Punctuation, Split
from hf_bpe.pretokenizers._named_patterns import KIMI_K2_OF_ITS_CODE, WITH_SCANNER
from support.strategies import CONTRACTIONS, NUMBERS, OTHERS, UNKNOWN, WORDS
from support.strategies import SPACES as WHITE_SPACE

PREFIXED, TRIMS = byte_level(add_prefix_space=True), byte_level(trim_offsets=True)
LETTERS = (
    r"A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376"
    r"\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-"
    r"\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a"
    r"\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4"
    r"\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
    r"\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
    r"\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b"
    r"\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
    r"\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-"
    r"\x{118df}\x{1e900}-\x{1e943}"
)
"""The letters with case, as the files of DeepSeek V2 list them."""


@dataclass(frozen=True)
class Family:
    """The files of a family around vocabulary and merges.

    Attributes:
        pre_tokenizer: the stages.
        post_processor: TemplateProcessing and so on, without its special tokens' ids.
        normalizer: the normalizer.
        ignore_merges: the option of the model.
        added: added tokens beyond the special ones.
        without: bytes that the vocabulary lacks.
    """

    pre_tokenizer: tuple
    post_processor: dict | None = field(default_factory=lambda: PREFIXED)
    normalizer: dict | None = None
    ignore_merges: bool = False
    added: tuple = ()
    without: bytes = b""


def one(expression, *how, **options):
    return (Split(expression, *how, **options), ByteLevel())


GPT2 = (ByteLevel(use_regex=True),)
DIGITS = (Digits(individual_digits=True), ByteLevel(use_regex=True))
SPACES = tuple(AddedToken(" " * size, normalized=True) for size in (2, 3, 8, 24))
MASK = AddedToken("<mask>", special=True, normalized=False, lstrip=True)
REMOVED = ("Removed", True)
DEEPSEEK_V2 = (
    Split(r"[\r\n]"),
    Split(rf"\s?[{LETTERS}]+"),
    Split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"),
    Split(r"\s+$"),
    Split("[一-龥ࠀ-一가-퟿]+"),
    Digits(individual_digits=True),
    ByteLevel(),
)
DEEPSEEK_CODER = (
    Split(r"[\r\n]"),
    Split(r"\s?\p{L}+"),
    Split(r"\s?\p{P}+"),
    Split("[一-龥ࠀ-一가-퟿]+"),
    Digits(individual_digits=True),
    ByteLevel(),
)
SPARK = (
    *CHAINS["deepseek-v3"].stages[:2],
    Split(
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
        r"""| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+"""
    ),
    Digits(individual_digits=True),
    ByteLevel(),
)
SEED_CODER = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
)
EXAONE_MOE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
)
FALCON = (Punctuation("Contiguous"), ByteLevel(use_regex=True), Digits(), Split("[0-9][0-9][0-9]"))
AYA = r"\d{1,3}(?=(?:\d{3})*\b)"

FAMILIES = {
    "Qwen2, 2.5, 3": Family(one(PATTERNS["qwen2"]), normalizer=NFC),
    "Qwen3-Embedding": Family(one(PATTERNS["qwen2"]), normalizer=NFC, post_processor=template("A EOS", "A B EOS")),
    "GPT-2": Family(GPT2),
    "OPT": Family(GPT2, post_processor=template("EOS A", "EOS A EOS B")),
    "Pythia, NeoX": Family(GPT2, normalizer=NFC, post_processor=TRIMS, added=SPACES, without=b"\xc0\xc1\xf5\xff"),
    "ModernBERT": Family(GPT2, normalizer=NFC, post_processor=template("BOS A EOS", "BOS A EOS B EOS"), added=SPACES),
    "RoBERTa, BART": Family(GPT2, post_processor=roberta(), added=(MASK,)),
    "RoBERTa with a prefix space": Family(
        (ByteLevel(add_prefix_space=True, use_regex=True),),
        post_processor=roberta(add_prefix_space=True),
        added=(MASK,),
    ),
    "Qwen3.5": Family(one(PATTERNS["qwen3.5"]), normalizer=NFC),
    "Llama 3": Family(
        one(PATTERNS["llama3"]),
        ignore_merges=True,
        post_processor={"type": "Sequence", "processors": [PREFIXED, template("BOS A", "BOS A BOS B:1")]},
    ),
    "DeepSeek V3, R1": Family(
        CHAINS["deepseek-v3"].stages, added=(AddedToken("<｜User｜>", normalized=True), AddedToken("<think>"))
    ),
    "gpt-oss, Llama 4": Family(one(PATTERNS["o200k"]), ignore_merges=True),
    "Mistral Nemo (Tekken), Nemotron 3": Family(
        one(PATTERNS["tekken"]), ignore_merges=True, post_processor=template("BOS A", "BOS A BOS B:1")
    ),
    "SmolLM, StarCoder": Family(DIGITS, without=b"\x04\x05\x06\xc0\xf5\xff"),
    "Command R": Family(DIGITS, normalizer=NFC, post_processor=template("BOS A", "BOS A B")),
    "numbers before GPT-2": Family((Digits(), ByteLevel(use_regex=True))),
    "Kimi K2": Family(one(KIMI_K2_OF_ITS_CODE)),
    "OLMo 2, phi-4": Family(one(PATTERNS["llama3"], *REMOVED)),
    "MiniCPM5": Family(CHAINS["minicpm5"].stages),
    "MiniMax M2, Phi-4-mini": Family(one(PATTERNS["o200k"], *REMOVED), normalizer=NFC),
    "DeepSeek V2, LLM": Family(DEEPSEEK_V2),
    "DeepSeek Coder": Family(DEEPSEEK_CODER),
    "Spark-X2.5": Family(SPARK),
    "Seed-Coder": Family(one(SEED_CODER)),
    "EXAONE MoE": Family(one(EXAONE_MOE)),
    "SuperBPE": Family((Split(r"\p{N}+"), Split(r"(?=(\d{3})+(?!\d))"), ByteLevel())),
    "Laguna": Family((Split(r"[\r\n]+", "MergedWithNext"), Split(PATTERNS["qwen2"]), ByteLevel())),
    "BLOOM": Family(one(r" ?[^(\s|[.,!?…。，、।۔،])]+")),
    "LLaDA, Ling": Family(one(LOOSE)),
    "Falcon": Family(FALCON),
    "Whisper": Family(GPT2, post_processor=template("BOS EXTRA A EOS", "BOS EXTRA A B EOS")),
    "DeBERTa": Family(GPT2, post_processor=template("BOS A EOS", "BOS A EOS B:1 EOS:1")),
    "Nougat": Family(GPT2, normalizer={"type": "NFKC"}, post_processor=template("BOS A EOS", "BOS A B EOS")),
    "tiny-aya": Family((Split(AYA), ByteLevel(use_regex=True))),
}


TRAPS = [
    *(*CONTRACTIONS, *WORDS, *NUMBERS, *OTHERS, *UNKNOWN, *WHITE_SPACE, BOS, EOS, "<think>", "<mask>", "<｜User｜>"),
    *("  ", "   ", " " * 8, " " * 24, "\n \n", "  \n", "\r\n\r\n", "\t\t", "\x04", "\x05\x06", "\ufeff", "\u200d"),
    *("12", "1234567", "１", "Ⅷ", "'S", "ſ", "\u212a", "ǅ", "camelCase", "HTMLParser", "/", "😀", "\U00020000"),
    *("你好", "一龥\u9fa6", "日本", "アイ", "ゟ゠ヿ", "中・文", "々", "한글", "\u1112\u1161\u11ab", "ไทย", "नि", "ﷺ"),
    *("e\u0301", "(", "|", ")", "[", "]", "！", "：", "，", "。", "、", "…", "،", "।", "۔"),
]
"""What the chains, normalizers and added tokens of the families tell apart, or read differently elsewhere."""

_CHARACTERS = [*range(0x80, 0x3400, 7), 0x1F600, 0x20000]


def nasty_strings(number: int, seed: int) -> Iterator[str]:
    """Yield strings of traps, and now and then of one character of any script."""
    rng = random.Random(seed)
    for _ in range(number):
        parts = rng.choices(TRAPS, k=rng.randrange(1, 9))
        if rng.random() < 0.3:
            parts.insert(rng.randrange(len(parts) + 1), chr(rng.choice(_CHARACTERS)))
        yield "".join(parts)


def tokenizer_json(family: Family, model: BPEModel) -> str:
    """Return the `tokenizer.json` of a family over the vocabulary and merges of a model."""
    missing = {bytes([byte]) for byte in family.without}
    merges = [merge for merge in model.merges if not any(byte in part for byte in missing for part in merge)]
    kept = {token_id: token for token_id, token in model.vocab.items() if not any(byte in token for byte in missing)}
    specials = {special.encode() for special in model.special_tokens}
    tokens = [token for token in kept.values() if token not in specials]  # renumbered, without a gap
    size = len(tokens)
    names = (BOS, EOS, EXTRA)
    vocab = dict(enumerate([*tokens, *map(str.encode, names)]))
    plain = BPEModel(vocab, merges, names, None, family.ignore_merges, drop_missing_bytes=bool(missing))
    added = {size + number: AddedToken(name, special=True, normalized=False) for number, name in enumerate(names)}
    added |= {size + len(names) + number: token for number, token in enumerate(family.added)}
    content = json.loads(BPETokenizer(model=plain, added_tokens_decoder=added).backend_tokenizer.to_str())
    ids = {name: size + number for number, name in enumerate(names)}
    content |= {
        "pre_tokenizer": PreTokenizer(family.pre_tokenizer).to_json(),
        "normalizer": family.normalizer,
        "post_processor": with_ids(family.post_processor, ids),
    }
    return json.dumps(content, ensure_ascii=False)


def load(family: Family, model: BPEModel) -> tuple[Tokenizer, BPETokenizer]:
    """Return what `tokenizers` and hf_bpe make of a family over a model."""
    content = tokenizer_json(family, model)
    return Tokenizer.from_str(content), BPETokenizer.convert_from(Tokenizer.from_str(content))


def table() -> str:
    """Return the table of docs/explanation/which-tokenizers-load.md."""
    rows = [("family", "pattern", "split by", "besides"), ("---",) * 4]
    for name, family in FAMILIES.items():
        pattern = Pattern.parse(family.pre_tokenizer).canonical
        chain = " → ".join(type(stage).__name__ for stage in family.pre_tokenizer)
        if pattern in NAMES:
            shown = f"`{pattern}`"
        else:
            shown = "`gpt2`, `add_prefix_space`" if len(family.pre_tokenizer) == 1 else chain
        split_by = "scanner" if pattern is None or pattern in WITH_SCANNER else "expressions"
        rows.append((name, shown, split_by, _besides(family)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _besides(family: Family) -> str:
    parts = [family.normalizer["type"]] if family.normalizer else []
    processors = family.post_processor.get("processors", [family.post_processor])
    parts += [each["type"] for each in processors if each["type"] != "ByteLevel"]
    parts += ["trimmed offsets"] if any(each.get("trim_offsets") for each in processors) else []
    parts += ["ignore_merges"] if family.ignore_merges else []
    parts += ["missing bytes"] if family.without else []
    parts += ["added tokens of spaces"] if family.added == SPACES else []
    parts += ["added tokens with white space"] if any(token.lstrip for token in family.added) else []
    parts += ["normalized added tokens"] if family.added != SPACES and any(t.normalized for t in family.added) else []
    return ", ".join(parts)
