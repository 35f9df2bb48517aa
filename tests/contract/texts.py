"""The texts that are compared: what tokenizers are known to read differently, and some real text."""

import os
import random
from pathlib import Path

TEXTS = {
    "empty": "",
    "a space": " ",
    "words": "The quick brown fox jumps over the lazy dog.",
    "numbers": "1 12 123 1234 1234567 12345678901234567890 1,234.56 3.14159e-10 ½ Ⅷ １２３４５ ٣٤٥٦ 1st",
    "digits of other scripts": "०१२३४५६७८९ ০১২৩৪৫ 𝟏𝟐𝟑𝟒 ②③④⑤ 五六七八",
    "contractions": "I'm you're he's we'll they've I'd can't 'tis",
    "contractions in capitals": "I'M YOU'RE HE'S WE'LL THEY'VE I'D CAN'T 'ſ 'S's",
    "runs of spaces": "a  b   c    d        e                f  ",
    "spaces around": "   low  ",
    "tabs": "\tif x:\n\t\treturn\t\t1\t",
    "line breaks": "a\nb\n\nc\n\n\nd\r\ne\r\n\r\nf\rg\r\r",
    "spaces before line breaks": "a \n b  \n\n  c \r\n \r d\n ",
    "other white space": "a\u00a0b\x85c\u2003d\u2028e\u3000f\x0bg\x0ch\x1ci\u200bj\ufeffk",
    "combining marks": "cafe\u0301 n\u0303 o\u0308\u0323 \u0301alone e\u0301\u0301 \u212b \u1e9b\u0323",
    "emoji": "👩🏽\u200d🚀 👨\u200d👩\u200d👧\u200d👦 🇩🇪🇫🇷 ❤\ufe0f 1\ufe0f\u20e3",
    "Chinese": "你好，世界！我们用两三个词。一龥\u9fa6々",
    "Japanese": "日本語のテキスト、アイウエオ。ゟ゠ヿ・ー",
    "Hangul jamo": "\u1112\u1161\u11ab\u1100\u1173\u11af 한글",
    "right to left": "שלום עולם مرحبا بالعالم ﷺ \u200fabc\u200e",
    "Indic": "नमस्ते दुनिया বাংলা ไทยภาษา",
    "case": "camelCase HTMLParser ǅ İstanbul ſtraße ﬁne ΣΊΣΥΦΟΣ ǆ K",
    "NUL": "a\x00b\x00\x00 \x00",
    "control characters": "\x01\x02\x04\x05\x1b[0m\x7f",
    "private use": "\ue000\uf8ff\U000f0000\U0010fffd\ufffe",
    "code": "def f(x: int) -> str:\n    return f'{x!r}' + \"\\n\"  # 100%\n\n\nif __name__ == '__main__':\n    f(1)\n",
    "markup": '<p class="a">&amp; https://example.org/?q=1&r=%20#x</p>\n\n| a | b |\n|---|---|\n',
    "punctuation": "... !!! ?! -- --- ___ ((())) [[]] {{}} «» “” ‘’ ¿ ¡ … — //// \\\\ $€£ ++= ~~~",
    "a long word": "pneumonoultramicroscopicsilicovolcanoconiosis" * 5,
    "one letter": "a" * 300,
    "a newer script": "\U00010d4e\U000105c9 \U0001fae9",
    "math": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ∑∫√ xⁿ² H₂O ｆｕｌｌ",
    "names of special tokens": "<|endoftext|> <s></s> <mask> <|im_start|>user\n<unk><pad> [INST]",
    "a lone surrogate": "a\ud83d b",
}
"""Name → text."""

QUICK = (
    *("empty", "words", "numbers", "contractions in capitals", "runs of spaces", "tabs", "line breaks"),
    *("combining marks", "emoji", "other white space", "a lone surrogate", "names of special tokens"),
)
"""The texts of the quick form."""

FEW = ("numbers", "spaces around", "tabs", "combining marks", "names of special tokens")
"""The texts that are compared again after a tokenizer was saved, copied or converted."""


def with_added_tokens(tokens):
    """Return texts in which added tokens stand alone, glued to words, to each other, and between spaces."""
    few = [*tokens][:6]
    texts = {f"the added token {token!r}": f"low{token} {token}  er{token}{token}\n{token}" for token in few[:3]}
    return {"added tokens": " and ".join(few) + "".join(few), **texts} if few else {}


def samples(data, number):
    """Return pieces of the real texts in a folder of test data: code, prose, and a hundred languages."""
    if data is None:
        return {}
    found = {}
    for name in ("english", "code", "multilingual", "nonlatin", "docs"):
        path = Path(data) / "text" / f"{name}.txt"
        places = random.Random(name).sample(range(path.stat().st_size - 600), number)
        with path.open("rb") as file:
            for place in places:
                file.seek(place, os.SEEK_SET)
                found[f"{name} from byte {place}"] = file.read(500).decode("utf-8", "ignore")
    return found
