"""Encoding on clusters: ids for the columns of Arrow that engines hand from machine to machine."""

from hf_bpe.distributed._arrow import ArrowEncoder

__all__ = ["ArrowEncoder"]
