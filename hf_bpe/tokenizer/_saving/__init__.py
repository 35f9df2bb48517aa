"""Saving to folders and loading from them, for everything that transformers reads there."""
