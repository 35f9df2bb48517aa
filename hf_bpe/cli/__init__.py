"""The command line `hf-bpe`: train, count, encode, decode, show, edit and convert.

Each command is a function, whose parameters typer turns into options. transformers is imported only where a command
needs it, because `--help` must be fast.
"""

# In the order that --help shows them.
from hf_bpe.cli.commands import training, counting, using, token_files, showing  # noqa: F401, I001
from hf_bpe.cli.commands import reporting, editing, converting, helping  # noqa: F401
from hf_bpe.cli.program import app, main

__all__ = ["app", "main"]
