"""How well tokenizers fit texts: figures, tables and pictures. What each figure means is in docs/how-to/measure.md."""
