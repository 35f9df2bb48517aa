"""Reports of how well tokenizers fit texts: figures, tables, pictures. docs/how-to/measure.md explains the figures."""
