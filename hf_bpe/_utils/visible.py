"""Visible forms of tokens: text in which nothing is hidden, in a few colors, and escaped HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from itertools import groupby
from typing import NamedTuple

from hf_bpe._utils.lazy_exports import compiled

# Bluish and yellowish colors alternate, which people with any common kind of color blindness can distinguish, so
# neighbors differ for everybody. Text is black on the light colors and white on the dark ones.
LIGHT = ("#9ecbff", "#ffd27a", "#d9b8ff", "#b9e08a")
DARK = ("#1f4e79", "#7a5200", "#5b3a8c", "#4a6b16")

_SIGNS = {" ": "·", "\t": "→", "\n": "↵"}
_MEANINGS = {"·": "space", "→": "tab", "↵": "newline", "◌": "combining mark"}
_LONGEST_RUN = 3  # of equal signs that a folded token shows
# Characters without width or ink: controls (also bidirectional ones), spaces, joiners, fillers; bytes as surrogates.
_UNSEEN = r"([\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800])"
_UNSEEN_ASCII = re.compile(r"([\x00-\x20\x7f])")
_JOINS = r"\p{M}"
# Characters that control a terminal instead of being shown: controls except newline and tab, bidirectional controls and
# separators; also bytes of file names that are not text.
_UNPRINTABLE = r"(?V1)[[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}]--[\n\t]]"
_LINES = dict.fromkeys(map(ord, "\n\t"))

# JupyterLab aligns the cells of all tables on the right, with a selector that outweighs one of a class.
STYLE = """
.hf-bpe { font-family: ui-monospace, "DejaVu Sans Mono", monospace; line-height: 1.75; overflow-wrap: anywhere;
  --faint: light-dark(#0009, #fffd) }
.hf-bpe :is(bdi, .box) { color: black; color: light-dark(black, white); border-radius: .2em; padding: .12em .05em;
  -webkit-box-decoration-break: clone; box-decoration-break: clone }
.hf-bpe :is(bdi, .box) .box, .hf-bpe .box bdi { padding: 0 }
.hf-bpe i { font-style: normal; color: var(--faint); unicode-bidi: isolate; direction: ltr }
.hf-bpe .added { font-weight: bold; outline: .12em solid currentColor; outline-offset: -.12em; padding: .12em .3em }
.hf-bpe small { color: var(--faint); font-size: .7em }
.hf-bpe bdi:focus { outline: .15em solid; outline-offset: .05em }
.hf-bpe bdi[title]:focus::after { content: attr(title); position: fixed; inset: auto 0 0; z-index: 1; padding: .7em 1em;
  font: 1rem/1.4 system-ui, sans-serif; color: Canvas; background: CanvasText; text-align: left; white-space: normal }
.hf-bpe .ids bdi { display: inline-block; line-height: 1.3; margin: .1em .05em; padding: .1em .2em; text-align: center }
.hf-bpe .ids small { display: block }
.hf-bpe h1 { margin: 0 0 .3em; font: 650 1.5em/1.25 system-ui, sans-serif }
.hf-bpe p { margin: 0 0 .8em; font: .85em/1.5 system-ui, sans-serif; opacity: .8 }
.hf-bpe .legend span { display: inline-block; margin-right: 1.3em }
.hf-bpe .legend i { font-family: ui-monospace, "DejaVu Sans Mono", monospace; color: inherit; margin-right: .3em }
.hf-bpe table { font: .9em system-ui, sans-serif; border-collapse: collapse }
.hf-bpe caption { text-align: left; font-weight: bold; padding-bottom: .3em }
.hf-bpe th { white-space: nowrap; font-weight: normal; opacity: .75 }
.hf-bpe :is(th, td) { text-align: left !important; vertical-align: top; line-height: 1.75; padding: .1em 1em .1em 0;
  background: none }
.hf-bpe td bdi { font-family: ui-monospace, "DejaVu Sans Mono", monospace; display: inline-block; line-height: 1.25 }
.hf-bpe .tree { overflow-x: auto; padding-bottom: .4em; animation: hf-bpe-more linear;
  animation-timeline: scroll(self inline) }
@keyframes hf-bpe-more { from { mask-image: linear-gradient(to left, transparent, black 5em) }
  99% { mask-image: linear-gradient(to left, transparent, black 5em) } to { mask-image: none } }
.hf-bpe .tree ul { display: flex; gap: 2px; margin: 2px 0 0; padding: 0; list-style: none }
.hf-bpe .tree li { flex: 1 0 auto; margin: 0 }
.hf-bpe .tree .box { display: block; text-align: center; line-height: 1.3; padding: .2em .5em }
.hf-bpe .tree .box small { display: block; font-family: system-ui, sans-serif; white-space: nowrap }
""" + "\n".join(
    f".hf-bpe .c{number} {{ background: {light}; background: light-dark({light}, {dark}) }}"
    for number, (light, dark) in enumerate(zip(LIGHT, DARK, strict=True))
)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; -webkit-text-size-adjust: 100% }}
body {{ margin: 1.5em auto 4em; padding: 0 1em; max-width: 70em }}
</style>
</head>
<body>
{content}
</body>
</html>
"""


class VisiblePart(NamedTuple):
    """A part of a token as it is shown: visible text, or a sign for an invisible character."""

    text: str
    is_sign: bool

    @property
    def ends_line(self) -> bool:
        """True if this is the sign for a newline."""
        return self.is_sign and self.text == _SIGNS["\n"]


def pieces(token: bytes) -> list[VisiblePart]:
    r"""Return the parts that show a token, in order.

    A space is `·`, a tab `→`, a newline `↵`. Any other invisible character is shown as its code point, and a byte that
    is not part of a whole character in this token as its value. A combining mark that would join the preceding text
    gets a dotted circle.

    >>> [piece.text for piece in pieces(b" the\n")]
    ['·', 'the', '↵']
    >>> "".join(piece.text for piece in pieces("\u200bé".encode() + b"\xe4\xbd"))
    '<U+200B>é<e4><bd>'
    """
    parts = []
    unseen = _UNSEEN_ASCII if token.isascii() else compiled(_UNSEEN)
    for number, part in enumerate(unseen.split(token.decode("utf-8", "surrogateescape"))):
        if number % 2:
            parts.append(VisiblePart(_sign(part), True))
        elif part:
            parts += [VisiblePart("◌", True)] if not part.isascii() and compiled(_JOINS).match(part) else []
            parts.append(VisiblePart(part, False))
    return parts


def fold(shown: Iterable[VisiblePart]) -> list[VisiblePart]:
    """Return pieces in which a long run of one sign is the sign and a number, as in `·×83`."""
    folded = []
    for piece, run in groupby(shown):
        count = len([*run])
        is_long = piece.is_sign and count > _LONGEST_RUN
        folded += [VisiblePart(f"{piece.text}×{count}", True)] if is_long else [piece] * count
    return folded


def plain(token: bytes) -> str:
    """Return a token as visible text without colors."""
    return "".join(piece.text for piece in pieces(token))


def legend(signs: Iterable[str]) -> dict[str, str]:
    """Return the meanings of signs; all bytes and all code points have one meaning each.

    >>> legend(["·", "<e4>", "<bd>", "·"])
    {'·': 'space', '<e4>': 'byte of a partial character'}
    """
    meanings: dict[str, str] = {}
    for sign in signs:
        other = "invisible character" if sign.startswith("<U+") else "byte of a partial character"
        meaning = _MEANINGS.get(sign, other)
        if meaning not in meanings.values():
            meanings[sign] = meaning
    return meanings


def html_of_pieces(shown: Iterable[VisiblePart], *, has_breaks: bool = False) -> str:
    """Return pieces as HTML; with `has_breaks`, lines break at newlines, except at one at the end."""
    parts = []
    for piece in shown:
        text = escape(piece.text)
        parts.append(f"<i>{text}</i>" if piece.is_sign else text)
        parts.append("<br>" if has_breaks and piece.ends_line else "")
    return "".join(parts).removesuffix("<br>")


def html_in_color(shown: Iterable[VisiblePart], color: int) -> str:
    """Return the pieces of a token as HTML in one of the colors, isolated from the direction of other scripts."""
    return f'<bdi class="c{color % len(LIGHT)}">{html_of_pieces(shown)}</bdi>'


def fragment(content: str) -> str:
    """Return HTML for notebooks, with its style."""
    return f'<div class="hf-bpe"><style>{STYLE}</style>\n{content}\n</div>'


def page(title: str, content: str) -> str:
    """Return a self-contained HTML page with its title as the heading."""
    return _PAGE.format(title=escape(title), content=fragment(f"<h1>{escape(title)}</h1>\n{content}"))


def with_noun(number: int, noun: str) -> str:
    """Return a number with a noun, which has a plural by s: "2,000 tokens"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    r"""Return text that is safe to print on a terminal: control characters are replaced by their code points.

    Newlines, tabs and all visible characters stay. File names and messages of other libraries may hold escape
    sequences, which could recolor, overwrite or reorder the terminal's output.

    >>> printable("caf\xe9\x1b[31m.txt")
    'café<U+001B>[31m.txt'
    """
    if text.translate(_LINES).isprintable():
        return text
    return str(compiled(_UNPRINTABLE).sub(lambda match: _sign(match[0]), text))


def _sign(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    is_byte = "\udc80" <= char <= "\udcff"
    return f"<{ord(char) - 0xDC00:02x}>" if is_byte else f"<U+{ord(char):04X}>"


def in_one_line(text: str) -> str:
    """Return a text with its lines joined by spaces."""
    return " ".join(line.strip() for line in text.splitlines())
