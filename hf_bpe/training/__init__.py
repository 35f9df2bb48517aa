"""Training: from counts, or text, to a model."""

from hf_bpe.training._train import train, train_bpe

__all__ = ["train", "train_bpe"]
