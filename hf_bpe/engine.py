"""The one seam between what hf_bpe offers and what computes it.

Everything above imports the algorithms from here, never from `reference`; a faster engine takes its place here and
nowhere else. What crosses the seam: documents and pre-tokens are bytes, counts a mapping of pre-token to int, merges
a list of pairs of bytes, ids lists of int.
"""

from hf_bpe.reference import Encoder, count_pre_tokens, learn_merges, pre_tokenize

__all__ = ["Encoder", "count_pre_tokens", "learn_merges", "pre_tokenize"]
