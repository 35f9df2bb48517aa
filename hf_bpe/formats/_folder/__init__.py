"""Folders of tokenizers for transformers: the files besides `tokenizer.json`, `vocab.json` and `merges.txt`."""
