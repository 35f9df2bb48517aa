"""Verification of saved folders: every loader must give the ids of the saved tokenizer.

The loaders are BPETokenizer, `tokenizers`, and the fallback of transformers if hf_bpe is not installed. They are
compared on the stress texts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_bpe.core.pretokenizers import PATTERNS, split
from hf_bpe.tokenizer._files.panics import panics_as_errors
from hf_bpe.tokenizer._files.stress_texts import shrunk, stress_texts

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

_Encode = Callable[[str, "str | None", bool], list[int]]


def verify_folder(folder: str | os.PathLike[str], tokenizer: BPETokenizer) -> None:
    r"""Load a folder with each loader, and compare vocabulary and ids with those of the tokenizer.

    Args:
        folder: a folder that `save_pretrained` wrote, without a prefix.
        tokenizer: the tokenizer that was saved.

    Raises:
        ValueError: a loader fails, or its vocabulary or ids differ; the message names the loader and the text.

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
            with panics_as_errors():
                loaded = load()
        except Exception as error:  # `tokenizers` raises no narrower class
            what = f"cannot load the folder: {error}"
        else:
            what = vocabulary_difference(tokenizer, loaded) or ids_difference(tokenizer, loaded) or ""
        if what:
            raise ValueError(
                f"{name}: {what}; what others load would not be this tokenizer. Change what is named here, or, to have "
                "the folder all the same, save with verify=False"
            )


def vocabulary_difference(tokenizer: BPETokenizer, other: Any) -> str | None:
    """Describe the first difference of another tokenizer's vocabulary; None if there is none."""
    expected, got = tokenizer.get_vocab(), other.get_vocab()
    if expected == got:
        return None
    token = next(token for token in [*expected, *got] if expected.get(token) != got.get(token))
    return f"token {token!r} has the id {got.get(token)}, expected {expected.get(token)}"


def ids_difference(tokenizer: BPETokenizer, other: Any) -> str | None:
    """Describe the first text for which another tokenizer gives different ids; None if there is none.

    Args:
        tokenizer: the reference.
        other: a tokenizer of transformers or of `tokenizers`.

    The texts are those of `stress_texts`, single and in pairs, with and without added special tokens.
    """
    ours, theirs = _encoder(tokenizer), _encoder(other, tokenizer)
    texts = stress_texts(tokenizer.definition)
    cases: list[tuple[str, str | None, bool]] = [(text, None, added) for text in texts for added in (False, True)]
    cases += [(text, pair, True) for text, pair in pairwise(texts)]
    for text, pair, added in cases:

        def differs(part: str, pair: str | None = pair, added: bool = added) -> bool:
            try:
                expected = ours(part, pair, added)
            except ValueError:  # part of a special token, whose text has missing bytes
                return False
            return _ids_or_error(theirs, part, pair, added) != expected

        if differs(text):
            part = shrunk(text, differs)
            second = "" if pair is None else f" with the second text {pair[:40]!r}"
            how = f"{'with' if added else 'without'} added special tokens{second}"
            got = _ids_or_error(theirs, part, pair, added)
            return (
                f"{part!r}, {how}, {got if isinstance(got, str) else f'has the ids {_shown(got)}'}, expected "
                f"{_shown(ours(part, pair, added))}{_pattern_difference(tokenizer.pattern, part)}"
            )
    return None


def _ids_or_error(encode: _Encode, text: str, pair: str | None, added: bool) -> list[int] | str:
    try:
        with panics_as_errors():
            return encode(text, pair, added)
    except Exception as error:  # other libraries raise anything
        return f"fails: {error}"


def _loaders(folder: Path, tokenizer: BPETokenizer) -> Iterator[tuple[str, Callable[[], Any]]]:
    from tokenizers import Tokenizer
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

    ours = type(tokenizer)
    yield f"{ours.__name__}.from_pretrained", lambda: ours.from_pretrained(folder, local_files_only=True)
    yield "tokenizers.Tokenizer.from_file", lambda: Tokenizer.from_file(str(folder / "tokenizer.json"))
    # AutoTokenizer falls back to this class if it does not know ours.
    fast = PreTrainedTokenizerFast
    yield "PreTrainedTokenizerFast.from_pretrained", lambda: fast.from_pretrained(folder, local_files_only=True)


def _encoder(tokenizer: Any, settings: BPETokenizer | None = None) -> _Encode:
    """Return a function of text, second text and add_special_tokens that returns ids."""
    from tokenizers import Tokenizer

    if isinstance(tokenizer, Tokenizer):
        if settings is not None:  # settings that tokenizer.json cannot hold
            tokenizer.encode_special_tokens = settings.split_special_tokens
        return lambda text, pair, added: list(tokenizer.encode(text, pair, add_special_tokens=added).ids)
    # verbose=False: the warning about texts longer than model_max_length is for the user's own calls.
    return lambda text, pair, added: list(
        tokenizer(text, pair, add_special_tokens=added, verbose=False)["input_ids"],
    )


def _shown(ids: list[int]) -> str:
    return str(ids) if len(ids) <= 16 else f"{str(ids[:16])[:-1]}, …] ({len(ids)} ids)"


def _pattern_difference(pattern: str | None, text: str) -> str:
    """Describe how `tokenizers` splits a text by a custom pattern, if it differs from hf_bpe."""
    if pattern is None or pattern in PATTERNS:
        return ""
    from tokenizers import Regex, pre_tokenizers

    splitter = pre_tokenizers.Split(Regex(pattern), "isolated")
    theirs = [piece for piece, _ in splitter.pre_tokenize_str(text)]
    ours = split(text, pattern)
    if ours == theirs:
        return ""
    return (
        f". The pattern {pattern!r} splits it into {theirs} in Oniguruma (tokenizers), {ours} in `regex` (hf_bpe): "
        "write the pattern so that both agree (for example, `^` and `$` match at line ends in Oniguruma)"
    )
