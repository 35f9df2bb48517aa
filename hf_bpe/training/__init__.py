"""Training of models from counts or text."""

from hf_bpe.training._parity import Parity
from hf_bpe.training._superwords import Superwords
from hf_bpe.training._train import train, train_bpe

__all__ = ["Parity", "Superwords", "train", "train_bpe"]
