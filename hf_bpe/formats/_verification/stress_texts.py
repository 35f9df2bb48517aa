"""Stress texts, in which tokenizers are known to differ, and the reduction of a text to a differing part."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from hf_bpe.encoding._encoder import as_tuples
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._token_bytes import token_bytes
from hf_bpe.formats._definition import Definition, encoding_options
from hf_bpe.pretokenizers._pattern import WHITE_SPACE

# No code points that Unicode 16.0 leaves unassigned, because libraries may differ there; no lone surrogates.
STRESS_TEXTS = (
    "The quick brown fox jumps over the lazy dog. Low, lower, lowest; newest and widest!",
    "It's IT'S it’s we'll WE'LL I've I'VE you're YOU'RE I'm I'M he'd HE'D don't DON'T 'tis o'clock ''s 'ſ 's'S's",
    "camelCase HTMLParser snake_case McDonald's ǅ ŉ K ʕʔ ﬁ naïve café Größe ΑΣ ΣΑΣ İstanbul ıIiİ",
    "1 12 123 1234 12345 3.14159 1,000,000 0x1F ½ ² Ⅷ ٣٤٥ ०१२३ 〇一二三 𝟙𝟚𝟛 9a a9 9th",
    "你好，世界！汉字 漢字かな交じり文カタカナﾊﾝｶｸ 한국어 한글 ㄱㄴ 𠀀𪚥",
    "Привет, мир! Ελληνικά ʻōlelo עִבְרִית العَرَبِيَّة فارسی हिन्दी বাংলা தமிழ் ไทยคำ ລາວ မြန်မာ ខ្មែរ አማርኛ ქართული",
    "e\u0301 é a\u0301\u0323b A\u030a Å \u0301 \u0301\u0301x 1\u0301 !\u0301 q\u0307\u0323 Z\u0351 नि\u200dक्षि",
    "👋 👋🏽 👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🇫🇷🇩🇪 1\ufe0f⃣ ❤\ufe0f ☺ 🧑🏿\u200d🚀😀😀",
    "x\u200by z\u200d\u200c\u2060\ufeff\u00ad\u200e\u202e\u2066 \ufffd \ufffc \ue000 \U000f0000",
    "".join(map(chr, range(32))) + "\x7f" + "".join(map(chr, range(0x80, 0xA0))),
    "a" + "a".join(WHITE_SPACE) + "a " + " ".join(WHITE_SPACE) + "a",
    "  ".join(("", "two", " three", "\n", "\n\n", "\r\n", "\r", "\t", "\t \t", "! \n", "1 \n 2", "")),
    " leading and trailing  ",
    "\n\nlines\n\n\nand more \n \n  indented\n\ttabs\t\tend\r\n\r\nwindows\r\n",
    "if (x <= y && !z) { return a[i]->b.c(\"s\\n\", 'c'); } // end\n/* … */ #include <stdio.h>\n",
    "def f(self, *args, **kw):\n    return {k: v for k, v in kw.items() if k != '_'}  # ok\n\n\n@x\nλ = lambda: ...\n",
    'https://example.org/a/b?c=d&e=%20#f a.b@c.de C:\\dir\\x.y <br/> &amp; $1.50 50% ~/.x `y` [z](w) "q" «r» “s” „t“',
    "?!?! ... ---- ==== //// \\\\ ___ *** +++ ,,, ;:;: ()[]{}<> ¿¡ § ± × ÷ € £ ¥ ₿ ← ∑∫√ ∞ ☃ ♫",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + "ab" * 40 + "=" * 70,
    "▁low ▁ ▁▁low▁er\n▁<0x41><0xE2> 1▁1 </▁>▁",  # how SentencePiece writes spaces and bytes
)
"""The stress texts for every tokenizer."""

MAX_AROUND = 64
"""How many texts to try with special tokens around them and in pairs, which depends on no text."""

_TOKENS_A_TEXT = 64
_NOT_UTF8 = re.compile("[\\udc80-\\udcff]")

INVALID_BYTES = (
    b"\xff low \xfe\xfe",
    b"caf\xc3 caf\xc3\xa9 \xe4\xbd",
    b"\xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf",
    bytes(range(256)),
)
"""The stress texts for tokenizers that take bytes."""


def stress_texts(definition: Definition) -> list[str]:
    """Return the stress texts, and the tokenizer's own added tokens in every context.

    Texts that the tokenizer refuses, because a byte has no token and is not dropped or replaced, are left out.
    """
    is_whole = _knows_all(definition)
    alphabet = set() if is_whole else {token[0] for token in definition.model.vocab.values() if len(token) == 1}

    def encodable(text: str) -> str:
        return text if is_whole else "".join(char for char in text if alphabet.issuperset(char.encode()))

    tokens = [token.content for token in definition.added_tokens.values()]
    word, space, gap, line, digit, stop = map(encodable, ("low", " ", "  ", "\n", "1", "."))
    around = [
        f"{token}{other}{word}{token}{word}{space}{token}{space}{word}{gap}{token}{line}"
        f"{token}{token}{digit}{token}{stop}"
        for token, other in pairwise([*tokens, *tokens[:1]])
    ]
    texts = [*map(encodable, STRESS_TEXTS), *("".join(around[start : start + 8]) for start in range(0, len(around), 8))]
    if is_whole:
        return texts
    encoder = make_encoder(definition.model, as_tuples(definition.added_tokens.items()))
    options = encoding_options(definition.settings)

    def is_encoded(text: str) -> bool:  # an added token that is not found may be text that the tokenizer refuses
        try:
            encoder.encode(text, options)
        except ValueError:
            return False
        return True

    return [*filter(is_encoded, texts)]


def vocabulary_texts(definition: Definition, max_tokens: int | None = None) -> list[str]:
    """Return texts of tokens that are text, once with several tokens per line and once with one.

    Of a larger vocabulary at most `max_tokens` are taken, at regular intervals; None for all tokens.
    """
    if max_tokens == 0:
        return []
    step = max(-(-definition.model.vocab_size // max_tokens), 1) if max_tokens else 1
    chosen = token_bytes(definition.model, step).values()
    decoded = (token.decode("utf-8", "surrogateescape") for token in chosen)
    tokens = [text for text in decoded if text.isascii() or not _NOT_UTF8.search(text)]
    groups = [tokens[start : start + _TOKENS_A_TEXT] for start in range(0, len(tokens), _TOKENS_A_TEXT)]
    knows_newline = _knows_all(definition) or b"\n" in definition.model.vocab.values()
    return ["".join(group) for group in groups] + ["\n".join(group) for group in groups if knows_newline]


def _knows_all(definition: Definition) -> bool:
    """Return whether the tokenizer accepts every text."""
    model = definition.model
    return definition.setting("unk_token") is not None or not model.refuses_bytes


def shrunk(text: str, differs: Callable[[str], bool]) -> str:
    """Return a differing part of a text that cannot be reduced by halving or by removing an end."""
    while len(text) > 1:
        half = len(text) // 2
        part = next(filter(differs, (text[:half], text[half:], text[1:], text[:-1])), None)
        if part is None:
            break
        text = part
    return text
