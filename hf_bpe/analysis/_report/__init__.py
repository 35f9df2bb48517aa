"""Reports of how well tokenizers fit texts: figures, tables, charts. docs/how-to/measure.md explains the figures."""
