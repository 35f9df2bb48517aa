"""The saved form of BPETokenizer: folders as transformers writes and reads them, verified by loading."""
