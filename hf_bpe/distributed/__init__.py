"""Counting on a Ray cluster."""

from hf_bpe.distributed._ray import count

__all__ = ["count"]
