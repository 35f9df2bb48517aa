"""Stands for safetensors where it has no wheel: it has nothing but a version."""

__version__ = "0.8.0"
