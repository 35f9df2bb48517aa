"""Benchmarks of hf_bpe and its peers: `python -m benchmarks --help`. README.md describes the measurements."""
