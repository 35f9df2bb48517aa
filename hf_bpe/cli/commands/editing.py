"""The editing commands: `truncate`, `extend`, `prune`, `add-special-tokens` and `pad`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_bpe import counting
from hf_bpe._utils.input_files import decode, read_bounded
from hf_bpe._utils.visible import with_noun
from hf_bpe.cli.commands.training import COUNTS_HELP
from hf_bpe.cli.id_files import distinct_ids
from hf_bpe.cli.messages import phase, report_done, warnings_said
from hf_bpe.cli.options import EXAMPLE, Json, argument, option, size_of_at_least, with_command_options
from hf_bpe.cli.outputs import Force, check_file, check_folder
from hf_bpe.cli.program import EDIT, command
from hf_bpe.cli.sources import SOURCE_HELP, RunArguments, check_text_or_counts, reads_text, text_or_counts
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, Roles, load, save, with_role_options

if TYPE_CHECKING:
    from hf_bpe.editing import Edited
    from hf_bpe.formats._definition import Definition

_REMAP_HELP = "Write the remap of the ids to this file, for hf_bpe.editing.Remap.load."
_RENUMBER_HELP = "Close the gaps in the ids that arise if special tokens come after the merges."
_COUNTS_HELP = "Remove the tokens that are used least in this counts file, which must have the tokenizer's pattern."
_MIN_HELP = "Remove tokens until none is used less often than this; instead of --vocab-size."
_KEEP_HELP = (
    "Keep these tokens and their parts: ids in a .npy array, as encode writes it, or one per line. Without "
    "--counts all others are removed, except bytes and special tokens."
)
_COVERAGE_HELP = (
    "Where merges begin with characters: the share of the text whose characters get tokens, the commonest first; they "
    "count as added."
)
_SIZE_HELP = "Number of tokens to reach, with added ones."
_REACH_HELP = "With --counts, the number of tokens to reach, with added ones."
_TOKEN_HELP = "A special token, which gets the lowest unused id."


@dataclass(frozen=True)
class _Edit:
    """The tokenizer that a command edits, and where the result is saved."""

    source: Annotated[str, argument("IN", FOLDER_HELP)]
    output: Annotated[Path, option("The folder to save in; created if needed.", "--output", "-o", metavar="FOLDER")]
    remap: Annotated[Path | None, option(_REMAP_HELP, "--remap", metavar="FILE")] = None
    pattern: RankPattern = "auto"
    force: Force = False
    as_json: Json = False

    def load(self) -> Definition:
        """Return the tokenizer, after a check of what will be written."""
        check_folder(self.output, self.force)
        check_file(self.remap, self.force)
        return load(self.source, self.pattern)

    def save(self, definition: Definition, edited: Edited, **roles: str) -> None:
        """Save a tokenizer with an edited model, its remap, and report what was done."""
        from hf_bpe.editing._remap import edited as edited_definition

        with phase("editing"):
            new, remap = edited_definition(definition, *edited)
        save(replace(new, settings={**new.settings, **roles}), self.output)
        if self.remap is not None:
            remap.save(self.remap)
        number, removed, added = new.size, len(remap.removed), len(remap.added)
        changes = [f"{verb} {with_noun(by, 'token')}" for verb, by in (("removed", removed), ("added", added)) if by]
        what = f"{' and '.join(changes)}: {number - added + removed:,} → {number:,}"
        what = what if changes else f"{with_noun(number, 'token')}, the same as before"
        values = {"folder": str(self.output), "vocab_size": number, "removed": removed, "added": added}
        report_done(f"{what}; saved in {self.output}", values, self.as_json)


_with_edit_options = with_command_options(_Edit, parameter="edit")


@command(group=EDIT, epilog=EXAMPLE + "hf-bpe truncate my-tokenizer -o smaller --vocab-size 8000")
@_with_edit_options
def truncate(
    *,
    vocab_size: Annotated[int, option(_SIZE_HELP, metavar="N", parser=size_of_at_least(1))],
    renumber: Annotated[bool, option(_RENUMBER_HELP, "--renumber")] = False,
    edit: _Edit,
) -> None:
    """Remove the last merges.

    The result equals training to the smaller size. The other tokens keep their ids, unless --renumber is given.
    """
    from hf_bpe import editing

    definition = edit.load()
    edited = editing.truncate(definition.model, vocab_size, reserved=definition.added_tokens)
    if renumber:
        dense = editing.renumber(edited.model)
        edited = editing.Edited(dense.model, edited.remap.then(dense.remap))
    edit.save(definition, edited)


@command(
    group=EDIT,
    epilog=EXAMPLE
    + "hf-bpe extend gpt2 finnish.txt -o gpt2-finnish --add 2000\n"
    + "  hf-bpe extend gpt2 --counts finnish.counts -o gpt2-finnish --add 2000",
)
@reads_text(learns=True)
@_with_edit_options
def extend(
    *,
    context: typer.Context,
    add: Annotated[int, option("Number of tokens to add.", metavar="N", parser=size_of_at_least(0))],
    sources: Annotated[list[str] | None, argument("SOURCE", SOURCE_HELP)] = None,
    counts: Annotated[Path | None, option(COUNTS_HELP, metavar="FILE")] = None,
    character_coverage: Annotated[
        float | None, option(_COVERAGE_HELP, metavar="X", min=0, max=1, show_default="no new ones")
    ] = None,
    edit: _Edit,
    run_arguments: RunArguments,
) -> None:
    """Learn more tokens from text, and keep the old ids.

    New ids come after the old ones. A tokenizer with a normalizer normalizes the text first. Old merges apply first, so
    text to which no new merge applies keeps its ids, and other text has fewer tokens.
    """
    from hf_bpe import editing

    check_text_or_counts(context, sources, counts)
    definition = edit.load()
    if definition.model.normalizer is not None and counts is not None:
        raise ValueError(
            f"{edit.source} normalizes text ({definition.model.normalizer}), but it is unknown whether the text of "
            f"{counts} was normalized; give the text instead of --counts"
        )
    with text_or_counts(context, sources, counts) as input, warnings_said():
        edited = editing.extend(
            definition.model,
            input,
            add,
            reserved=definition.added_tokens,
            character_coverage=character_coverage,
            **run_arguments,
        )
    edit.save(definition, edited)


@command(
    group=EDIT,
    epilog=EXAMPLE
    + "hf-bpe prune gpt2 -o gpt2-code --counts code.counts --vocab-size 30000\n"
    + "  hf-bpe prune gpt2 -o gpt2-code --keep code.npy",
)
@_with_edit_options
def prune(
    *,
    counts: Annotated[Path | None, option(_COUNTS_HELP, metavar="FILE")] = None,
    vocab_size: Annotated[int | None, option(_REACH_HELP, metavar="N", parser=size_of_at_least(1))] = None,
    min_count: Annotated[int | None, option(_MIN_HELP, metavar="N", min=0)] = None,
    keep: Annotated[Path | None, option(_KEEP_HELP, metavar="FILE")] = None,
    edit: _Edit,
) -> None:
    """Remove the least used tokens, or all but some.

    Bytes, special tokens and the parts of every remaining token stay, so text of remaining tokens is encoded as before.
    The ids are renumbered in the old order.
    """
    from hf_bpe import editing

    if [vocab_size, min_count].count(None) != (2 if counts is None else 1) or (counts is None and keep is None):
        raise typer.BadParameter(
            "expected what to keep or to remove: --keep FILE; or --counts FILE with either --vocab-size N or "
            "--min-count N. --keep can be combined with the others",
            param_hint="'--counts'",
        )
    definition = edit.load()
    edited = editing.prune(
        definition.model,
        keep=None if keep is None else _ids(keep, definition),
        counts=None if counts is None else counting.WordCounts.load(counts),
        vocab_size=vocab_size,
        min_count=min_count,
        reserved=definition.added_tokens,
    )
    edit.save(definition, edited)


@command(
    group=EDIT,
    epilog=EXAMPLE + "hf-bpe add-special-tokens my-tokenizer '<|user|>' --pad-token '<|pad|>' -o chat-tokenizer",
)
@_with_edit_options
@with_role_options
def add_special_tokens(
    *,
    tokens: Annotated[list[str] | None, argument("TOKEN", _TOKEN_HELP, show_default=False)] = None,
    roles: Roles,
    edit: _Edit,
) -> None:
    """Add special tokens, or give them roles.

    New tokens take gaps of the ids first, then those after the highest. A token with a role may be one that the
    tokenizer has already.
    """
    from hf_bpe import editing

    if not tokens and not roles:
        raise typer.BadParameter("expected special tokens, or an option such as --pad-token", param_hint="'TOKEN'")
    definition = edit.load()
    contents = {*map(str, definition.added_tokens.values())}
    new = [*(tokens or []), *dict.fromkeys(each for each in roles.values() if each not in {*contents, *(tokens or [])})]
    edited = editing.add_special_tokens(definition.model, new, reserved=definition.added_tokens)
    edit.save(definition, edited, **roles)


@command(group=EDIT, epilog=EXAMPLE + "hf-bpe pad my-tokenizer -o padded --multiple 64")
@_with_edit_options
def pad(
    multiple: Annotated[int, option("Make the number of ids a multiple of this.", metavar="N", min=1)],
    edit: _Edit,
) -> None:
    """Pad the vocabulary to a multiple of a number.

    Placeholder tokens are added until the number of ids is a multiple of a number such as 64.
    """
    from hf_bpe import editing

    definition = edit.load()
    edited = editing.pad_to_multiple_of(definition.model, multiple, reserved=definition.added_tokens)
    edit.save(definition, edited)


def _ids(path: Path, definition: Definition) -> list[int]:
    """Return the distinct ids in a file, without those of added tokens, which stay anyway."""
    if path.suffix == ".npy":
        ids = distinct_ids(path)
    else:
        lines = decode(path, read_bounded(path, "list of ids")).split()
        if wrong := [line for line in lines if not (line.isascii() and line.isdigit() and len(line) < 12)]:
            raise ValueError(f"{path}: expected one id per line, got {wrong[0]:.40}")
        ids = {*map(int, lines)}
    return sorted(ids - definition.tokens_added_later.keys())
