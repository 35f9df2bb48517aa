# Written by tools/generate_native_types.py.
"""The native core, which `hf_bpe._native_core` finds."""

from collections.abc import Callable, Sequence
from mmap import mmap

from typing_extensions import Buffer

from hf_bpe.core._arrays import TokenArrays
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._runs import Run
from hf_bpe.encoding._encoder import AddedTokenTuple, AnyText, Ids, Numbers, Options, TemplateIds
from hf_bpe.encoding._layout import Padding
from hf_bpe.reference._options import LearningOptions
from hf_bpe.reference._training_alphabet import TrainingAlphabet

class Counter:
    """Counts the pre-tokens of texts in threads, none of which outlives a call.

    One thread at a time may call it; a second gets a RuntimeError.

    Args:
        pattern: how text is cut.
        special_tokens: text is split at them first, at the longest where several begin.
        threads: number of threads, at most; the result does not depend on it.
        memory: what the counts may take, in bytes; 0 for as much as they need.
        simd: one of `simd_names()`, None for the best; the result does not depend on it.
        chunk_bytes: what a thread takes at a time; the result does not depend on it.
    """

    def __init__(
        self,
        pattern: str | Chain | None,
        special_tokens: list[bytes],
        *,
        threads: int,
        memory: int = 0,
        simd: str | None = None,
        chunk_bytes: int = 1048576,
    ) -> None: ...
    def add(
        self,
        texts: list[str | bytes | mmap],
        *,
        weight: int = 1,
        first_chunk: int = 0,
        start: int = 0,
        stop: int | None = None,
        check_utf8: bool,
        progress: Callable[[int], object] | None,
    ) -> tuple[int | None, tuple[int, int] | None]:
        """Count texts, without copying them.

        Args:
            texts: a str must have no lone surrogates. Of a mapping that is read only, pages are given back to the
                system when they are counted.
            weight: how many times each text counts.
            first_chunk: what an earlier call with the same texts returned.
            start, stop: count only from the first safe cut from `start` on (0: from the beginning) to the first from
                `stop` on (None: to the end). Goes with a single text.
            check_utf8: refuse texts that are not UTF-8; a str always is.
            progress: called about twenty times a second with the number of bytes done of these texts.

        Returns:
            None if all is counted; else the memory is used up, and this is the chunk to continue with after `drain`.
            And the index of the first text that is not UTF-8 with the offset of its first byte that is not; the counts
            are of no more use then. None if there is none.

        Raises:
            OverflowError: counts might pass 64 bits.
            UnicodeEncodeError: a str with lone surrogates.
            KeyboardInterrupt, or what `progress` raises: part of the texts is counted.
        """

    def drain(self) -> RunMerger:
        """Return the counts of all texts so far as a sorted run, to be read once, and start again from none.

        Raises:
            KeyboardInterrupt: while they are sorted; they are lost.
        """

def learn_merges(
    counts: Callable[[], Run],
    options: LearningOptions,
    *,
    initial: list[tuple[bytes, bytes]],
    max_merges: int,
    parts: str | Chain | None = "gpt2",
    threads: int = 1,
    alphabet: TrainingAlphabet | None = None,
    progress: Callable[[list[tuple[bytes, bytes]], int], object] | None,
    span: int = 64,
    min_slots: int = 524288,
) -> list[tuple[bytes, bytes]]:
    """Learn merges as hf_bpe.reference does.

    Args:
        counts: what returns a sorted run, to be read from its beginning, twice.
        parts: a pattern that cuts words where the initial merges do not cross, so that they are encoded fast.
        threads: threads that encode the words with the initial merges, and index pairs.
        alphabet: the characters to learn from, and tokens that no merge makes; None for bytes.
        progress: called about twenty times a second and at the end, with the merges since its last call, none or more,
            and how often the last one occurred.
        span: how many times rarer than the commonest pair a pair may be to be indexed; the result is always the same.
        min_slots: how many tokens a thread that indexes pairs has at least; the result is always the same.
    """

def learn_parity_merges(
    counts: list[Callable[[], Run]],
    dev: list[Callable[[], Run]],
    options: LearningOptions,
    *,
    max_merges: int,
    global_merges: int,
    window: int,
    alpha: float,
    ratios: Sequence[float],
    progress: Callable[[int], object] | None,
) -> tuple[list[tuple[bytes, bytes]], list[int]]:
    """Learn merges as hf_bpe.reference._parity does, from counts of several languages.

    Args:
        counts, dev: for each language what returns a sorted run, to be read from its beginning, several times.
        window: 0 for none.
        progress: called about twenty times a second, with the number of merges so far.

    Returns:
        The merges, and for each the number of the language that it was learned for.
    """

def training_bytes(
    counts: Callable[[], Run],
    initial: list[tuple[bytes, bytes]],
    *,
    max_merges: int,
    parts: str | Chain | None,
    threads: int,
    alphabet: TrainingAlphabet | None = None,
) -> int:
    """Return how many bytes of memory learn_merges takes beyond the words; rather too many than too few."""

def count_characters(counts: Callable[[], Run]) -> dict[int, int]:
    """Return how often each character occurs in counted words, by code point."""

def pre_tokenize(text: bytes, pattern: str | Chain | None, *, simd: str | None = None) -> list[bytes]:
    """Cut text into pre-tokens."""

def simd_names() -> list[str]:
    """Return what the scanner can use on this machine: "scalar", and "avx2" or "neon"."""

def find_last_cut(text: bytes, pattern: str | Chain | None, special_tokens: list[bytes]) -> int:
    """Return the last place at which text can be cut without changing a count, whatever follows; 0 if there is none."""

class Chain:
    """A pattern that has no name: stages of compiled expressions.

    Args:
        stages: for each its instructions, as an array of five uint32 each; the number of the first; the ranges of its
            sets of characters, as arrays of uint32; a byte for each set that says whether it has the edge of the text;
            the number of its behavior; whether matches and what is between them change places; whether it sees the
            printable characters of bytes; whether it first puts a space before pieces, as at most one stage does;
            whether only at the beginning of a text; and what it writes spaces as, empty to leave them.
            See `hf_bpe.pretokenizers._chain_programs`.
        cuts: a byte for each pair of ASCII characters, which says whether any text may be cut between them.

    Raises:
        ValueError: a program is malformed.
    """

    def __init__(
        self, stages: list[tuple[bytes, int, list[bytes], bytes, int, int, int, int, int, bytes]], cuts: bytes
    ) -> None: ...

class MayNotBeNfc(ValueError):
    pass

class PrefixCache:
    """The store of `hf_bpe.encoding.PrefixCache`, which encoders share by `with_prefix_cache`.

    Several threads may use it at once, and a process may be forked at any time.

    Args:
        max_bytes: the most memory that it takes.
    """

    def __init__(self, max_bytes: int) -> None: ...
    @property
    def max_bytes(self) -> int: ...
    def statistics(self) -> tuple[int, int, int, int, int, int, int]:
        """Return the fields of `hf_bpe.encoding.PrefixCacheStatistics`."""

    def clear(self) -> None:
        """Drop all texts, and the statistics."""

class TextEncoder:
    """What `Encoder.text_encoder` returns a method of."""

    def encode(self, text: AnyText, split_special_tokens: bool, add_special_tokens: bool) -> list[int]: ...

class Encoder:
    """The native `hf_bpe.encoding._encoder.Encoder`, where every method is described.

    Several threads may use it at once. Each that does holds a cache of pre-tokens, of about 64 MB at most, that waits
    for the next call; a process may be forked at any time. No thread outlives a call.

    Args:
        model: what `model` returns.
        rebuild: what pickle calls, with the model and the added tokens.
        vocab: that of the model: ids below 2**31, of which the highest decides how much memory decoding takes.
        merge_ids: the `hf_bpe.core._arrays.MergeIds` of the model, whose bytes are compared; there must be fewer than
            2**22 merges and about 2**21 tokens.
        pattern: the name of a pattern that is built in, a chain, or None for no pre-tokenization.
        excluded_tokens: the tokens that are not looked up as whole pre-tokens before merging; None to look up none.
        drop_missing_bytes: that of the model.
        simd: one of `simd_names()`, None for the best; the result does not depend on it.
        chunk_bytes: what a thread takes at a time; the result does not depend on it.

    Raises:
        ValueError: merges of what is not in the vocabulary, merges that are given twice, or too many of anything.
    """

    def __init__(
        self,
        model: BPEModel,
        rebuild: Callable[..., object],
        vocab: TokenArrays,
        merge_ids: bytes,
        pattern: str | Chain | None,
        *,
        excluded_tokens: list[bytes] | None = None,
        drop_missing_bytes: bool = False,
        simd: str | None = None,
        chunk_bytes: int = 262144,
    ) -> None: ...
    @staticmethod
    def of_characters(
        model: BPEModel,
        rebuild: Callable[..., object],
        vocab: TokenArrays,
        merge_ids: bytes,
        byte_ids: bytes,
        space: str,
        *,
        prefix: int,
        splits: bool,
        unknown_id: int | None,
        fuses_unknown: bool,
        keeps_spaces: bool,
        simd: str | None = None,
        chunk_bytes: int = 262144,
    ) -> Encoder:
        """Return the encoder of a model whose alphabet is characters.

        Args:
            model, rebuild, vocab, simd, chunk_bytes: as for an encoder of bytes.
            merge_ids: the ids of the tokens of each merge.
            byte_ids: the ids of the tokens of all bytes, as uint32; 2**32 - 1 where the character is a token; or empty.
            space: what the model writes in place of spaces, so that tokens with a space are no text; or empty.
            prefix: before which segments of text a space is put: 0 none, 1 those that do not begin with one, 2 all, 3
                one at the beginning of a text that does not begin with one.
            splits: whether each space begins a pre-token.
            unknown_id: the id of characters without a token, without byte_ids.
            fuses_unknown: whether those side by side become one id.
            keeps_spaces: whether added tokens with normalized=True strip no spaces.
        """

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> Encoder: ...
    def with_model(self, model: BPEModel) -> Encoder: ...
    def with_prefix_cache(self, cache: PrefixCache) -> Encoder:
        """Return an encoder that looks up beginnings of texts in a cache, and keeps them there."""

    def refusing_changes(self) -> Encoder:
        """Return one with the same cache that raises MayNotBeNfc for text that normalization to NFC may change."""

    def without_prefix(self) -> Encoder:
        """Return one of text that holds what a model of characters puts before segments."""

    def known_characters(self, text: AnyText, options: Options) -> int:
        """Return how many characters of a text are surely those of one that was encoded before; 0 without a cache."""

    def __reduce__(self) -> tuple[object, ...]: ...
    @property
    def model(self) -> BPEModel: ...
    @property
    def lacks_bytes(self) -> bool: ...
    def encode(self, text: AnyText, options: Options) -> list[int]: ...
    def text_encoder(
        self, usual: Options, as_text: Options, template_ids: TemplateIds, on_double_start: Callable[[], object] | None
    ) -> Callable[[AnyText, bool, bool], list[int]]: ...
    def encode_batch(self, texts: list[AnyText], options: Options, threads: int) -> list[list[int]]: ...
    def encode_to_numpy(self, texts: list[AnyText], options: Options, threads: int) -> tuple[Ids, Numbers]: ...
    def encode_utf8(
        self, data: Buffer, begins: Numbers, ends: Numbers, options: Options, threads: int
    ) -> tuple[Ids, Numbers]: ...
    def encode_with_offsets(self, texts: list[AnyText], options: Options) -> tuple[Ids, Numbers, Numbers]: ...
    def encode_to_rows(
        self,
        texts: list[AnyText],
        options: Options,
        threads: int,
        template_ids: TemplateIds,
        limit: tuple[int, bool] | None | None,
        padding: Padding | None,
    ) -> tuple[list[list[int]], list[list[int]]]: ...
    def encode_to_row_arrays(
        self,
        texts: list[AnyText],
        options: Options,
        threads: int,
        template_ids: TemplateIds,
        limit: tuple[int, bool] | None | None,
        padding: Padding | None,
    ) -> tuple[Numbers, Numbers] | None: ...
    def count_tokens(self, texts: list[AnyText], options: Options, threads: int) -> list[int]: ...
    def merge_words(self, words: list[bytes], unknown_id: int) -> tuple[Ids, Numbers]: ...
    def last_merges(self, words: list[bytes]) -> Numbers: ...
    def find_last_cut(self, data: bytes, options: Options) -> int: ...
    def decode(self, ids: Sequence[int], skipped: bytes) -> bytes: ...
    def decode_text(self, ids: Sequence[int], skipped: bytes, errors: str) -> str: ...
    def decode_batch(self, rows: list[Sequence[int]], skipped: bytes, errors: str) -> list[str]: ...

def from_printable(texts: list[str]) -> list[bytes | None]:
    """Return what `hf_bpe.pretokenizers.from_printable` does of each text."""

def change_tokens(tokens: TokenArrays, changes: dict[int, bytes | None]) -> TokenArrays:
    """Return tokens in the order of their ids, without empty ones, and with other bytes for some ids or none."""

def find_tokens(tokens: TokenArrays, wanted: list[bytes]) -> dict[bytes, int]:
    """Return token → id of the wanted tokens that exist."""

def write_tokens(
    tokens: TokenArrays, form: str, text_ids: bytes | None, merges: bytes | None, around: tuple[str, str, str]
) -> bytes | None:
    """Return what `hf_bpe.core._arrays.TokenArrays.write` does; None if ids of merges are large."""

def read_vocab_and_merges(vocab_json: bytes, merges_txt: bytes) -> tuple[dict[str, int], TokenArrays, bytes] | None:
    """Read the content of a `vocab.json`, and that of a `merges.txt` with or without a header.

    Returns:
        What `hf_bpe.formats._files.native_readers.FileModel` has. None if the first is not a JSON object in UTF-8 of
        distinct keys to distinct ids of 32 bits, or the second has anything but merges of its tokens, or one twice.
    """

def read_model(text: bytes, as_text: bool = False) -> tuple[bytes, tuple[dict[str, int], TokenArrays, bytes]] | None:
    """Read `model.vocab` and `model.merges` in the content of a `tokenizer.json`.

    Args:
        text: the content.
        as_text: whether tokens are written as text, and not each byte as a printable character.

    Returns:
        The text with `{}` and `[]` in their places, which is valid JSON if and only if the text is; and the result of
        `read_vocab_and_merges`. None if either is missing or irregular.
    """

def texts_beyond_nfc(texts: list[AnyText]) -> Numbers:
    """Return the numbers of the texts that normalization to NFC may change."""

def spans_beyond_nfc(data: Buffer, begins: Numbers, ends: Numbers) -> Numbers:
    """Return what `texts_beyond_nfc` does for texts in a buffer, as `Encoder.encode_utf8` takes them."""

def rows_to_lists(
    ids: Ids, spans: Numbers, template_ids: TemplateIds, width: int, pad_id: int, is_left: bool
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the lists of `hf_bpe.encoding._layout.Layout`."""

def rows_to_arrays(
    ids: Ids, spans: Numbers, template_ids: TemplateIds, width: int, pad_id: int, is_left: bool
) -> tuple[Numbers, Numbers]:
    """Return its arrays; raise a ValueError if a row exceeds the width."""

def pad_rows(rows: list[list[int]], length: int, value: int, is_left: bool) -> Numbers | None:
    """Return rows filled up to a length as an int64 array; None if one is longer, or no list of ints in 64 bits."""

class RunMerger:
    """What `hf_bpe.counting._runs.merge_runs` returns. After reading was interrupted, it is of no more use."""

    def __init__(self, runs: Sequence[Run], multipliers: Sequence[int], least: int = 1) -> None: ...
    def read(self, size: int) -> bytes: ...
    @property
    def words(self) -> int: ...
    @property
    def total(self) -> int: ...

class RunReader:
    """Reads a sorted run.

    Raises, also later: ValueError for what is no run; what reading it raises.
    """

    def __init__(self, run: Run) -> None: ...
    def next(self, words: int) -> list[tuple[bytes, int]]:
        """Return up to this number of words and their counts; none only at the end."""

def join_tokens(data: bytes, offsets: bytes, ids: Ids) -> bytes:
    """Return the bytes of ids.

    Args:
        data: the bytes of all tokens.
        offsets: int64, one more than tokens: the bytes of token i are `data[offsets[i] : offsets[i + 1]]`.
        ids: the ids.

    Raises:
        ValueError: offsets are not in order, or an id is too high.
    """

def longest_prefixes(data: bytes, offsets: bytes, other_data: bytes, other_offsets: bytes, candidates: Ids) -> Numbers:
    """Return for each token the id of the longest token of another vocabulary that is a prefix of it, or -1.

    Args:
        data, offsets: the tokens, as for `join_tokens`.
        other_data, other_offsets: those of the other vocabulary.
        candidates: the ids of the other vocabulary that count; of equal tokens the first is taken.
    """

NativePattern = str | Chain | None
"""A pattern that is built in, a chain, or None for no pre-tokenization."""
