"""The encoder of models whose alphabet is characters, with the native core.

The core reads `▁` as a space, so text without `▁`, which is nearly all, is encoded as it is, though the model writes
its spaces as `▁`. Only text with a `▁` is normalized, to spaces.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import AddedTokenTuple, AnyText, Encoder, Ids, Numbers, Options
from hf_bpe.encoding._normalizing_encoder import NormalizingEncoder
from hf_bpe.encoding._token_bytes import token_bytes, writes_spaces
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.normalizers._steps import PREPENDS_SPACE, SPACE, WRITES_SPACE, Step

if TYPE_CHECKING:
    from typing_extensions import Buffer

_SPACE_BYTES = SPACE.encode()
_READS_SPACE: Step = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
_NO_BYTE = 2**32 - 1  # for the core: the byte has no token, because its character has one
_NEVER, _UNLESS_SPACE, _ALWAYS, _FIRST = range(4)  # PrefixSpace of the core
_SCHEMES = {"never": _NEVER, "always": _UNLESS_SPACE, "first": _FIRST}


class CharacterModelEncoder(NormalizingEncoder):
    """The `Encoder` of a model with characters.

    Args:
        core: the core's encoder, without added tokens.
        rebuild: what pickle calls, with the model and the added tokens.
        added_tokens: the added tokens.
    """

    def __init__(
        self,
        core: Encoder,
        rebuild: Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder],
        added_tokens: tuple[AddedTokenTuple, ...] = (),
    ) -> None:
        model = core.model
        steps = model.normalization.steps
        has_spaces = writes_spaces(model)
        kept, prepends = _without_spaces(steps) if has_spaces else (steps, False)
        # The core does not put a space before text, but its normalizer does, if tokens are searched in the result, or
        # if Metaspace puts one there, too, by its own rule.
        is_alone = model.pre_tokenizer.metaspace is None
        self._prepends = prepends and (not is_alone or any(token.normalized for token in added_tokens))
        self._reads_spaces = False  # until it is known
        applied = [*kept, *([{**PREPENDS_SPACE, "prepend": " "}] if self._prepends else [])]
        is_searched_raw = WRITES_SPACE not in steps
        check_character_tokens(model, added_tokens)
        reads = [_READS_SPACE] if has_spaces else []
        super().__init__(
            core.without_prefix() if self._prepends and is_alone else core,  # type: ignore[attr-defined]
            rebuild,
            added_tokens,
            normalizer=Normalizer.of([*applied, *reads]),
            searches_raw_text=is_searched_raw and not kept and not prepends,
        )
        self._core = core
        # Whether all that normalization does is to read spaces.
        self._reads_spaces = has_spaces and not applied and self._is_clear

    @property
    def prepends_by_normalizer(self) -> bool:
        """True if a normalizer puts a space before each text, also before one that continues another."""
        return self._prepends

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> CharacterModelEncoder:
        return CharacterModelEncoder(self._core, self._rebuild, tokens)

    def encode(self, text: AnyText, options: Options) -> list[int]:
        """Return the ids of a text; see `Encoder` for all methods."""
        if self._reads_spaces and self._is_whole(text, options):
            return self._whole.encode(text, options)
        return super().encode(text, options)

    def _is_whole(self, text: AnyText, options: Options) -> bool:
        if not self._reads_spaces:
            return super()._is_whole(text, options)
        if isinstance(text, str):
            return text.isascii() or SPACE not in text
        return not isinstance(text, bytes) or _SPACE_BYTES not in text

    def _find_changes_in(self, data: Buffer, begins: Numbers, ends: Numbers) -> Numbers | None:
        if not self._reads_spaces:
            return super()._find_changes_in(data, begins, ends)
        if len(begins) == 0 or (begins[1:] < ends[:-1]).any():
            return None  # texts that overlap, as those of Arrow do not
        first = int(begins[0])
        text = bytes(memoryview(data).cast("B")[first : int(ends.max())])
        places = []
        at = text.find(_SPACE_BYTES)
        while at >= 0:
            places.append(first + at)
            at = text.find(_SPACE_BYTES, at + 1)
        return np.unique(np.searchsorted(begins, places, "right") - 1)

    def find_last_cut(self, data: bytes, options: Options) -> int:
        # Normalizing would put something before what follows a cut.
        return 0 if self._prepends else super().find_last_cut(data, options)

    def last_merges(self, words: list[bytes]) -> None:
        return None  # those of the core join bytes to characters, too

    def merge_words(self, words: list[bytes], unknown_id: int) -> tuple[Ids, Numbers]:
        if writes_spaces(self.model):
            words = [word.replace(SPACE.encode(), b" ") for word in words]
        return super().merge_words(words, unknown_id)


def reads_spaces_natively(model: BPEModel) -> bool:
    """Return whether a model with characters leaves spaces as they are, or writes them as `SPACE`, which is a token."""
    metaspace = model.pre_tokenizer.metaspace
    if metaspace is None and not writes_spaces(model):
        return True
    return writes_spaces(model) and SPACE.encode() in model.vocab.values()


def make_character_encoder(
    native: ModuleType,
    model: BPEModel,
    rebuild: Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder],
    **instructions: Any,
) -> Encoder:
    """Return the encoder of a model with characters.

    Args:
        native: the native core.
        model, rebuild: see `CharacterModelEncoder`.
        instructions: `simd` and `chunk_bytes` of the core's encoder, on which no result depends.
    """
    alphabet, metaspace = model.alphabet, model.pre_tokenizer.metaspace
    has_spaces = writes_spaces(model)
    splits = metaspace is not None and metaspace.split
    vocab = token_bytes(model)
    ids = {token: token_id for token_id, token in model.vocab.items()}
    # No text has a space where the model writes spaces as another character.
    excluded = [token_id for token_id, token in model.vocab.items() if has_spaces and b" " in token]
    merge_ids = model._merge_ids
    if merge_ids is None:
        triples = ((ids[first], ids[second], ids[first + second]) for first, second in model.merges)
        merge_ids = array("I", (token_id for triple in triples for token_id in triple)).tobytes()
    prefix = _SCHEMES[metaspace.prepend_scheme] if metaspace is not None else _NEVER
    if metaspace is None and has_spaces and _without_spaces(model.normalization.steps)[1]:
        prefix = _ALWAYS
    unk_token = None if alphabet.byte_fallback else alphabet.unk_token
    core = native.Encoder.of_characters(
        model,
        rebuild,
        vocab,
        merge_ids,
        array("I", (ids.get(token, _NO_BYTE) for token in alphabet.byte_tokens)).tobytes(),
        array("I", excluded).tobytes(),
        prefix=prefix,
        splits=splits,
        unknown_id=None if unk_token is None else ids[unk_token.encode()],
        fuses_unknown=unk_token is not None and alphabet.fuse_unk,
        keeps_spaces=has_spaces and WRITES_SPACE in model.normalization.steps,
        **instructions,
    )
    return CharacterModelEncoder(core, rebuild)


def _without_spaces(steps: Sequence[Step]) -> tuple[Sequence[Step], bool]:
    """Return steps without the last ones that only write spaces, and whether one puts a space before text."""
    kept, prepends = [*steps], 0
    while kept and kept[-1] in (WRITES_SPACE, PREPENDS_SPACE) and prepends + (kept[-1] == PREPENDS_SPACE) < 2:
        prepends += kept.pop() == PREPENDS_SPACE
    return kept, prepends == 1


def check_character_tokens(model: BPEModel, added_tokens: tuple[AddedTokenTuple, ...]) -> None:
    """Raise a ValueError if a model with characters cannot have an added token."""
    steps = model.normalization.steps
    kept, prepends = _without_spaces(steps)
    if not writes_spaces(model) or WRITES_SPACE in steps or not (kept or prepends):
        return
    for token in added_tokens:
        if token.normalized and (prepends or " " in token.content or SPACE in token.content):
            raise ValueError(
                f"added token {token.content!r:.80} is searched in normalized text, in which spaces and {SPACE!r} "
                "differ until Metaspace writes them alike; expected normalized=False"
            )
