"""What `BPETokenizer.project_files` does: token files of smaller tokenizers from those of a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_bpe.editing._edited_definition import edited as edited_definition
from hf_bpe.editing._edits import Edited, renumber, truncate
from hf_bpe.encoding._projection import ProjectionTable, projected_tokens
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.token_files._manifest import EncodedFiles
from hf_bpe.token_files._projecting import Projected, make_target, project_all
from hf_bpe.token_files._request import digest_of_tokenizer, highest_id
from hf_bpe.token_files._written import TokenFiles


def project_files(
    definition: Definition,
    pipeline: Pipeline,
    tokens: Path,
    output: Path,
    sizes: Sequence[int] | int,
    *,
    is_renumbered: bool,
    overwrite: bool,
) -> list[EncodedFiles]:
    """Write token files of smaller tokenizers; with several sizes, in a folder for each.

    Args:
        definition, pipeline: the tokenizer that encoded the files.
        tokens, output, sizes, is_renumbered, overwrite: see `BPETokenizer.project_files`.
    """
    files = TokenFiles.find(tokens)
    splits = files.content["split_special_tokens"]
    if files.content["tokenizer"] != digest_of_tokenizer(pipeline, pipeline.options(splits)):
        raise ValueError(f"{files.path} is of another tokenizer; give the tokenizer that encoded it")
    wanted = []
    for size in [sizes] if isinstance(sizes, int) else sizes:
        edit = truncate(pipeline.model, size)
        lists = projected_tokens(pipeline.model, edit.model)
        if is_renumbered:
            dense = renumber(edit.model)
            edit = Edited(dense.model, edit.remap.then(dense.remap))
        smaller, remap = edited_definition(definition, *edit)
        for token_id, token in definition.added_tokens.items():
            if token_id in lists and lists[token_id] != (token_id,):
                raise ValueError(
                    f"size: {token.content!r} is an added token and one that merges make, so its id does not tell what "
                    "a smaller vocabulary has in its place; encode the text again"
                )
            lists[token_id] = (token_id,)
        table = ProjectionTable({i: [remap.new_ids[part] for part in parts] for i, parts in lists.items()})
        its_pipeline = Pipeline.of(smaller)
        settings = {"tokenizer": digest_of_tokenizer(its_pipeline, its_pipeline.options(splits))}
        for name in ("separator", "begin_token"):
            token_id = files.content[name]
            settings[name] = remap.new_ids.get(token_id, token_id)
        path = output if isinstance(sizes, int) else files.output_in(output / str(size))
        wanted.append(Projected(make_target(files, path), table, highest_id(its_pipeline), settings))
    return project_all(files, wanted, overwrite)
