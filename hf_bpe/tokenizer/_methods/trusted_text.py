"""Text that may not speak for the template; the methods that both tokenizer classes have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._segments import Segment, encode_segments
from hf_bpe.tokenizer._chat_segments import chat_segments


class TrustedTextMethods:
    """The methods; the class that has them says by `_pipeline` what encodes, and renders chats as transformers does."""

    if TYPE_CHECKING:

        @property
        def _pipeline(self) -> Pipeline | None: ...

        def apply_chat_template(self, conversation: Any, **given: Any) -> Any: ...

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
        if self._pipeline is None:
            raise ValueError("encode_segments: hf_bpe does not run this tokenizer; a warning in the log says why")
        return encode_segments(self._pipeline, segments, untrusted, add_special_tokens)

    def chat_segments(
        self, conversation: Sequence[Any], *, trusted_roles: Iterable[str] = (), **given: Any
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
            given: arguments of `apply_chat_template`: `add_generation_prompt`, `tools`, `chat_template` and so on.

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
            conversation, lambda messages: self.apply_chat_template(messages, **given, tokenize=False), trusted_roles
        )
