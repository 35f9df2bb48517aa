"""Edits of whole tokenizers: each returns the new tokenizer and the `Remap` of all its ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hf_bpe._utils.arguments import check_ids, checked, optional, short_repr
from hf_bpe.core._checks import check_special_tokens
from hf_bpe.counting._count import CountingKeywords, count
from hf_bpe.counting._normalized_texts import normalized_input
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.editing import _edits as edits
from hf_bpe.editing._remap import Remap
from hf_bpe.tokenizer._self_types import OwnTokenizer
from hf_bpe.training._train import ContinuingOptions

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class EditingMethods(OwnTokenizer):
    """The functions of `hf_bpe.editing` that need to know what a tokenizer has besides its model."""

    @checked()
    def extend(
        self,
        input: TextSource | WordCounts,
        number: int,
        special_tokens: Sequence[str] | None = None,
        **options: Unpack[ContinuingOptions],
    ) -> tuple[Self, Remap]:
        """Learn more tokens from text; return the longer tokenizer, and the remap of all ids.

        Old ids stay, and text to which no new merge applies keeps its ids. New ids come after those of added tokens.
        Text is normalized and split at added tokens first, as this tokenizer encodes it.

        Args:
            input: text, as `hf_bpe.train` takes it: paths, an iterable of texts, sources. Or counts, unless there is a
                normalizer.
            number: number of tokens to add, special tokens included.
            special_tokens: special tokens to add, which get the first of the new ids.
            options: options of `hf_bpe.train`, such as `tie_break`, `max_token_bytes` and `num_workers`.

        Raises, warns:
            See `hf_bpe.train`.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258, pad_token="<pad>")
        >>> longer, remap = tokenizer.extend(["lowest, the lowest, the lowest of all"] * 5, 3)
        >>> longer.tokenize("the lowest"), remap.added[260]
        (['t', 'h', 'e', 'Ġ', 'l', 'owest'], (257, 101, 115, 116))
        """
        contents = [token.content for token in self._added_tokens_decoder.values()]
        new = [token for token in check_special_tokens(special_tokens or ()) if token not in contents]
        edited = edits.extend(
            self.model, input, number, new, reserved=self._added_tokens_decoder, split_at=contents, **options
        )
        return self.with_model(edited)

    @checked()
    def truncate(self, vocab_size: int) -> tuple[Self, Remap]:
        """Remove the last merges; return the smaller tokenizer, and the remap of all ids.

        A trained tokenizer becomes that of a smaller training. The ids become 0, 1, 2, … in the old order; tokens that
        were added to the model come last.

        Args:
            vocab_size: number of tokens to keep, as `len` counts them: added tokens count, too.

        Raises:
            ValueError: `vocab_size` is larger than the number of tokens, or smaller than the number of tokens
                that no merge makes.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=259, pad_token="<pad>")
        >>> smaller, remap = tokenizer.truncate(258)
        >>> len(smaller), remap.removed
        (258, (258,))
        """
        shorter, removed = edits.truncate(self.model, vocab_size, reserved=self._added_tokens_decoder)
        dense, moved = edits.renumber(shorter)
        return self.with_model(edits.Edited(dense, removed.then(moved)))

    @checked(keep=optional(check_ids))
    def prune(
        self,
        input: TextSource | WordCounts | None = None,
        *,
        keep: Iterable[int] | None = None,
        vocab_size: int | None = None,
        min_count: int | None = None,
        **options: Unpack[CountingKeywords],
    ) -> tuple[Self, Remap]:
        """Remove the least used tokens, or all but some; return the smaller tokenizer, and the remap of all ids.

        Text keeps its tokens as long as all of them survive. Bytes, special tokens, added tokens and the parts of every
        token that survives always do. The ids become 0, 1, 2, … in the old order; tokens that were added to the model
        come last.

        Args:
            input: text that shows which tokens are used, as `hf_bpe.count` takes it; it is normalized and split as this
                tokenizer does. Or counts, with the pattern of this tokenizer, of text that was normalized.
            keep: ids of tokens to keep. Without `input` all others are removed.
            vocab_size: with `input`, the number of tokens to reach, as `len` counts them: added tokens count, too.
            min_count: with `input`, remove tokens until none is used less often than this; instead of `vocab_size`.
            options: options of `hf_bpe.count` for text: `num_workers`, `max_memory`, `work_dir`, `show_progress`,
                `callback`.

        Raises:
            TypeError: the combination of arguments is invalid.
            ValueError: `keep` has an id of no token, the size is impossible, or the counts have another pattern.
            OSError: a source cannot be read.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=260, pad_token="<pad>")
        >>> smaller, remap = tokenizer.prune(["low low"], vocab_size=259)
        >>> smaller.tokenize("low low"), len(remap.removed)
        (['low', 'Ġ', 'low'], 1)
        """
        if [vocab_size, min_count].count(None) != (2 if input is None else 1) or (keep is None and input is None):
            raise TypeError(
                "prune: expected keep=ids; or text, or counts, with either vocab_size or min_count; got "
                f"keep={short_repr(keep)}, input={short_repr(input)}, {vocab_size=}, {min_count=}"
            )
        later, model = self.definition.tokens_added_later, self.model
        if input is not None and not isinstance(input, WordCounts):
            specials = edits.tokens_to_split_at([token.content for token in self._added_tokens_decoder.values()])
            text = normalized_input(input, specials, model.normalization, model.pre_tokenizer)
            input = count(text, pattern=model.pre_tokenizer, special_tokens=specials, **options)
        elif options:
            raise TypeError(f"prune: {min(options)} is only for text, which is counted; got input={short_repr(input)}")
        if keep is not None:
            keep = [token_id for token_id in keep if token_id not in later]
        edited = edits.prune(
            model,
            keep=keep,
            counts=input,
            vocab_size=vocab_size,
            min_count=min_count,
            reserved=self._added_tokens_decoder,
        )
        return self.with_model(edited)
