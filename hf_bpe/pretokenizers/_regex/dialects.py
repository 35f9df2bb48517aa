r"""Split expressions of tiktoken: what they mean, written for `tokenizer.json`.

An expression in a `tokenizer.json` is read by Oniguruma, one of tiktoken by fancy-regex. They read most notation alike.
The rest is listed here, once: `translate` writes an expression of tiktoken so that it means the same in a
`tokenizer.json`, and `check_is_clear` refuses an expression of a user that tiktoken would read differently without an
error.

Not refused, because only a few characters are concerned: for `\w` and `\b`, tiktoken takes U+200C and U+200D for word
characters, and Oniguruma ² ³ ¹ ¼ ½ ¾ outside of classes.

Sources: `parse.rs` of fancy-regex, the documentation of Rust's `regex`, and comparison with tiktoken 0.14.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
_BEFORE, _NOT_BEFORE, _AFTER, _NOT_AFTER = f"(?=[{_WORD}])", f"(?![{_WORD}])", f"(?<=[{_WORD}])", f"(?<![{_WORD}])"
_WORD_ESCAPES = {
    "w": f"[{_WORD}]",
    "W": f"[^{_WORD}]",
    "b": f"(?:{_AFTER}{_NOT_BEFORE}|{_NOT_AFTER}{_BEFORE})",
    "B": f"(?:{_AFTER}{_BEFORE}|{_NOT_AFTER}{_NOT_BEFORE})",
}
# The anchors of tiktoken, as `tokenizer.json` writes them.
_ANCHORS = {
    "^": r"\A",
    "$": r"\z",
    r"\Z": r"(?=\n*\z)",
    r"\<": _NOT_AFTER + _BEFORE,
    r"\>": _AFTER + _NOT_BEFORE,
}
_IN_TOKENIZER_JSON = {
    "^": r"(?:\A|(?<=\n)(?!\z))",
    "$": r"(?=\n|\z)",
    r"\Z": r"(?=\n?\z)",
    r"\<": "<",
    r"\>": ">",
}
_SHARED_ESCAPES = "sSdDnrtfvaeAhHRz"
# Closed under upper and lower case, so that (?i) changes nothing.
_CASELESS = frozenset(
    (
        *("N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm"),
        *("Z", "Zl", "Zp", "Zs", "Han", "White_Space"),
    )
)
# POSIX classes: (what Oniguruma means, what Rust means), inside of a class.
_POSIX = {
    "alnum": (r"\p{Alnum}", "0-9A-Za-z"),
    "alpha": (r"\p{Alphabetic}", "A-Za-z"),
    "blank": (r"\p{Blank}", r"\t\x20"),
    "cntrl": (r"\p{Cc}", r"\x00-\x1f\x7f"),
    "digit": (r"\p{Nd}", "0-9"),
    "graph": (r"\p{Graph}", "!-~"),
    "lower": (r"\p{Lowercase}", "a-z"),
    "print": (r"\p{Print}", r"\x20-~"),
    "punct": (r"\p{P}\p{S}", r"!-/:-@\[-`{-~"),
    "space": (r"\s", r"\t-\r\x20"),
    "upper": (r"\p{Uppercase}", "A-Z"),
    "word": (r"\p{Word}", "0-9A-Za-z_"),
}
_SAME_POSIX = ("ascii", "xdigit")
_HEX = "[0-9A-Fa-f]"
_ESCAPE = rf"\\(?:[pP](?:\{{[^}}]*\}}|.)|[xuU]\{{{_HEX}+\}}|x{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}}|.)"
_TOKEN = re.compile(
    r"(?P<comment>\(\?#[^)]*\))"
    r"|(?P<options>\(\?[A-Za-z-]+\))"
    r"|(?P<group>\((?:\?(?:[A-Za-z-]*:|<?[=!]|>|P?<\w+>|'\w+')|(?!\?)))"
    r"|(?P<end>\))"
    r"|(?P<branch>\|)"
    rf"|(?P<escape>{_ESCAPE})"
    r"|(?P<quantifier>(?P<times>[*+?]|\{(?:\d+(?:,\d*)?|,\d*)\})\??\+?)"
    r"|(?P<anchor>[\^$])"
    r"|(?P<other>\(\?..|.)",
    re.DOTALL,
)
_OPENING = re.compile(r"\[\^?\]?")
_CLASS_TOKEN = re.compile(
    r"(?P<posix>\[:\^?(?P<name>\w+):\])"
    r"|(?P<open>\[\^?\]?)"
    r"|(?P<end>\])"
    r"|(?P<operator>&&|--|~~|\|\|)"
    rf"|(?P<escape>{_ESCAPE})"
    r"|(?P<other>.)",
    re.DOTALL,
)


class Difference(NamedTuple):
    """A construct that means something else in `tokenizer.json`, or whose translation is not known."""

    at: int  # its place in the expression
    source: str
    ours: str | None  # another way to write what `tokenizer.json` means by it, None if there is no short one
    theirs: str | None  # how `tokenizer.json` writes what tiktoken means by it, None if that is not known
    is_silent: bool  # whether `tokenizer.json` and tiktoken both accept it, and cut differently


def translate(expression: str) -> str:
    r"""Return the expression that means in `tokenizer.json` what tiktoken means by `expression`.

    A construct whose translation is not known is a ValueError, which names it and its column.

    >>> translate(r"(?s:.)\p{N}{1,3}+$")
    '(?:[\\s\\S])(?>\\p{N}{1,3})\\z'
    >>> translate(r"a(?i)b")
    Traceback (most recent call last):
    ValueError: column 2: (?i), as tiktoken reads it, is not supported; expected an expression without it
    """
    written, constructs = _read(expression)
    for each in constructs:
        if each.theirs is None:
            raise ValueError(
                f"column {each.at + 1}: {each.source}, as tiktoken reads it, is not supported; expected an expression "
                "without it"
            )
    return written


def differences(expression: str) -> tuple[Difference, ...]:
    """Return what tiktoken does not read as `tokenizer.json` does, or may not."""
    return _read(expression)[1]


def check_is_clear(expression: str) -> None:
    r"""Raise a ValueError, with both spellings, for an expression that `tokenizer.json` and tiktoken read differently.

    >>> check_is_clear(r"\p{L}+|\p{N}{1,3}+")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ValueError: column 8: \p{N}{1,3}+ has two meanings: that of tokenizer.json, clearly written as (?:\p{N}{1,3})+, and
    that of tiktoken, written as (?>\p{N}{1,3}); write the one you mean
    """
    for each in differences(expression):
        if each.is_silent:
            ours = "" if each.ours is None else f", clearly written as {each.ours}"
            theirs = ", which is not supported here" if each.theirs is None else f", written as {each.theirs}"
            raise ValueError(
                f"column {each.at + 1}: {each.source} has two meanings: that of tokenizer.json{ours}, and that of "
                f"tiktoken{theirs}; write the one you mean"
            )


@lru_cache(maxsize=256)
def _read(expression: str) -> tuple[str, tuple[Difference, ...]]:
    reader = _DialectReader(expression)
    reader.read()
    return "".join(reader.out), tuple(reader.differences)


class _InlineFlags(NamedTuple):
    """The flags that are on: `i`, `m` (lines), `s` (a dot is any character) and `x`."""

    i: bool = False
    m: bool = False
    s: bool = False
    x: bool = False


class _DialectReader:
    """A reader of an expression of tiktoken, which writes it for `tokenizer.json`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.out: list[str] = []  # one entry or more a token
        self.differences: list[Difference] = []
        self._at = 0
        self._flags = _InlineFlags()
        self._groups: list[tuple[int, int, _InlineFlags]] = []  # each: its places in output and text, flags before
        self._last: tuple[int, int] | None = None  # what a quantifier repeats: its place in the output, in the text
        self._ends_with_quantifier = -1  # the place in the text after the last quantifier

    def read(self) -> None:
        while self._at < len(self.text):
            if self._flags.x and (match := re.compile(r"[ \t\n\r\f]+|#[^\n]*").match(self.text, self._at)):
                self._at = match.end()
                continue
            match = _TOKEN.match(self.text, self._at)
            assert match is not None  # as any character is one
            kind, source = match.lastgroup, match[0]
            if kind == "quantifier":
                self._quantifier(match)
                continue
            start, self._at = self._at, match.end()
            if kind == "comment":  # which may stand before a quantifier
                if "\\" in source:
                    self._differs(source, None, None, is_silent=True, at=start)
                continue
            self._last = (len(self.out), start)
            if kind == "options":
                self._isolated_options(start, source)
            elif kind == "group":
                self._groups.append((*self._last, self._flags))
                self._group(start, source)
            elif kind == "end":
                self.out.append(source)
                if self._groups:
                    *last, self._flags = self._groups.pop()
                    self._last = (last[0], last[1])
            elif kind == "escape":
                self.out.append(self._escape(start, source))
            elif kind == "anchor":
                self._anchor(start, source)
            elif source == "[":
                self._at = start
                self._class()
            elif source == "." and self._flags.s:
                self.out.append(r"[\s\S]")
            else:
                if len(source) > 1:
                    self._differs(source, None, None, at=start)
                self.out.append(source)

    def _differs(self, source: str, ours: str | None, theirs: str | None, *, at: int, is_silent: bool = False) -> str:
        """Note a difference, and return what to write."""
        self.differences.append(Difference(at, source, ours, theirs, is_silent))
        return source if theirs is None else theirs

    def _quantifier(self, match: re.Match[str]) -> None:
        start, source, times = self._at, match[0], match["times"]
        is_repeated, self._ends_with_quantifier = self._ends_with_quantifier == start, match.end()
        self._at = match.end()
        if is_repeated and times[0] == "{":  # which stands for itself
            literal = rf"\{times[:-1]}\}}"
            self._differs(f"{times} after a quantifier", f"(?:…){times}", literal, at=start, is_silent=True)
            self.out += [literal[:-2], literal[-2:] + source[len(times) :]]
            self._last = (len(self.out) - 1, start + len(times) - 1) if source == times else None
            return
        if self._last is None:  # Oniguruma repeats a repetition, tiktoken does not
            self._differs(source, None, None, at=start)
            self.out.append(source)
            return
        (place, begin), self._last = self._last, None
        suffix = source[len(times) :]
        repeated, written = self.text[begin:start], "".join(self.out[place:])
        whole = repeated + source
        is_interval = times[0] == "{"
        if times == "{,}":
            self._differs(whole, rf"{repeated}\{{,\}}", f"{written}*", at=begin, is_silent=True)
            self.out.append(f"*{suffix}")
        elif is_interval and "," in times and times[-2] != "," and _is_descending(times):
            self.out.append(self._differs(whole, None, None, at=begin, is_silent=True))
        elif suffix.endswith("+") and (is_interval or suffix == "?+"):
            lazy = suffix.removesuffix("+") if "," in times or not is_interval else ""
            once = f"{repeated}{times}{suffix[:-1]}"
            del self.out[place:]
            theirs = f"(?>{written}{times}{lazy})"
            self.out.append(self._differs(whole, f"(?:{once})+", theirs, at=begin, is_silent=True))
        elif suffix == "?" and is_interval and "," not in times:
            ours = f"(?:{repeated}{times})?"
            self._differs(whole, ours, f"{written}{times}", at=begin, is_silent=True)
            self.out.append(times)
        else:
            self.out.append(source)

    def _isolated_options(self, start: int, source: str) -> None:
        self._last = None
        changed = self._changed(start, source, source[2:-1])
        if start:  # Oniguruma: all that follows is one group, alternatives included
            self._differs(source, f"{source[:-1]}:…)", None, at=start, is_silent=True)
        if changed.i and not self._flags.i:
            self.out.append("(?i)")
        self._flags = changed

    def _group(self, start: int, source: str) -> None:
        self._last = None
        if not source.endswith(":"):
            self.out.append("(?:" if source.startswith("(?P") else source)
            return
        changed = self._changed(start, source, source[2:-1])
        self.out.append("(?:" if changed.i == self._flags.i else "(?i:" if changed.i else "(?-i:")
        self._flags = changed

    def _changed(self, start: int, source: str, letters: str) -> _InlineFlags:
        on, _, off = letters.partition("-")
        if "m" in letters:
            ours, theirs = r"[\s\S] for each dot", r"(?:\A|(?<=\n)) for ^ and (?=\n|\z) for $"
            self._differs(f"the option m of {source}", ours, theirs, at=start, is_silent=True)
        if {*letters} - {*"imsux-"} or "x" in letters or "u" in off:
            self._differs(source, None, None, at=start)
        values = {**dict.fromkeys(on, True), **dict.fromkeys(off, False)}
        return self._flags._replace(**{name: value for name, value in values.items() if name in "imsx"})

    def _anchor(self, start: int, source: str) -> None:
        if self._flags.m:
            theirs = r"(?:\A|(?<=\n))" if source == "^" else r"(?=\n|\z)"
            self.out.append(self._differs(source, None, theirs, at=start))
            return
        theirs = _ANCHORS[source]
        self.out.append(self._differs(source, _IN_TOKENIZER_JSON[source], theirs, at=start, is_silent=True))

    def _escape(self, start: int, source: str, *, in_class: bool = False) -> str:
        kind = source[1]
        if kind in "pP":
            return self._property(start, source)
        if kind in "xuU" and len(source) > 2:
            code = int(source[2:].strip("{}"), 16)
            if kind == "u" and len(source) == 6:
                return source
            return source if (kind == "x" and (code < 0x80 or "{" in source)) else rf"\x{{{code:x}}}"
        if source in _ANCHORS and not in_class:
            theirs = _ANCHORS[source]
            return self._differs(source, _IN_TOKENIZER_JSON[source], theirs, at=start, is_silent=True)
        if kind in "wWbB" and not (in_class and kind in "bB"):
            written = _WORD_ESCAPES[kind]
            return self._differs(source, None, _WORD if in_class and kind == "w" else written, at=start)
        is_known = kind in _SHARED_ESCAPES and not (in_class and kind in "ARz")
        if is_known or not (kind.isascii() and kind.isalnum()) or (in_class and kind == "b"):
            return source
        return self._differs(source, None, None, at=start)

    def _property(self, start: int, source: str) -> str:
        # Takes time to import, and few expressions need it.
        from hf_bpe.pretokenizers._regex.properties import find_property

        name = source[2:].strip("{}").removeprefix("^")
        full_name = getattr(find_property(name), "name", None)
        if full_name is None or full_name.lower() in _POSIX or name.lower() in _POSIX:
            return self._differs(source, None, None, at=start)
        if self._flags.i and full_name not in _CASELESS:
            return self._differs(f"{source} under (?i)", f"{source} outside of (?i)", None, at=start, is_silent=True)
        return source if "{" in source else f"{source[:2]}{{{name}}}"

    def _class(self) -> None:
        begin, depth = self._at, 1
        ignores_case = self._flags.i
        opening = _OPENING.match(self.text, begin)
        assert opening is not None
        self._at = opening.end()
        out = [opening[0].replace("]", r"\]")]
        while depth and self._at < len(self.text):
            match = _CLASS_TOKEN.match(self.text, self._at)
            assert match is not None  # as any character is one
            start, source, kind = self._at, match[0], match.lastgroup
            self._at = match.end()
            if kind == "posix":
                source = self._posix(start, source, match["name"])
            elif kind == "open":
                depth += 1
                if "]" in source or (ignores_case and "^" in source):
                    self._differs(source, None, None, at=start, is_silent=True)
            elif kind == "end":
                depth -= 1
            elif kind == "operator" and not (source == "||" or (source == "&&" and not ignores_case)):
                self._differs(f"{source} in a class", None, None, at=start, is_silent=True)
            elif kind == "escape":
                source = self._escape(start, source, in_class=True)
            elif self._flags.x and source in " \t\n\r\f#":
                self._differs("white space in a class under (?x)", None, None, at=start, is_silent=True)
            out.append(source)
        self._last = (len(self.out), begin)
        self.out.append("".join(out))

    def _posix(self, start: int, source: str, name: str) -> str:
        if name not in (*_POSIX, *_SAME_POSIX):
            return self._differs(source, None, None, at=start)
        if name in _SAME_POSIX:
            return source
        ours, theirs = (f"[^{each}]" if "^" in source else each for each in _POSIX[name])
        return self._differs(source, ours, theirs, at=start, is_silent=True)


def _is_descending(times: str) -> bool:
    minimum, maximum = times[1:-1].split(",")
    return int(minimum or 0) > int(maximum)
