"""A page on this machine where one types and sees tokens, served by the engine that encodes everywhere else."""

from hf_bpe.playground._playground import Playground

__all__ = ["Playground"]
