"""Calls: what transformers asks of a tokenizer for each text, and the ways to answer it."""
