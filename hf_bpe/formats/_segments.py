"""Encoding of text in trusted and untrusted parts: added tokens are found in trusted text alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tokenizers import AddedToken

from hf_bpe._utils.arguments import check_choice, check_flag, check_sequence, check_str, wrong_type
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.encoding._preparation import tells_starts
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.pretokenizers._pattern import WHITE_SPACE

UNTRUSTED = ("all", "special")


class Segment(NamedTuple):
    """A part of a text."""

    text: str
    trusted: bool
    """True if added tokens are found in it."""


def encode_segments(
    pipeline: Pipeline, segments: object, untrusted: str = "all", add_special_tokens: bool = False
) -> list[int]:
    """Return the ids of a text that is given in parts; see `BPETokenizer.encode_segments`."""
    parts = checked_segments(segments)
    check_choice("untrusted", untrusted, UNTRUSTED)
    is_all = untrusted == "all"
    text = "".join(part.text for part in parts)
    # The encoder finds what may be found in any text; the others are cut out before.
    encoder = pipeline.base if is_all else pipeline.encoder_without(lambda token: token.special)
    spans = _trusted_tokens(pipeline, parts, text, is_all)
    options = pipeline.options(False)
    # A model that puts a space only before the first text puts none after an added token.
    later_options = options._replace(continued=tells_starts(pipeline.model))
    made_by_merges = special_tokens_of_merges(pipeline)
    ids: list[int] = []
    end = 0
    for start, stop, token_id in [*spans, (len(text), len(text), None)]:
        if end < start:
            row = encoder.encode(text[end:start], options if end == 0 else later_options)
            if not made_by_merges.isdisjoint(row):
                content = next(pipeline.added_tokens[i].content for i in row if i in made_by_merges)
                raise ValueError(
                    f"encode_segments: merges make the special token {content!r:.80} of ordinary text, as it is also a "
                    "token of the model; make it a token of its own"
                )
            ids += row
        if token_id is not None:
            ids.append(token_id)
        end = stop
    before, after = pipeline.template_ids(1, check_flag("add_special_tokens", add_special_tokens))
    return [*before, *ids, *after]


def special_tokens_of_merges(tokenizer: Definition | Pipeline) -> set[int]:
    """Return the ids of special tokens that are ordinary tokens of the model, too, and were added to it as special.

    A model has no merges that make its own special tokens.
    """
    model = tokenizer.model
    own = model.special_tokens
    added = tokenizer.added_tokens.items()
    return {i for i, token in added if token.special and i in model.vocab and token.content not in own}


def checked_segments(segments: object) -> list[Segment]:
    """Return segments as named tuples, without empty ones, and neighbors of one kind as one."""
    parts: list[Segment] = []
    for number, segment in enumerate(check_sequence("segments", segments, "a list of (text, trusted)")):
        if not isinstance(segment, (tuple, list)) or len(segment) != 2:
            raise wrong_type(f"segments[{number}]", "a pair (text, trusted)", segment)
        text = check_str(f"segments[{number}]: text", segment[0])
        is_trusted = check_flag(f"segments[{number}]: trusted", segment[1])
        if text and parts and parts[-1].trusted is is_trusted:
            parts[-1] = Segment(parts[-1].text + text, is_trusted)
        elif text:
            parts.append(Segment(text, is_trusted))
    return parts


def _trusted_tokens(
    pipeline: Pipeline, parts: Sequence[Segment], text: str, is_all: bool
) -> list[tuple[int, int, int]]:
    """Return (start, stop, id) of the added tokens in trusted text, with the white space that they strip.

    Text of another kind is the end of text to them: it cannot keep a token from being one, as a letter next to it
    would.
    """
    tokens = {i: token for i, token in pipeline.added_tokens.items() if is_all or token.special}
    splitter = AddedTokenSplitter(tokens)
    is_searched_normalized = pipeline.model.normalizer is not None and any(t.normalized for t in tokens.values())
    spans: list[tuple[int, int, int]] = []
    start = 0
    for part in parts:
        if part.trusted:
            if is_searched_normalized and not pipeline.model.normalization.is_unchanged(part.text):
                raise ValueError(
                    "encode_segments: some added tokens of this tokenizer are searched in normalized text, and its "
                    f"normalizer changes the trusted segment {part.text[:80]!r}; give it normalized"
                )
            found = splitter.spans(repair_surrogates(part.text))
            spans += [(start + begin, start + end, i) for begin, end, i in found if i is not None]
        start += len(part.text)
    return _with_stripped_space(spans, tokens, text)


def _with_stripped_space(
    spans: list[tuple[int, int, int]], tokens: Mapping[int, AddedToken], text: str
) -> list[tuple[int, int, int]]:
    """Let tokens strip white space beyond the end of their segment, as they do in a text without segments."""
    stripped = []
    end = 0
    for number, (start, stop, token_id) in enumerate(spans):
        token = tokens[token_id]
        limit = spans[number + 1][0] if number + 1 < len(spans) else len(text)
        while token.lstrip and start > end and text[start - 1] in WHITE_SPACE:
            start -= 1
        while token.rstrip and stop < limit and text[stop] in WHITE_SPACE:
            stop += 1
        stripped.append((max(start, end), stop, token_id))
        end = stop
    return stripped
