"""The algorithms in plain Python, which define what the native core computes.

Faster implementations must give exactly the same results. Text is bytes here: UTF-8, in which a byte that belongs to no
valid sequence is a character of no class. The algorithm is that of Sennrich, Haddow and Birch, "Neural Machine
Translation of Rare Words with Subword Units" (2016), over bytes as in GPT-2 (2019).
"""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.reference._encoder import Encoder, count_pre_tokens, pre_tokenize
    from hf_bpe.reference._splitting import PreToken, pre_tokens
    from hf_bpe.reference._trainer import learn_merges

__all__ = ["Encoder", "PreToken", "count_pre_tokens", "learn_merges", "pre_tokenize", "pre_tokens"]

# Options are here, too, and need nothing else; most programs use the native core.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_encoder": "Encoder count_pre_tokens pre_tokenize",
        "_splitting": "PreToken pre_tokens",
        "_trainer": "learn_merges",
    },
)
