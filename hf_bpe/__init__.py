"""Train, use and convert byte-level BPE tokenizers, native to Hugging Face transformers."""
