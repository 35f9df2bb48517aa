"""The command `project`: token files of smaller vocabularies without encoding the text again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hf_bpe._utils.paths import check_output
from hf_bpe.cli.options import EXAMPLE, Json, argument, option, size_of_at_least
from hf_bpe.cli.outputs import Force, check_file, wrong_output_named
from hf_bpe.cli.program import USE, command
from hf_bpe.cli.token_files import report_files, values_of
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, load

_TOKENS_HELP = "What encode was given as --output, or the manifest that it wrote."
_SIZE_HELP = "Number of tokens of the smaller vocabulary. Repeat the option for several, each in a folder of its own."
_RENUMBER_HELP = "Close the gaps in the ids, as truncate --renumber does."
_OUTPUT_HELP = "The path of the new files, as for encode; with several sizes, a folder."


@command(
    group=USE,
    epilog=EXAMPLE
    + "hf-bpe project my-tokenizer data/corpus -o data/small --size 32k\n"
    + "  hf-bpe project my-tokenizer data/corpus -o sizes --size 64k --size 32k",
)
def project(
    folder: Annotated[str, argument("FOLDER", FOLDER_HELP)],
    tokens: Annotated[Path, argument("TOKENS", _TOKENS_HELP)],
    output: Annotated[Path, option(_OUTPUT_HELP, "--output", "-o", metavar="OUT")],
    size: Annotated[list[int], option(_SIZE_HELP, metavar="N", parser=size_of_at_least(1))],
    renumber: Annotated[bool, option(_RENUMBER_HELP, "--renumber")] = False,
    pattern: RankPattern = "auto",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make token files of a smaller vocabulary from those of a larger one.

    The files are those that encode writes with the tokenizer that truncate makes, byte for byte. No text is needed.
    Packed and randomized ids are refused, as are those of tokenizers for which the result could differ.
    """
    from hf_bpe.token_files._projecting import make_target
    from hf_bpe.token_files._written import TokenFiles

    check_output("output", output)
    files = TokenFiles.find(tokens)
    for each in [output] if len(size) == 1 else [files.output_in(output / str(each)) for each in size]:
        with wrong_output_named():
            target = make_target(files, each)
        single = target.single_there() if files.content["shard_tokens"] is None else []
        for path in [*target.about_all, *single]:
            check_file(path, force)
    tokenizer = load(folder, pattern)
    if len(size) == 1:
        written = [tokenizer.project_files(tokens, output, size[0], renumber=renumber, overwrite=force)]
    else:
        written = tokenizer.project_files(tokens, output, size, renumber=renumber, overwrite=force)
    if as_json:
        print(json.dumps({"sizes": {str(number): values_of(each) for number, each in zip(size, written, strict=True)}}))
        return
    for files_of_size in written:
        report_files(files_of_size, "", as_json)
