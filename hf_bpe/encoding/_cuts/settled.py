"""Cuts between pre-tokens that no later text can change, for text in which safe cuts are rare, such as Chinese.

Safe cuts (`safe`) are decided by the two characters next to them, so for named patterns they precede white space.
Here the text is split first, and a boundary is taken of which the text after it shows that it will stay.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hf_bpe._utils.lazy_exports import compiled
from hf_bpe.encoding._encoder import AddedTokenTuple, Encoder, Options, make_splitter
from hf_bpe.encoding._native_paths import lacks_bytes
from hf_bpe.pretokenizers._pattern import WHITE_SPACE
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer

_WINDOW = 1 << 10  # characters at the end of the text in which a boundary is searched for
_LOOKED_AT = 3  # the characters of the longest contraction
_UNSURE = 4  # characters at the end that later text may join
_RUN = r"[\p{L}\p{M}]++|\s++|[^\p{L}\p{M}\s]++"


class SettledCuts:
    """Finds cuts of text for an encoder that keep all ids, whatever follows, like `Encoder.find_last_cut`.

    A pattern with a scanner decides where a match ends by the run of letters, of white space or of others that it ends
    in or before, and by at most three more characters. It looks at nothing before a match, and a stage that cuts out
    runs cuts the rest of a run alike. So a boundary stays if the run that begins there, and three characters after it,
    are known.
    """

    def __init__(self, encoder: Encoder, added_tokens: Iterable[AddedTokenTuple], options: Options) -> None:
        tokens = tuple(added_tokens)
        self._encoder, self._options = encoder, options
        self._normalizer = encoder.model.normalization
        self._splitter = make_splitter(tokens)
        self._margin = max([_UNSURE, *(len(token.content) for token in tokens)])
        self._is_possible = (
            encoder.model.pre_tokenizer.has_scanner
            and not options.changes_segments
            and not lacks_bytes(encoder)
            # So that text which stays as it is has the same added tokens before and after normalization.
            and all(self._normalizer.is_unchanged(token.content) for token in tokens)
        )

    def find_last(self, text: str) -> int:
        """Return the last known position at which a text without lone surrogates can be cut; 0 if there is none."""
        stop = len(text) - self._margin
        start = self._start_of_window(text, stop) if self._is_possible and stop > 0 else None
        if start is None:
            return 0
        runs = [match.start() for match in compiled(_RUN).finditer(hide_newer(text[start:stop]))]
        # The last run that is followed by another one.
        ends = [start + begin for begin in runs[1:] if start + begin + _LOOKED_AT <= stop]
        if not ends:
            return 0
        _, _, places = self._encoder.encode_with_offsets([text], self._options)
        begins = places[1:][np.diff(places[:, 2]) > 0, 0]
        begins = begins[(begins > start) & (begins < ends[-1])].tolist()
        forbidden = self._splitter.forbidden_cuts(text, start, stop)
        for cut in reversed(begins):
            is_segment = self._normalizer.last_segment(text, cut) == cut
            # Added tokens may strip white space before them.
            if text[cut - 1] not in WHITE_SPACE and is_segment and cut not in forbidden:
                return int(cut)
        return 0

    def _start_of_window(self, text: str, stop: int) -> int | None:
        """Return where to search for cuts from: after it text stays as it is; None if that is known of no position."""
        if self._normalizer.is_unchanged(text):
            return max(stop - _WINDOW, 0)
        for width in (_WINDOW, _WINDOW // 4, _WINDOW // 16):
            start = max(stop - width, 0)
            # No added token that spans a cut begins before this position, and no character before it joins others.
            first = self._normalizer.last_segment(text, max(start - self._margin, 0))
            if self._normalizer.is_unchanged(text[first:]):
                return start
        return None
