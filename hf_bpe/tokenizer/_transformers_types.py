"""The types of what BPETokenizer inherits from transformers, for type checkers only.

The base class of transformers has a `__getattr__`, so a type checker takes any misspelt attribute of it for a right
one. A test compares the names here with those of the class.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, overload

from tokenizers import AddedToken
from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy
from transformers.utils import PaddingStrategy

from hf_bpe.formats._settings import LeftOrRight, OwnSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

AnyPadding: TypeAlias = 'bool | Literal["longest", "max_length", "do_not_pad"] | PaddingStrategy | None'
Truncation: TypeAlias = (
    'bool | Literal["longest_first", "only_first", "only_second", "do_not_truncate"] | TruncationStrategy | None'
)
Tensors: TypeAlias = Literal["pt", "np", "mlx"]
Special: TypeAlias = Literal["all"] | set[str] | frozenset[str] | Sequence[str] | None
Tokens = str | AddedToken | Sequence[str | AddedToken]
TextOrIds = str | Sequence[str] | Sequence[int]
TextsOrIds = TextOrIds | Sequence[Sequence[str]] | Sequence[Sequence[int]]


class Array(Protocol):
    """An array or a tensor."""

    def tolist(self) -> Any:
        """Return the values as lists."""


class CallOptions(TypedDict, total=False):
    """The options of calls, `encode` and `tokenize` that are not among their first parameters."""

    dropout: float | None
    seed: int | None
    first_text: int | Sequence[int] | None
    split_special_tokens: bool | None
    allowed_special: Special
    disallowed_special: Special
    sanitize_control_tokens: bool


class EncodeOptions(CallOptions, total=False):
    """The options of `encode` that are not among its first parameters."""

    is_split_into_words: bool
    pad_to_multiple_of: int | None
    verbose: bool


class DecodeOptions(TypedDict, total=False):
    """The options of `decode` that are not among its first parameters."""

    clean_up_tokenization_spaces: bool | None
    use_source_tokenizer: bool
    spaces_between_special_tokens: bool


class PreTrainedTokenizer(OwnSettings):
    """`transformers.PreTrainedTokenizer`, as type checkers see it."""

    SPECIAL_TOKENS_ATTRIBUTES: list[str]
    bos_token: str | None
    eos_token: str | None
    unk_token: str | None
    sep_token: str | None
    pad_token: str | None
    cls_token: str | None
    mask_token: str | None
    bos_token_id: int | None
    eos_token_id: int | None
    unk_token_id: int | None
    sep_token_id: int | None
    pad_token_id: int | None
    cls_token_id: int | None
    mask_token_id: int | None
    pad_token_type_id: int
    extra_special_tokens: list[str]
    special_tokens_map: dict[str, str]
    all_special_tokens: list[str]
    all_special_ids: list[int]
    added_tokens_encoder: dict[str, int]
    decoder: dict[int, str]
    total_vocab_size: int
    tokens_trie: object
    model_input_names: list[str]
    model_max_length: int
    max_len_single_sentence: int
    max_len_sentences_pair: int
    padding_side: LeftOrRight
    truncation_side: LeftOrRight
    split_special_tokens: bool
    clean_up_tokenization_spaces: bool
    clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output: bool
    token_type_ids_pattern: str
    token_type_ids_include_special_tokens: bool
    chat_template: str | dict[str, str] | None
    chat_control_tokens: Sequence[str] | None
    response_template: dict[str, object] | None
    name_or_path: str
    verbose: bool
    backend: str
    deprecation_warnings: dict[str, object]
    files_loaded: list[str]
    init_inputs: tuple[object, ...]
    init_kwargs: dict[str, Any]
    pretrained_vocab_files_map: dict[str, object]
    slow_tokenizer_class: type | None
    _added_tokens_decoder: dict[int, AddedToken]
    _added_tokens_encoder: dict[str, int]
    _extra_special_tokens: list[str | AddedToken]
    _auto_class: str | None

    def __init__(self, **kwargs: object) -> None: ...

    def __len__(self) -> int:
        """Return the number of tokens, with those that were added."""

    def __call__(
        self,
        text: TextsOrIds | None = None,
        text_pair: TextsOrIds | None = None,
        text_target: TextsOrIds | None = None,
        text_pair_target: TextsOrIds | None = None,
        add_special_tokens: bool = True,
        padding: AnyPadding = False,
        truncation: Truncation = None,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: LeftOrRight | None = None,
        return_tensors: Tensors | None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        tokenizer_kwargs: dict[str, Any] | None = None,
        *,
        max_target_length: int | None = None,
        **options: Unpack[CallOptions],
    ) -> BatchEncoding:
        """Return the ids of texts and what belongs to them."""

    @overload
    def encode(
        self,
        text: TextOrIds,
        text_pair: TextOrIds | None = None,
        add_special_tokens: bool = True,
        padding: AnyPadding = False,
        truncation: Truncation = None,
        max_length: int | None = None,
        stride: int = 0,
        padding_side: LeftOrRight | None = None,
        return_tensors: None = None,
        **options: Unpack[EncodeOptions],
    ) -> list[int]: ...
    @overload
    def encode(
        self,
        text: TextOrIds,
        text_pair: TextOrIds | None = None,
        add_special_tokens: bool = True,
        padding: AnyPadding = False,
        truncation: Truncation = None,
        max_length: int | None = None,
        stride: int = 0,
        padding_side: LeftOrRight | None = None,
        *,
        return_tensors: Tensors,
        **options: Unpack[EncodeOptions],
    ) -> Any: ...
    def encode(self, *args: object, **kwargs: object) -> Any:
        """Return the ids of a text."""

    @overload
    def decode(
        self, token_ids: int | Sequence[int], skip_special_tokens: bool = False, **options: Unpack[DecodeOptions]
    ) -> str: ...
    @overload
    def decode(
        self,
        token_ids: Sequence[Sequence[int]] | Sequence[Array],
        skip_special_tokens: bool = False,
        **options: Unpack[DecodeOptions],
    ) -> list[str]: ...
    @overload
    def decode(self, token_ids: Array, skip_special_tokens: bool = False, **options: Unpack[DecodeOptions]) -> Any: ...
    def decode(self, *args: object, **kwargs: object) -> Any:
        """Return the text of ids, or the texts of several rows."""

    @overload
    def convert_tokens_to_ids(self, tokens: str) -> int: ...  # type: ignore[overload-overlap]  # a str is a sequence
    @overload
    def convert_tokens_to_ids(self, tokens: Sequence[str]) -> list[int]: ...
    def convert_tokens_to_ids(self, tokens: object) -> Any:
        """Return the id of a token, or the ids of several."""

    @overload
    def convert_ids_to_tokens(self, ids: int, skip_special_tokens: bool = False) -> str: ...
    @overload
    def convert_ids_to_tokens(self, ids: Sequence[int] | Array, skip_special_tokens: bool = False) -> list[str]: ...
    def convert_ids_to_tokens(self, ids: object, skip_special_tokens: bool = False) -> Any:
        """Return the token of an id, or the tokens of several."""

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **options: Unpack[EncodeOptions]
    ) -> list[str]:
        """Return the tokens of a text."""

    def add_tokens(self, new_tokens: Tokens, special_tokens: bool = False) -> int:
        """Add tokens to the vocabulary; return how many are new."""

    def add_special_tokens(
        self, special_tokens_dict: Mapping[str, object], replace_extra_special_tokens: bool = True
    ) -> int:
        """Name special tokens, and add missing ones; return how many are new."""

    def apply_chat_template(
        self,
        conversation: object,
        tools: Sequence[object] | None = None,
        documents: Sequence[Mapping[str, str]] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        **kwargs: object,
    ) -> Any:
        """Return a conversation as ids, or as text."""

    def encode_message_with_chat_template(
        self, message: Mapping[str, str], conversation_history: object = None, **kwargs: object
    ) -> list[int]:
        """Return the ids of one message of a conversation."""

    def get_chat_template(self, chat_template: str | None = None, tools: Sequence[object] | None = None) -> str:
        """Return the chat template to use."""

    def save_chat_templates(
        self, save_directory: object, tokenizer_config: object, filename_prefix: object, save_jinja_files: bool
    ) -> Any:
        """Write the chat templates."""

    def parse_response(self, response: object, schema: object = None, **kwargs: object) -> Any:
        """Parse the response of a model."""

    def get_response_parser(self, response_template: object = None, **kwargs: object) -> Any:
        """Return an incremental parser of responses."""

    def batch_decode(
        self,
        sequences: Sequence[int] | Sequence[Sequence[int]] | Sequence[Array] | Array,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
    ) -> list[str]:
        """Return the texts of rows of ids."""

    def clean_up_tokenization(self, text: str) -> str:
        """Remove spaces before punctuation."""

    def create_token_type_ids_from_sequences(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the type ids of a sequence or a pair."""

    def get_added_vocab(self) -> dict[str, int]:
        """Return content → id of the added tokens."""

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Return the number of special tokens that the template adds."""

    def pad(
        self,
        encoded_inputs: object,
        padding: AnyPadding = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: LeftOrRight | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: Tensors | None = None,
        verbose: bool = True,
    ) -> BatchEncoding:
        """Pad rows of ids."""

    def prepare_for_model(self, ids: list[int], pair_ids: list[int] | None = None, **kwargs: object) -> BatchEncoding:
        """Return ids with special tokens, truncated and padded."""

    def push_to_hub(self, repo_id: str, **kwargs: object) -> str:
        """Upload the files."""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load a folder or a repository."""

    # What BPETokenizer defines in another way.
    _decode: Any
    get_special_tokens_mask: Any
    convert_added_tokens: Any
    convert_to_native_format: Any
    _save_pretrained: Any
    vocab_files_names: Any
    save_pretrained: Any
    register_for_auto_class: Any
    _encode_plus: Any
    _pad: Any
    _from_pretrained: Any
    _get_padding_truncation_strategies: Any
    _eventual_warn_about_too_long_sequence: Any
