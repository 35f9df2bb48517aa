"""The command line, `hf-bpe`: training, counting, encoding, decoding, showing, editing, converting tokenizers.

A command is a function; typer makes options of its parameters. transformers is imported only where a command needs it:
`--help` must be quick.
"""

# In the order that --help shows them.
from hf_bpe.cli import training, counting, using, showing, reporting, editing, converting  # noqa: F401, I001
from hf_bpe.cli.shared import app, main

__all__ = ["app", "main"]
