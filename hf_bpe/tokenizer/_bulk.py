"""The bulk API of BPETokenizer: plain ids in arrays, lists and files, at the speed of the engine.

No special tokens are added, nothing is padded or truncated by default, and no BatchEncoding is created. Special tokens
in the text are found as usual, and the ids equal those of a call with `add_special_tokens=False`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from tqdm import tqdm
from transformers.utils import logging, to_py_obj

from hf_bpe._utils.arguments import (
    at_least,
    check_choice,
    check_flag,
    check_int,
    check_path,
    check_sequence,
    check_str,
    checked,
    optional,
    short_repr,
    wrong_type,
)
from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.input_files import open_stream
from hf_bpe._utils.processes import default_threads
from hf_bpe.engine._encoder import AnyText, Encoder, Ids, Numbers, Options, Padding, is_skipped
from hf_bpe.engine._streaming import NpyWriter, encode_blocks
from hf_bpe.tokenizer._batch_layout import MOST_IDS

logger = logging.get_logger(__name__)

_BLOCK_BYTES = 1 << 20
_PARSED, _AS_TEXT = Options(), Options(split_special_tokens=True)
_AT_MOST_THREADS = 1 << 16
_CHECKS = {
    "split_special_tokens": optional(check_flag),
    "num_workers": optional(at_least(1)),
    "length": optional(lambda name, value: check_int(name, value, 0, MOST_IDS)),
    "separator": optional(check_str),
    "output": check_path,
    "show_progress": check_flag,
}


class EncodedFiles(NamedTuple):
    """The files that `encode_file` wrote.

    Attributes:
        ids: the path of the ids.
        offsets: the path of the offsets at which documents begin, with the end of the last one.
        num_tokens: number of ids.
        num_documents: number of documents.
    """

    ids: Path
    offsets: Path
    num_tokens: int
    num_documents: int


class BulkMethods:
    """The bulk methods of BPETokenizer; `split_special_tokens` defaults to the tokenizer's setting.

    Several threads may call the same tokenizer. `num_workers` is the number of threads of one call, None for one per
    core; no result depends on it.
    """

    add_prefix_space: bool
    errors: str
    # Attributes of PreTrainedTokenizer, which is not typed.
    split_special_tokens: bool
    unk_token: Any
    unk_token_id: Any
    eos_token: Any
    pad_token_id: Any
    padding_side: str
    _added_tokens_decoder: dict[int, Any]
    if TYPE_CHECKING:

        @property
        def _engine(self) -> Encoder: ...

        @property
        def _special_ids(self) -> bytes: ...

    def encode_bytes(self, data: AnyText, *, split_special_tokens: bool | None = None) -> list[int]:
        r"""Encode bytes, UTF-8 or not, so that `decode_bytes` returns them exactly.

        Special tokens are found in the bytes; no special tokens and no prefix space are added. (Added tokens whose
        flags strip white space lose it, as usual; and a tokenizer with a normalizer normalizes valid UTF-8, so that
        `decode_bytes` returns the normalized text.)

        Args:
            data: bytes, or a str; a byte outside valid UTF-8 sequences belongs to no character class.
            split_special_tokens: encode special tokens as ordinary text; None for the tokenizer's own setting.

        Raises:
            ValueError: a byte has no token, and there is no `unk_token`.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=256)
        >>> tokenizer.encode_bytes(b"\xff low")
        [255, 32, 108, 111, 119]
        """
        # Inlined from `_options`, which would take longer than encoding a few words.
        as_text = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        if type(data) is not bytes or type(as_text) is not bool:
            check_text("data", data)
            as_text = check_flag("split_special_tokens", as_text)
        try:
            return self._engine.encode(data, _AS_TEXT if as_text else _PARSED)
        except ValueError:
            if not self._engine.lacks_bytes:
                raise
            return self._engine.encode(data, self._options(split_special_tokens, add_prefix_space=False))

    @checked(**_CHECKS)
    def encode_to_lists(
        self, texts: Sequence[AnyText], *, split_special_tokens: bool | None = None, num_workers: int | None = None
    ) -> list[list[int]]:
        """Return a list of ids for each text.

        Raises:
            TypeError: the argument is a single text, or an element is neither str nor bytes.
            ValueError: a byte has no token, and there is no `unk_token`; also in the methods below.

        >>> from hf_bpe import BPETokenizer
        >>> BPETokenizer.train(["low"], vocab_size=256).encode_to_lists(["lo", "", b"w"])
        [[108, 111], [], [119]]
        """
        options = self._options(split_special_tokens)
        return self._engine.encode_batch(check_texts("texts", texts), options, _threads(num_workers))

    @checked(**_CHECKS)
    def encode_to_numpy(
        self, texts: Sequence[AnyText], *, split_special_tokens: bool | None = None, num_workers: int | None = None
    ) -> tuple[Ids, Numbers]:
        """Return the ids of all texts in one array.

        Returns:
            ids: uint32, of shape (number of ids).
            offsets: int64, of shape (number of texts + 1): the ids of text i are `ids[offsets[i] : offsets[i + 1]]`.

        >>> from hf_bpe import BPETokenizer
        >>> ids, offsets = BPETokenizer.train(["low"], vocab_size=256).encode_to_numpy(["lo", "", b"w"])
        >>> ids.tolist(), offsets.tolist()
        ([108, 111, 119], [0, 2, 2, 3])
        """
        options = self._options(split_special_tokens)
        return self._engine.encode_to_numpy(check_texts("texts", texts), options, _threads(num_workers))

    @checked(**_CHECKS)
    def encode_to_padded(
        self,
        texts: Sequence[AnyText],
        *,
        length: int | None = None,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
    ) -> tuple[Numbers, Numbers]:
        """Return the ids of texts as rows of one length, padded with `pad_token` on the `padding_side`.

        Args:
            texts: str or bytes.
            length: the length of each row; longer rows lose their last ids. None for the length of the longest.
            split_special_tokens, num_workers: as in the other bulk methods.

        Returns:
            ids and mask, both int64 of shape (number of texts, length); the mask is 1 for ids and 0 for padding.

        Raises:
            ValueError: rows need padding, but there is no `pad_token`; the length is negative.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
        >>> tokenizer.pad_token = "<|endoftext|>"
        >>> ids, mask = tokenizer.encode_to_padded(["low", "lo"])
        >>> ids.tolist(), mask.tolist()
        ([[108, 111, 119], [108, 111, 256]], [[1, 1, 1], [1, 1, 0]])
        """
        check_choice("padding_side", self.padding_side, ("left", "right"))
        pad_id = self.pad_token_id
        padding = Padding(length, -1 if pad_id is None else pad_id, self.padding_side == "left")
        options = self._options(split_special_tokens)
        flat, offsets = self._engine.encode_to_numpy(check_texts("texts", texts), options, _threads(num_workers))
        begins, ends = offsets[:-1], offsets[1:]
        spans = np.stack([begins, ends if length is None else np.minimum(ends, begins + length)], axis=1)
        ids, mask = self._engine.rows_to_arrays(flat, spans[:, None], [(), ()], padding)
        if pad_id is None and not mask.all():
            raise ValueError("rows of different length need a pad_token, but there is none; set one")
        return ids, mask

    @checked(**_CHECKS)
    def count_tokens(
        self, texts: Sequence[AnyText], *, split_special_tokens: bool | None = None, num_workers: int | None = None
    ) -> list[int]:
        """Return the number of ids of each text, without storing the ids.

        >>> from hf_bpe import BPETokenizer
        >>> BPETokenizer.train(["low"], vocab_size=256).count_tokens(["lo", "", b"w"])
        [2, 0, 1]
        """
        options = self._options(split_special_tokens)
        return self._engine.count_tokens(check_texts("texts", texts), options, _threads(num_workers))

    @checked(**_CHECKS)
    def encode_iterable(
        self, pieces: Iterable[AnyText], *, split_special_tokens: bool | None = None, num_workers: int | None = None
    ) -> Iterator[int]:
        """Yield the ids of the concatenation of pieces, exactly as if it were encoded whole.

        Pieces may end anywhere: inside a word, a special token or (in bytes) a character. About 16 MB are held at a
        time, or the text up to the next safe cut if that is longer: one word, or everything if the pattern is None or a
        regular expression and there is no special token.

        Args:
            pieces: str or bytes, such as an open text file.
            split_special_tokens, num_workers: as in the other bulk methods.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=258)
        >>> list(tokenizer.encode_iterable(["lo", "w lo", "w"])) == tokenizer.encode("low low")
        True
        """
        options = self._options(split_special_tokens)
        for ids in encode_blocks(self._engine, pieces, options, _threads(num_workers)):
            yield from ids.tolist()

    @checked(**_CHECKS)
    def encode_file(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        output: str | os.PathLike[str],
        *,
        separator: str | None = None,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        show_progress: bool = False,
    ) -> EncodedFiles:
        """Encode text files to one array of ids on disk, in bounded memory, for training models.

        Two files are written, both or none, which `numpy.load` reads (with `mmap_mode="r"`, without loading them):
        `output`, the concatenated ids of all files, uint16 if all ids of the tokenizer fit, else uint32; and next to it
        a file that ends in `.offsets.npy` instead of `.npy`: the int64 offsets at which documents begin, with the end
        of the last. A process that is killed while it replaces old files leaves no `output`, rather than ids and
        offsets that do not match.

        Args:
            paths: one file or several, UTF-8 or not, in the order in which to encode them.
            output: a path that ends in `.npy`.
            separator: the token that ends a document and is its last id; None for `eos_token`. The end of a file also
                ends a document.
            split_special_tokens, num_workers: as in the other bulk methods.
            show_progress: show a bar of the bytes read, on standard error.

        Raises:
            OSError: a file cannot be read or written.
            ValueError: `output` does not end in `.npy`; the separator is not a token.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
        >>> _ = Path("corpus.txt").write_text("low<|endoftext|>lo<|endoftext|>")
        >>> tokenizer.encode_file("corpus.txt", "tokens.npy").num_documents
        2
        >>> np.load("tokens.npy").tolist(), np.load("tokens.offsets.npy").tolist()
        ([108, 111, 119, 256, 108, 111, 256], [0, 4, 7])
        """
        listed = [paths] if isinstance(paths, (str, os.PathLike)) else check_sequence("paths", paths, "paths")
        files = [Path(check_path("paths", path)) for path in listed]
        target = Path(output)
        if target.suffix != ".npy":
            raise ValueError(f"output: expected a name that ends in .npy, got {str(output)!r}")
        separator_id = self._separator_id(separator)
        options, threads = self._options(split_special_tokens), _threads(num_workers)
        total = sum(file.stat().st_size for file in files)
        # One encoder for all files, because the ids of tokens added meanwhile may not fit in the array.
        encoder = self._engine
        highest = max([*encoder.model.vocab, *self._added_tokens_decoder], default=0)
        dtype = np.uint16 if highest < 1 << 16 else np.uint32
        names = target.name, target.stem + ".offsets.npy"
        with (
            staged_folder(target.parent, last=names[:1]) as staging,
            NpyWriter(staging / names[0], dtype) as all_ids,
            NpyWriter(staging / names[1], np.int64) as offsets,
            tqdm(total=total, unit="B", unit_scale=True, disable=not show_progress) as bar,
        ):
            offsets.append(np.zeros(1, np.int64))
            for file in files:
                last = all_ids.size
                with open_stream(file) as source:
                    for ids in encode_blocks(encoder, _read_blocks(source, bar), options, threads):
                        ends = np.flatnonzero(ids == separator_id) + (all_ids.size + 1)
                        offsets.append(ends)
                        all_ids.append(ids)
                        last = int(ends[-1]) if len(ends) else last
                if last != all_ids.size:
                    offsets.append(np.array([all_ids.size]))
        return EncodedFiles(target, target.with_name(names[1]), all_ids.size, offsets.size - 1)

    def decode_bytes(self, token_ids: Any, *, skip_special_tokens: bool = False) -> bytes:
        """Return exactly the bytes of ids.

        Args:
            token_ids: an id, or a sequence of ids (list, array or tensor of one dimension).
            skip_special_tokens: leave special tokens out.

        An id outside the vocabulary is decoded as `unk_token` if there is one, else it is skipped with a warning in the
        log.
        """
        ids = [token_ids] if type(token_ids) is int else as_lists("token_ids", token_ids)
        ids = [ids] if isinstance(ids, int) else ids
        skipped = self._skipped_ids(skip_special_tokens)
        try:
            return self._engine.decode(ids, skipped)
        except _ODD_IDS:
            return self._engine.decode(self._known_ids("token_ids", ids, skipped), b"")

    def decode_to_texts(self, sequences: Sequence[Sequence[int]], *, skip_special_tokens: bool = False) -> list[str]:
        """Return the text of each sequence of ids; invalid UTF-8 is handled according to `errors`.

        >>> from hf_bpe import BPETokenizer
        >>> BPETokenizer.train(["low"], vocab_size=256).decode_to_texts([[108, 111], [], [119]])
        ['lo', '', 'w']
        """
        rows = [as_lists("sequences", row) for row in check_sequence("sequences", sequences, "rows of ids", 2)]
        skipped = self._skipped_ids(skip_special_tokens)
        try:
            return self._engine.decode_batch(rows, skipped, self.errors)
        except _ODD_IDS:
            known: list[Sequence[int]] = [self._known_ids("sequences", row, skipped) for row in rows]
            return self._engine.decode_batch(known, b"", self.errors)

    def _options(self, split_special_tokens: bool | None, *, add_prefix_space: bool | None = None) -> Options:
        return Options(
            self.split_special_tokens if split_special_tokens is None else split_special_tokens,
            self.add_prefix_space if add_prefix_space is None else add_prefix_space,
            self.unk_token_id if self._engine.lacks_bytes else None,  # slow to look up in transformers
        )

    def _separator_id(self, separator: str | None) -> int:
        """Return the id that ends documents; -1 if there is none."""
        token = self.eos_token if separator is None else separator
        if token is None:
            return -1
        if token not in {str(added) for added in self._added_tokens_decoder.values()}:
            raise ValueError(f"separator: {token!r} is not a special or added token of this tokenizer")
        token_id: int = self.convert_tokens_to_ids(token)  # type: ignore[attr-defined]
        return token_id

    def _skipped_ids(self, skip_special_tokens: bool) -> bytes:
        return self._special_ids if check_flag("skip_special_tokens", skip_special_tokens) else b""

    def _known_ids(self, name: str, ids: Any, skipped: bytes) -> list[int]:
        """Return the ids to decode, with `unk_token` for ids outside the vocabulary."""
        if not isinstance(ids, (list, tuple)):
            raise wrong_type(name, "a row of ids", ids)
        known: list[int] = []
        for at, each in enumerate(ids):
            token_id = check_int(f"{name}[{at}]", each)
            if is_skipped(token_id, skipped):
                continue
            if token_id in self._engine.model.vocab or token_id in self._added_tokens_decoder:
                known.append(token_id)
            elif self.unk_token is not None:
                known.append(self.unk_token_id)  # not skipped, although it is a special token
            else:
                logger.warning("id %s is not in the vocabulary; it is skipped", short_repr(token_id))
        return known


def as_lists(name: str, ids: Any) -> Any:
    """Return an id as int, several ids as a list or tuple, and rows of ids as a list of these.

    Args:
        name: the name of the argument, for messages.
        ids: an id, or a list, array or tensor of ids or of rows of ids; the ids in a list are not checked.

    Raises:
        TypeError: the value is none of these.
    """
    # transformers' `to_py_obj` converts lists id by id.
    if isinstance(ids, (list, tuple)):
        is_of_arrays = len(ids) > 0 and hasattr(ids[0], "ndim") and ids[0].ndim > 0
        return [as_lists(name, row) for row in ids] if is_of_arrays else ids
    if hasattr(ids, "ndim"):
        ids = to_py_obj(ids)
        return ids if isinstance(ids, list) else check_int(name, ids)
    if hasattr(type(ids), "__index__"):
        return check_int(name, ids)
    return [*check_sequence(name, ids, "ids")]


# The errors of engines for ids without a token and for values that are not ids.
_ODD_IDS = (KeyError, TypeError, OverflowError, ValueError)


def check_text(name: str, value: Any) -> Any:
    """Return the value if it is a str or bytes."""
    if not isinstance(value, (str, bytes)):
        is_buffer = False
        got = type(value).__name__
        with suppress(TypeError):
            memoryview(value)  # a mutable buffer, which the native core would read while another thread changes it
            is_buffer = True
        if is_buffer:
            raise TypeError(f"{name}: expected str or bytes, got {got}, which can change; give bytes(text)")
        raise wrong_type(name, "str or bytes", value)
    return value


def check_texts(name: str, value: Any) -> list[AnyText]:
    """Return a copy of a list of texts, each str or bytes, because another thread may change the list."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected a list of texts, got a single {type(value).__name__}; write [text]")
    texts = [*value] if isinstance(value, (list, tuple)) else [*check_sequence(name, value, "a list of texts")]
    if not {*map(type, texts)} <= {str, bytes}:
        for at, text in enumerate(texts):
            check_text(f"{name}[{at}]", text)
    return texts


def _threads(num_workers: int | None) -> int:
    return default_threads() if num_workers is None else min(num_workers, _AT_MOST_THREADS)


def _read_blocks(file: BinaryIO, bar: tqdm[Any]) -> Iterator[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block
        bar.update(len(block))
