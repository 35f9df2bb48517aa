"""Stands for safetensors where it has no wheel: it has nothing but a version."""

from importlib.metadata import version

__version__ = version("safetensors")
