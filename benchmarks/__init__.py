"""Benchmarks of hf_bpe beside its peers: `python -m benchmarks --help`. README.md says what is measured."""
