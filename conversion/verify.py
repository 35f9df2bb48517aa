"""Verification of a saved folder: every loader must give the ids of the tokenizer that was saved.

The loaders are the three that people use: BPETokenizer, `tokenizers`, and what transformers falls back to where hf_bpe
is not installed. They are compared on texts in which tokenizers are known to differ.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_bpe.patterns import PATTERNS, WHITE_SPACE, split

if TYPE_CHECKING:
    from hf_bpe.tokenization_bpe import BPETokenizer

_Encode = Callable[[str, "str | None", bool], list[int]]

# Nothing that Unicode 16.0 leaves unassigned, for there libraries of another version may differ; no lone surrogate.
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
)
"""What every tokenizer is stressed with."""


def verify_folder(folder: str | os.PathLike[str], tokenizer: BPETokenizer) -> None:
    r"""Load a folder in each way that people do, and compare vocabulary and ids with those of the tokenizer.

    Args:
        folder: what `save_pretrained` wrote, without a prefix.
        tokenizer: the tokenizer that was saved.

    Raises:
        ValueError: a loader fails, or gives another vocabulary or other ids; the message says which one, for what text.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
    >>> _ = tokenizer.save_pretrained("folder")
    >>> verify_folder("folder", tokenizer)
    >>> verify_folder("folder", BPETokenizer.train(["new"], vocab_size=258))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: BPETokenizer.from_pretrained: token 'ne' has the id None, expected 256; ...
    """
    for name, load in _loaders(Path(folder), tokenizer):
        try:
            loaded = load()
        except Exception as error:  # `tokenizers` raises nothing narrower
            what = f"cannot load the folder: {error}"
        else:
            what = vocabulary_difference(tokenizer, loaded) or ids_difference(tokenizer, loaded) or ""
        if what:
            raise ValueError(
                f"{name}: {what}; what others load would not be this tokenizer. Change what is named here, or, to have "
                "the folder all the same, save with verify=False"
            )


def vocabulary_difference(tokenizer: BPETokenizer, other: Any) -> str | None:
    """Say in what the vocabulary of another tokenizer differs, None if in nothing."""
    expected, got = tokenizer.get_vocab(), other.get_vocab()
    if expected == got:
        return None
    token = next(token for token in [*expected, *got] if expected.get(token) != got.get(token))
    return f"token {token!r} has the id {got.get(token)}, expected {expected.get(token)}"


def ids_difference(tokenizer: BPETokenizer, other: Any) -> str | None:
    """Say for which text another tokenizer gives other ids, None if for no one.

    Args:
        tokenizer: the one that is right.
        other: a tokenizer of transformers or of `tokenizers`.

    The texts are those of `stress_texts`, alone and in pairs, with special tokens added and without.
    """
    ours, theirs = _encoder(tokenizer), _encoder(other, tokenizer)
    texts = stress_texts(tokenizer)
    cases: list[tuple[str, str | None, bool]] = [(text, None, added) for text in texts for added in (False, True)]
    cases += [(text, pair, True) for text, pair in pairwise(texts)]
    for text, pair, added in cases:

        def differs(part: str, pair: str | None = pair, added: bool = added) -> bool:
            try:
                expected = ours(part, pair, added)
            except ValueError:  # a part of a special token, which as text has bytes that the vocabulary lacks
                return False
            return theirs(part, pair, added) != expected

        if differs(text):
            part = _shrunk(text, differs)
            second = "" if pair is None else f" with the second text {pair[:40]!r}"
            how = f"{'with' if added else 'without'} added special tokens{second}"
            return (
                f"{part!r}, {how}, has the ids {_shown(theirs(part, pair, added))}, expected "
                f"{_shown(ours(part, pair, added))}{_pattern_difference(tokenizer.pattern, part)}"
            )
    return None


def stress_texts(tokenizer: BPETokenizer) -> list[str]:
    """Return texts in which tokenizers are known to differ, and the tokenizer's own added tokens in every company.

    What the tokenizer refuses, as it lacks a byte and has no `unk_token`, is left out.
    """
    alphabet = {token[0] for token in tokenizer.model.vocab.values() if len(token) == 1}
    is_whole = tokenizer.unk_token is not None or len(alphabet) == 256

    def known(text: str) -> str:
        return text if is_whole else "".join(char for char in text if alphabet.issuperset(char.encode()))

    tokens = [token.content for token in tokenizer.added_tokens_decoder.values()]
    word, space, gap, line, digit, stop = map(known, ("low", " ", "  ", "\n", "1", "."))
    around = [
        f"{token}{other}{word}{token}{word}{space}{token}{space}{word}{gap}{token}{line}"
        f"{token}{token}{digit}{token}{stop}"
        for token, other in pairwise([*tokens, *tokens[:1]])
    ]
    texts = [*map(known, STRESS_TEXTS), *("".join(around[start : start + 8]) for start in range(0, len(around), 8))]
    if is_whole:
        return texts
    encode = _encoder(tokenizer)  # tokens that are not found where they stand may be text that it refuses
    return [text for text in texts if _encodes(encode, text)]


def _loaders(folder: Path, tokenizer: BPETokenizer) -> Iterator[tuple[str, Callable[[], Any]]]:
    from tokenizers import Tokenizer
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

    ours = type(tokenizer)
    yield f"{ours.__name__}.from_pretrained", lambda: ours.from_pretrained(folder, local_files_only=True)
    yield "tokenizers.Tokenizer.from_file", lambda: Tokenizer.from_file(str(folder / "tokenizer.json"))
    # AutoTokenizer comes to this where it does not know our class.
    fast = PreTrainedTokenizerFast
    yield "PreTrainedTokenizerFast.from_pretrained", lambda: fast.from_pretrained(folder, local_files_only=True)


def _encoder(tokenizer: Any, settings: BPETokenizer | None = None) -> _Encode:
    """Return a function of text, second text and whether special tokens are added, which gives the ids."""
    from tokenizers import Tokenizer

    if isinstance(tokenizer, Tokenizer):
        if settings is not None:  # which tokenizer.json has no place for
            tokenizer.encode_special_tokens = settings.split_special_tokens
        return lambda text, pair, added: list(tokenizer.encode(text, pair, add_special_tokens=added).ids)
    # verbose: to be told of a text longer than model_max_length is for the user's own calls.
    return lambda text, pair, added: list(
        tokenizer(text, pair, add_special_tokens=added, verbose=False)["input_ids"],
    )


def _encodes(encode: _Encode, text: str) -> bool:
    try:
        encode(text, None, True)
    except ValueError:
        return False
    return True


def _shrunk(text: str, differs: Callable[[str], bool]) -> str:
    """Return a part of a text that differs and of which no half, nor all but one end, does."""
    while len(text) > 1:
        half = len(text) // 2
        part = next(filter(differs, (text[:half], text[half:], text[1:], text[:-1])), None)
        if part is None:
            break
        text = part
    return text


def _shown(ids: list[int]) -> str:
    return str(ids) if len(ids) <= 16 else f"{str(ids[:16])[:-1]}, …] ({len(ids)} ids)"


def _pattern_difference(pattern: str | None, text: str) -> str:
    """Say how a pattern of one's own splits text where tokenizer.json is read, if otherwise than here."""
    if pattern is None or pattern in PATTERNS:
        return ""
    from tokenizers import Regex, pre_tokenizers

    splitter = pre_tokenizers.Split(Regex(pattern), "isolated")
    theirs = [piece for piece, _ in splitter.pre_tokenize_str(text)]
    ours = split(text, pattern)
    if ours == theirs:
        return ""
    return (
        f". The pattern {pattern!r} splits it into {theirs} there, by Oniguruma, and into {ours} here, by `regex`: "
        "write the pattern so that both agree (`^` and `$`, for example, are ends of lines there)"
    )
