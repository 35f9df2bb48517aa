"""Helpers that know nothing of tokenizers: files, memory, progress, processes, argument checks."""
