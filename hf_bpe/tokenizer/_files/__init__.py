"""The saved form of BPETokenizer, written and read as transformers does, and verified by loading it."""
