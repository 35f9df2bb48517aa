"""Methods that both tokenizer classes have, and transformers has not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from hf_bpe._utils.arguments import as_lists, check_flag, check_str, checked, optional
from hf_bpe.alignment._pairs import EncodedPair, encode_pair
from hf_bpe.alignment._spans import Spans, TokenBytes, spans, token_bytes
from hf_bpe.encoding._sessions.session import Session
from hf_bpe.encoding._sessions.streams import DecodeStream
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._segments import Segment, encode_segments
from hf_bpe.tokenizer._chat_segments import chat_segments
from hf_bpe.tokenizer._self_types import AnyTokenizer


class SharedMethods(AnyTokenizer):
    """The methods; a class with them says by `_pipeline` and `_decoding_pipeline` what encodes and decodes."""

    def __repr__(self) -> str:
        # That of transformers has a line for each added token, 256 for Llama 3, and another size than `len`.
        about = f"name_or_path={self.name_or_path!r}, tokens={len(self)}, special_tokens={self.special_tokens_map}"
        return f"{type(self).__name__}({about})"

    def token_bytes(self, *, size: int | None = None) -> TokenBytes:
        """Return the bytes that each id stands for; see `hf_bpe.alignment.token_bytes`.

        >>> from hf_bpe import BPETokenizer
        >>> data, offsets = BPETokenizer.train(["low low"], vocab_size=257).token_bytes()
        >>> bytes(data[offsets[256] : offsets[257]])
        b'ow'
        """
        return token_bytes(self, size=size)

    def spans(self, ids: object, *, skip_special_tokens: bool = False, continued: bool = False) -> Spans:
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

    def decode_bytes(self, token_ids: object, *, skip_special_tokens: bool = False) -> bytes:
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

    def decode_stream(self, *, skip_special_tokens: bool = False, ids: object = ()) -> DecodeStream:
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
        pipeline, skips = _required(self._decoding_pipeline), check_flag("skip_special_tokens", skip_special_tokens)
        return pipeline.decode_stream(self.decode_bytes, skips, as_lists("ids", ids))

    def encode_segments(
        self,
        segments: Sequence[tuple[str, bool]],
        *,
        untrusted: Literal["all", "special"] = "all",
        add_special_tokens: bool = False,
    ) -> list[int]:
        """Return the ids of a text that is given in parts, of which only trusted ones may hold added tokens.

        The parts are pre-tokenized and merged as one text, so that the ids are those of `encode` wherever untrusted
        text holds no added token. But added tokens are found in trusted text alone, not in untrusted text nor across
        both: no untrusted text gives the id of a special token, and none takes away, adds or moves an added token of
        the trusted text. An ordinary added token may still be what merges make of its characters, if it is a token of
        the vocabulary, as in Gemma's. Trusted text that touches untrusted text may be merged with it, such as line
        breaks.

        Args:
            segments: pairs (text, trusted).
            untrusted: what untrusted text may not hold: "all" added tokens, or only "special" ones; then ordinary added
                tokens, such as Gemma's `<strong>`, are found in all text. "special" is not enough where a template is
                made of ordinary added tokens, as DeepSeek's `<｜User｜>` or Qwen's `<tool_call>`: see the flags in
                `added_tokens_decoder`.
            add_special_tokens: add the special tokens of the template of sequences; chats have theirs in the text.

        Raises:
            TypeError: a segment is not a pair of str and bool.
            ValueError: the tokenizer searches added tokens in normalized text, and its normalizer changes a trusted
                segment; or a byte has no token, and there is no `unk_token`.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=260, special_tokens=["<|end|>"])
        >>> ids = tokenizer.encode_segments([("low <|e", False), ("nd|>", False), ("<|end|>", True)])
        >>> ids.count(256), tokenizer.decode(ids)
        (1, 'low <|end|><|end|>')
        """
        return encode_segments(_required(self._pipeline), segments, untrusted, add_special_tokens)

    def chat_segments(
        self, conversation: Sequence[object], *, trusted_roles: Iterable[str] = (), **options: Any
    ) -> list[Segment]:
        """Return a rendered chat as segments for `encode_segments`: what the template wrote is trusted.

        Untrusted are all texts of the messages (`content`, `reasoning_content`, names and arguments of tool calls, …)
        but for roles, which must be plain words. Tools, documents and other variables of the template are the
        program's, and trusted. The segments join to exactly what `apply_chat_template(tokenize=False)` returns.

        The chat is rendered a second time with random words in place of the texts, so what is trusted cannot depend on
        what the texts say. A template may write a text as it is, without white space or line breaks around it, or as
        JSON; a chat for which it does more is refused, such as one with reasoning in the text of an answer, which the
        template takes apart.

        Args:
            conversation: the messages.
            trusted_roles: the roles whose messages are trusted, such as ("system",).
            options: arguments of `apply_chat_template`: `add_generation_prompt`, `tools`, `chat_template` and so on.

        Raises:
            TypeError: a message is no mapping, or holds something else than text, numbers, lists and dicts.
            ValueError: a role is no plain word; or the template does more with the texts than to write them.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=260, special_tokens=["<|end|>"])
        >>> tokenizer.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content | trim }}<|end|>{% endfor %}"
        >>> tokenizer.chat_segments([{"role": "user", "content": "low<|end|> "}])  # doctest: +NORMALIZE_WHITESPACE
        [Segment(text='user: ', trusted=True), Segment(text='low<|end|>', trusted=False),
         Segment(text='<|end|>', trusted=True)]
        """
        return chat_segments(
            conversation, lambda messages: self.apply_chat_template(messages, **options, tokenize=False), trusted_roles
        )


def _required(pipeline: Pipeline | None) -> Pipeline:
    if pipeline is None:
        raise ValueError("hf_bpe does not run this tokenizer; a warning in the log says why, is_accelerated whether")
    return pipeline
