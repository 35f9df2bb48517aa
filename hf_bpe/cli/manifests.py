"""The command `merge-manifests`: the step after `encode --shard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hf_bpe.cli.options import EXAMPLE, Json, argument
from hf_bpe.cli.outputs import Force
from hf_bpe.cli.program import USE, command
from hf_bpe.cli.token_files import report_files

_OUTPUT_HELP = "The folder of the files, or the --output that encode was given."


@command(group=USE, epilog=EXAMPLE + "hf-bpe merge-manifests data/", loads_tokenizer=False)
def merge_manifests(
    output: Annotated[Path, argument("OUT", _OUTPUT_HELP)], force: Force = False, as_json: Json = False
) -> None:
    """Check that all parts of encode --shard are there, and write the manifest of the whole.

    All parts must be of the same sources, tokenizer and options. Their files stay as they are: in their order they hold
    what one job would have written.
    """
    from hf_bpe.token_files import _merging as merging

    report_files(merging.merge_manifests(output, overwrite=force), "", as_json)
