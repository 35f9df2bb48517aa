r"""The character properties that split expressions may name (`\p{…}`, `[:…:]`), as Oniguruma defines them.

Each was compared over all code points: here and in `tokenizers` it has the characters of Unicode 16.0. Properties whose
characters Unicode has changed since, and blocks (`In_…`), are missing.
"""

from __future__ import annotations

import base64
import zlib
from bisect import bisect_left, bisect_right
from functools import lru_cache

import regex

from hf_bpe.pretokenizers._regex.tree import (
    ANYTHING,
    CharacterSet,
    Complement,
    Intersection,
    Property,
    Ranges,
    Union,
    complement_of,
    intersection_of,
    ranges_of,
    union_of,
)

_CATEGORIES = """
    C=Other Cc=Control Cf=Format Cn=Unassigned Co=Private_Use Cs=Surrogate L=Letter LC=Cased_Letter
    Ll=Lowercase_Letter Lm=Modifier_Letter Lo=Other_Letter Lt=Titlecase_Letter Lu=Uppercase_Letter M=Mark
    Mc=Spacing_Mark Me=Enclosing_Mark Mn=Nonspacing_Mark N=Number Nd=Decimal_Number Nl=Letter_Number No=Other_Number
    P=Punctuation Pc=Connector_Punctuation Pd=Dash_Punctuation Pe=Close_Punctuation Pf=Final_Punctuation
    Pi=Initial_Punctuation Po=Other_Punctuation Ps=Open_Punctuation S=Symbol Sc=Currency_Symbol Sk=Modifier_Symbol
    Sm=Math_Symbol So=Other_Symbol Z=Separator Zl=Line_Separator Zp=Paragraph_Separator Zs=Space_Separator
"""
_SCRIPTS = """
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo
    Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common
    Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs
    Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema
    Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi
    Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki
    Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic
    Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao
    Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu
    Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian
    Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa
    Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian
    Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil
    Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho
    Warang_Citi Yezidi Yi Zanabazar_Square
"""
_BINARY = """
    Alphabetic Assigned Cased Dash Default_Ignorable_Code_Point Emoji Emoji_Component Emoji_Modifier
    Emoji_Modifier_Base Emoji_Presentation Extender Grapheme_Base Grapheme_Extend ID_Continue ID_Start Ideographic
    Join_Control Lowercase Math Quotation_Mark Regional_Indicator Terminal_Punctuation Unified_Ideograph Uppercase
    White_Space XID_Continue XID_Start
"""

_SHORT_NAMES = {name: short for short, name in (pair.split("=") for pair in _CATEGORIES.split())}
PROPERTIES: tuple[str, ...] = (
    *_SHORT_NAMES.values(),
    *_SCRIPTS.split(),
    *_BINARY.split(),
    *("Alnum", "Blank", "Graph", "Print"),  # Oniguruma and `regex` agree on these names of POSIX
)
"""The names of a `Property`: general categories by their short names, scripts, and binary properties."""

GROUPS: dict[str, tuple[str, ...]] = {
    "LC": ("Ll", "Lt", "Lu"),
    **{
        group: tuple(name for name in _SHORT_NAMES.values() if len(name) == 2 and name[0] == group and name != "LC")
        for group in "CLMNPSZ"
    },
}
"""The general categories that are groups of others."""

SPACE: CharacterSet = Property("White_Space")
DIGIT: CharacterSet = Property("Nd")
HEX_DIGIT: Ranges = ranges_of((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
WORD: CharacterSet = union_of(Property("Alphabetic"), Property("M"), Property("Nd"), Property("Pc"))
# Outside of classes, and for \b, Oniguruma takes all numbers of Latin-1 for word characters: ² ³ ¹ ¼ ½ ¾.
LONE_WORD: CharacterSet = union_of(WORD, ranges_of((0xB2, 0xB3), 0xB9, (0xBC, 0xBE)))

POSIX: dict[str, CharacterSet] = {
    "alnum": Property("Alnum"),
    "alpha": Property("Alphabetic"),
    "ascii": ranges_of((0, 0x7F)),
    "blank": Property("Blank"),
    "cntrl": Property("Cc"),
    "digit": DIGIT,
    "graph": Property("Graph"),
    "lower": Property("Lowercase"),
    "print": Property("Print"),
    "punct": union_of(Property("P"), Property("S")),
    "space": SPACE,
    "upper": Property("Uppercase"),
    "word": WORD,
    "xdigit": HEX_DIGIT,
}


def _plain(name: str) -> str:
    return "".join(char for char in name if char not in " -_").lower()


_NAMED: dict[str, CharacterSet] = {
    **{_plain(name): Property(name) for name in PROPERTIES},
    **{_plain(name): Property(short) for name, short in _SHORT_NAMES.items()},
    **{name: members for name, members in POSIX.items() if name != "punct"},  # \p{Punct} is \p{P}
    "punct": Property("P"),
    "any": ANYTHING,
}


def find_property(name: str) -> CharacterSet | None:
    r"""Return the characters of `\p{name}`; None if the property is unknown.

    Case, spaces, hyphens and underscores do not matter.

    >>> find_property("lowercase letter"), find_property("Klingon")
    (Property(name='Ll'), None)
    """
    return _NAMED.get(_plain(name)) if name.isascii() else None


@lru_cache(maxsize=256)
def without_properties(members: CharacterSet) -> Ranges:
    """Return the characters of a set as ranges of code points.

    >>> len(without_properties(Property("Thai")).ranges)
    2
    """
    match members:
        case Ranges():
            return members
        case Property(name):
            return _property_ranges(name)
        case Complement(member):
            simple = complement_of(without_properties(member))
        case Union(parts):
            simple = union_of(*map(without_properties, parts))
        case Intersection(parts):
            simple = intersection_of(*map(without_properties, parts))
    assert isinstance(simple, Ranges)  # as all its parts are
    return simple


def unassigned() -> tuple[tuple[int, int], ...]:
    """Return the inclusive ranges of the code points that Unicode 16.0 leaves unassigned (general category Cn)."""
    return _property_ranges("Cn").ranges


@lru_cache(maxsize=256)
def _property_ranges(name: str) -> Ranges:
    """Return the characters of a property in Unicode 16.0."""
    if name in GROUPS:
        return ranges_of(*(pair for member in GROUPS[name] for pair in _property_ranges(member).ranges))
    ranges, last = [], 0
    numbers = [int(number, 16) for number in _tables()[name].split(",")]
    for gap, size in zip(numbers[::2], numbers[1::2], strict=True):
        ranges.append((last + gap, last + gap + size))
        last += gap + size
    return Ranges(tuple(ranges))


@lru_cache(maxsize=1)
def _tables() -> dict[str, str]:
    from hf_bpe.pretokenizers._regex.property_tables import PROPERTY_TABLES

    lines = zlib.decompress(base64.b85decode(PROPERTY_TABLES)).decode().splitlines()
    return dict(line.split(" ", 1) for line in lines)


# The characters that differ only in case, as Oniguruma takes `(?i)`.

_CASED = regex.compile(r"[\p{Changes_When_Casefolded}\p{Changes_When_Casemapped}]")
# `regex` takes i, I, İ and ı for variants of each other, because of Turkish; Unicode's default folding does not.
_DOTTED = {"i": "iI", "I": "iI", "ı": "ı"}


@lru_cache(maxsize=1)
def cased_characters() -> str:
    """Return all characters of Unicode 16.0 that have a variant."""
    return "".join(
        char
        for before, after in zip(((-1, -1), *unassigned()), (*unassigned(), (0x110000, 0)), strict=True)
        for char in _CASED.findall("".join(map(chr, range(before[1] + 1, min(after[0], 0x20000)))))
    )


def cased_between(first: int, last: int) -> list[int]:
    """Return the code points of cased characters in an inclusive range.

    >>> cased_between(0x59, 0x62)
    [89, 90, 97, 98]
    """
    cased = cased_characters()
    return [*map(ord, cased[bisect_left(cased, chr(first)) : bisect_right(cased, chr(last))])]


@lru_cache(maxsize=4096)
def variant_codes(code: int) -> tuple[int, ...]:
    """Return the code points of a character's variants, sorted; none if it folds to several characters.

    >>> variant_codes(0x4B), variant_codes(0xDF)
    ((75, 107, 8490), ())
    """
    char = chr(code)
    return () if folds_to_several(char) else tuple(sorted(map(ord, case_variants(char))))


@lru_cache(maxsize=4096)
def case_variants(char: str) -> str:
    r"""Return the variants of a character that folds to one character, itself included.

    >>> ascii(case_variants("k")), case_variants("!")
    ("'Kk\\u212a'", '!')
    """
    if char in _DOTTED:
        return _DOTTED[char]
    return "".join(regex.findall(f"(?i){regex.escape(char)}", cased_characters())) or char


def folds_to_several(char: str) -> bool:
    """Is the character, without regard to case, several others, as ß is ss?"""
    return len(char.casefold()) > 1


@lru_cache(maxsize=1)
def sequences_of_one() -> frozenset[str]:
    """Return the folded sequences that are, without regard to case, a single character: ss, ﬁ and 70 others."""
    return frozenset(folded for char in cased_characters() if len(folded := char.casefold()) > 1)
