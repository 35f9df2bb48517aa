"""What the methods of a mix-in find in `self`, for type checkers.

A mix-in has no base when it runs, so none inherits from another. What `super()` is in its methods follows from the
order of the bases of `BPETokenizer` and `BPETokenizerFast`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tokenizers import AddedToken
    from typing_extensions import Self

    from hf_bpe.core._model import BPEModel
    from hf_bpe.editing._edits import Edited
    from hf_bpe.editing._remap import Remap
    from hf_bpe.encoding._encoder import TemplateIds
    from hf_bpe.formats._definition import Definition
    from hf_bpe.formats._pipeline import Pipeline
    from hf_bpe.formats._template import Template
    from hf_bpe.tokenizer._transformers_types import PreTrainedTokenizer

    class AnyTokenizer(PreTrainedTokenizer):
        """A tokenizer of either class: its pipelines, None if it has none, and what `DirectMethods` looks at."""

        _overridden: frozenset[str]

        @property
        def _pipeline(self) -> Pipeline | None: ...

        @property
        def _decoding_pipeline(self) -> Pipeline | None: ...

        def _type_ids_maker(self) -> Callable[..., list[int]] | None: ...

        def decode_bytes(self, token_ids: object, *, skip_special_tokens: bool = False) -> bytes: ...

    class OwnTokenizer(AnyTokenizer):
        """A `BPETokenizer`; see there, or in the mix-in that defines the name."""

        _special_tokens_map: dict[str, str | AddedToken | None]
        _template: Template | None

        @property
        def model(self) -> BPEModel: ...

        @property
        def normalizer(self) -> str | None: ...

        @property
        def pipeline(self) -> Pipeline: ...

        @property
        def definition(self) -> Definition: ...

        def with_model(self, edited: Edited) -> tuple[Self, Remap]: ...

        @property
        def encoder(self) -> dict[str, int]: ...

        @property
        def vocab_size(self) -> int: ...

        def get_vocab(self) -> dict[str, int]: ...

        def _template_ids(self, sequences: int, add_special_tokens: bool) -> TemplateIds | None: ...

        def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int: ...
else:
    AnyTokenizer = OwnTokenizer = object
