"""What ids stand for, and text that continues ids; the methods that both tokenizer classes have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_bpe._utils.arguments import check_flag, check_str, checked, optional
from hf_bpe.alignment._pairs import EncodedPair, encode_pair
from hf_bpe.alignment._spans import Spans, TokenBytes, spans, token_bytes
from hf_bpe.encoding._decode_stream import DecodeStream
from hf_bpe.encoding._ids import as_lists
from hf_bpe.encoding._session import Session
from hf_bpe.formats._pipeline import Pipeline


class BytesOfIdsMethods:
    """The methods; the class that has them says by `_pipeline` and `_decoding_pipeline` what encodes and decodes."""

    if TYPE_CHECKING:

        @property
        def _pipeline(self) -> Pipeline | None: ...

        @property
        def _decoding_pipeline(self) -> Pipeline | None: ...

    def token_bytes(self, *, size: int | None = None) -> TokenBytes:
        """Return the bytes that each id stands for; see `hf_bpe.alignment.token_bytes`.

        >>> from hf_bpe import BPETokenizer
        >>> data, offsets = BPETokenizer.train(["low low"], vocab_size=257).token_bytes()
        >>> bytes(data[offsets[256] : offsets[257]])
        b'ow'
        """
        return token_bytes(self, size=size)

    def spans(self, ids: Any, *, skip_special_tokens: bool = False, continued: bool = False) -> Spans:
        """Return the bytes and characters of the decoded text that each id stands for.

        See `hf_bpe.alignment.spans`.

        >>> from hf_bpe import BPETokenizer
        >>> BPETokenizer.train(["low low"], vocab_size=257).spans([108, 256]).characters.tolist()
        [[0, 1], [1, 3]]
        """
        return spans(self, ids, skip_special_tokens=skip_special_tokens, continued=continued)

    def encode_pair(self, context: str, continuation: str, *, add_special_tokens: bool = True) -> EncodedPair:
        """Return the ids of a context and its continuation as one text, and where the continuation begins.

        See `hf_bpe.alignment.encode_pair`.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["slow lower lowest"] * 2, vocab_size=263)
        >>> tokenizer.encode_pair("slow ", "lowest")
        EncodedPair(ids=[261, 262], start=1, spans_join=True)
        """
        return encode_pair(self, context, continuation, add_special_tokens=add_special_tokens)

    @checked(text=check_str, split_special_tokens=optional(check_flag))
    def session(self, text: str = "", *, ids: Any = (), split_special_tokens: bool | None = None) -> Session:
        """Return a session: text that grows at its end, with the ids of the whole, encoding only what is new.

        Args:
            text: the first text; it follows `ids`.
            ids: ids that stay as they are, such as a prompt or what a model has sampled; see `Session.append_ids`.
            split_special_tokens: encode special tokens as ordinary text; None for the tokenizer's own setting.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=260)
        >>> session = tokenizer.session("low lo")
        >>> session.append("wer"), session.ids
        (Change(removed=3, ids=[259, 114]), [257, 259, 114])
        >>> tokenizer.session(ids=[108, 111]).append("west")  # "lo" was sampled as two tokens, and stays so
        Change(removed=0, ids=[119, 101, 115, 116])
        """
        pipeline = _required(self._pipeline)
        if split_special_tokens is None:
            split_special_tokens = getattr(self, "split_special_tokens", None)
        session = Session(pipeline.encoder, pipeline.token_tuples, pipeline.options(split_special_tokens))
        if len(ids) > 0:
            session.append_ids(ids)
        session.append(text)
        return session

    def decode_bytes(self, token_ids: Any, *, skip_special_tokens: bool = False) -> bytes:
        """Return exactly the bytes of ids.

        Args:
            token_ids: an id, or a sequence of ids (list, array or tensor of one dimension).
            skip_special_tokens: leave special tokens out.

        An id outside the vocabulary is decoded as `unk_token`, or without one skipped with a warning in the log.
        """
        ids = [token_ids] if type(token_ids) is int else as_lists("token_ids", token_ids)
        ids = [ids] if isinstance(ids, int) else ids
        skips = check_flag("skip_special_tokens", skip_special_tokens)
        return _required(self._decoding_pipeline).decode_bytes(ids, skips, name="token_ids")

    def decode_stream(self, *, skip_special_tokens: bool = False, ids: Any = ()) -> DecodeStream:
        """Return a streaming decoder, which returns text as soon as its UTF-8 is complete; see `DecodeStream`.

        Args:
            skip_special_tokens: leave special tokens out.
            ids: the ids before the stream, such as a prompt, whose text is not returned. If they end inside a
                character, the stream returns it as a whole.

        >>> from hf_bpe import BPETokenizer
        >>> stream = BPETokenizer.train([], vocab_size=256).decode_stream(ids=[104, 195])
        >>> stream.step(169)
        'é'
        """
        pipeline, given = _required(self._decoding_pipeline), as_lists("ids", ids)
        stream = pipeline.character_stream(check_flag("skip_special_tokens", skip_special_tokens), given)
        return stream or DecodeStream(self.decode_bytes, pipeline.errors, skip_special_tokens, given)


def _required(pipeline: Pipeline | None) -> Pipeline:
    if pipeline is None:
        raise ValueError("hf_bpe does not run this tokenizer; a warning in the log says why, is_accelerated whether")
    return pipeline
