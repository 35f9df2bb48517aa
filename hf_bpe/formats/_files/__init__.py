"""The files that hold a vocabulary: `tokenizer.json`, and `vocab.json` with `merges.txt`."""
