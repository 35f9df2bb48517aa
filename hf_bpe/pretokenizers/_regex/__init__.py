"""Regular expressions of tokenizers: their dialects, parser, programs and translations, and Unicode 16.0."""
