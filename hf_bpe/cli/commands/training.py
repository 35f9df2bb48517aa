"""The command `train`: train a tokenizer on text or counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hf_bpe
from hf_bpe._utils.paths import check_output
from hf_bpe._utils.visible import with_noun
from hf_bpe.cli.messages import say, show_result, warnings_said
from hf_bpe.cli.options import EXAMPLE, SPLIT, Json, argument, option, size_of_at_least
from hf_bpe.cli.outputs import Force, check_folder, is_resumed
from hf_bpe.cli.program import TRAIN, command
from hf_bpe.cli.sources import SOURCE_HELP, RunArguments, check_text_or_counts, reads_text, text_or_counts
from hf_bpe.cli.tokenizers import FOLDER_HELP, ROLES, Roles, load, save, with_role_options
from hf_bpe.reference._options import SUPERWORD_PATTERN, InitialAlphabet

if TYPE_CHECKING:
    from hf_bpe.core._model import BPEModel
    from hf_bpe.formats._definition import Definition

_TRAIN_EXAMPLE = "hf-bpe train book.txt -o my-tokenizer --vocab-size 8000"
_PIPE_EXAMPLE = "\n  cat *.txt | hf-bpe train - -o my-tokenizer --num-merges 32000 --special-token '<|endoftext|>'"
_COUNTS_EXAMPLE = "\n  hf-bpe train --counts all.counts -o sizes --vocab-size 8000 --vocab-size 32000"
_SIZE_HELP = (
    "Total number of tokens, such as 32000 or 32k: 256 bytes, special tokens and merges. Repeat the option for several "
    "sizes by one training, in FOLDER/8000 and so on."
)
COUNTS_HELP = "A counts file from count or merge-counts, instead of sources."
_INITIAL_HELP = f"A tokenizer to continue from: its tokens keep their ids, and its merges apply first. {FOLDER_HELP}"
_PATTERN_HELP = f"How text is split; auto: as the counts or the initial tokenizer, else gpt2. {SPLIT}"
_SPECIAL_HELP = "A token such as <|endoftext|> that is never split and never learned. Repeat the option for more."
_ALPHABET_HELP = "Start with all 256 bytes, or only those that occur; then no other bytes can be encoded."
_FALLBACK_HELP = (
    "Begin with characters instead of bytes, in the manner of SentencePiece; other characters become tokens of their "
    "bytes, or --unk-token. auto: only if --pattern is the JSON of a Metaspace, which is the pattern if none is given."
)
_COVERAGE_HELP = "With characters: the share of the text whose characters get tokens, the commonest first."
_LIMIT_HELP = "With characters: the highest number of characters that get tokens."
_FUSE_HELP = "With characters: make one --unk-token of those side by side."
_MERGES_HELP = "Number of merges, instead of --vocab-size."
_AFTER_HELP = (
    "Learn superwords, tokens of several words: stop after N merges, cut the text again by a pattern that keeps spaces "
    "inside its pieces, and continue to the full size. Repeat the option for a tokenizer for each N, in FOLDER/N."
)
_SUPERWORD_PATTERN_HELP = "The pattern of superwords and of the tokenizer, as for --pattern."
_SUPERWORD_COUNTS_HELP = "With --counts: a counts file of the same text by the pattern of superwords."
_MAX_WORDS_HELP = "The most words of a superword; 0 for no limit."
_COLON_HELP = "Allow superwords that hold a colon followed by a space."
_NORMALIZER_HELP = "Normalize text first: NFC, NFD, NFKC, NFKD, Lowercase or another, as in tokenizer.json."


@command(group=TRAIN, epilog=EXAMPLE + _TRAIN_EXAMPLE + _PIPE_EXAMPLE + _COUNTS_EXAMPLE)
@reads_text(learns=True)  # adds --tie-break, --min-frequency and all other fields of `LearningOptions`
@with_role_options
def train(
    *,
    context: typer.Context,
    output: Annotated[Path, option("The folder to save in; created if needed.", "--output", "-o", metavar="FOLDER")],
    sources: Annotated[list[str] | None, argument("SOURCE", SOURCE_HELP)] = None,
    counts: Annotated[Path | None, option(COUNTS_HELP, metavar="FILE", panel="Text")] = None,
    vocab_size: Annotated[list[int] | None, option(_SIZE_HELP, metavar="N", parser=size_of_at_least(1))] = None,
    num_merges: Annotated[
        list[int] | None, option(_MERGES_HELP, metavar="N", parser=size_of_at_least(0), panel="Vocabulary")
    ] = None,
    special_token: Annotated[list[str] | None, option(_SPECIAL_HELP, metavar="TEXT")] = None,
    roles: Roles,
    pattern: Annotated[str, option(_PATTERN_HELP, metavar="PATTERN")] = "auto",
    normalizer: Annotated[str | None, option(_NORMALIZER_HELP, metavar="NAME", panel="Text")] = None,
    initial: Annotated[str | None, option(_INITIAL_HELP, metavar="FOLDER", panel="Vocabulary")] = None,
    initial_alphabet: Annotated[InitialAlphabet, option(_ALPHABET_HELP, panel="Vocabulary")] = "bytes",
    byte_fallback: Annotated[
        bool | None,
        option(_FALLBACK_HELP, "--byte-fallback/--no-byte-fallback", show_default="auto", panel="Characters"),
    ] = None,
    fuse_unk: Annotated[bool, option(_FUSE_HELP, "--fuse-unk", panel="Characters")] = False,
    character_coverage: Annotated[
        float | None,
        option(
            _COVERAGE_HELP,
            metavar="X",
            min=0,
            max=1,
            show_default="0.9995, with --initial none new",
            panel="Characters",
        ),
    ] = None,
    limit_alphabet: Annotated[
        int | None, option(_LIMIT_HELP, metavar="N", min=0, show_default="no limit", panel="Characters")
    ] = None,
    superwords_after: Annotated[
        list[int] | None, option(_AFTER_HELP, metavar="N", parser=size_of_at_least(0), panel="Superwords")
    ] = None,
    superword_pattern: Annotated[
        str, option(_SUPERWORD_PATTERN_HELP, metavar="PATTERN", show_default="SuperBPE's", panel="Superwords")
    ] = SUPERWORD_PATTERN,
    superword_counts: Annotated[Path | None, option(_SUPERWORD_COUNTS_HELP, metavar="FILE", panel="Superwords")] = None,
    max_words: Annotated[int, option(_MAX_WORDS_HELP, metavar="N", min=0, panel="Superwords")] = 4,
    colon_space: Annotated[bool, option(_COLON_HELP, "--colon-space", panel="Superwords")] = False,
    force: Force = False,
    as_json: Json = False,
    run_arguments: RunArguments,
) -> None:
    """Train a tokenizer on text or on counts.

    The text is split into pre-tokens by a pattern. Then the most frequent pair of neighboring tokens is merged into a
    new token, repeatedly, until the requested size is reached. AutoTokenizer.from_pretrained of transformers can load
    the folder.
    """
    from hf_bpe.counting._checkpoint import LOG as COUNTING_LOG
    from hf_bpe.formats._decoder import default_decoding
    from hf_bpe.formats._definition import Definition
    from hf_bpe.training._checkpoint import LOG as MERGES_LOG
    from hf_bpe.training._initial_alphabet import learns_characters

    if not vocab_size and not num_merges:
        raise typer.BadParameter("give --vocab-size N, such as 32000, or --num-merges N")
    if vocab_size and num_merges:
        raise typer.BadParameter("expected one of the two", param_hint="'--vocab-size' / '--num-merges'")
    sizes = vocab_size or num_merges or []
    if len(sizes) > 1 and superwords_after and len(superwords_after) > 1:
        raise typer.BadParameter("expected one number, or one size", param_hint="'--superwords-after'")
    if superwords_after and superword_counts is None and counts is not None:
        raise typer.BadParameter("is required with --counts and --superwords-after", param_hint="'--superword-counts'")
    if normalizer is not None and (counts is not None or initial is not None):
        raise typer.BadParameter("is only for SOURCE without --initial", param_hint="'--normalizer'")
    check_text_or_counts(context, sources, counts)
    several = sizes if len(sizes) > 1 else superwords_after or []
    folders = [output / str(number) for number in several] if len(several) > 1 else [output]
    if (work_dir := run_arguments.get("work_dir")) is not None:
        check_output("work_dir", work_dir)  # the log of merges is a local file
    for folder in folders:
        check_folder(folder, force or is_resumed(work_dir, COUNTING_LOG, MERGES_LOG))
    first = None if initial is None else _load_without_added_tokens(initial)
    listed = [*dict.fromkeys([*(special_token or []), *roles.values()])]
    options: dict[str, Any] = {
        "special_tokens": listed or None,
        "pattern": pattern,
        "normalizer": normalizer,
        "initial": first and first.model,
        "initial_alphabet": initial_alphabet,
        "byte_fallback": byte_fallback,
        "fuse_unk": fuse_unk,
        "character_coverage": character_coverage,
        "limit_alphabet": limit_alphabet,
        **run_arguments,
        "vocab_size" if vocab_size else "num_merges": sizes[0] if superwords_after and len(sizes) == 1 else sizes,
    }
    if first is None and learns_characters(options):
        options["unk_token"] = roles.get("unk_token")
    with text_or_counts(context, sources, counts) as input, warnings_said():
        if superwords_after:
            options["superwords"] = hf_bpe.training.Superwords(
                superwords_after if len(sizes) == 1 else superwords_after[0],
                pattern=superword_pattern,
                max_words=max_words or None,
                colon_space=colon_space,
                text=None if superword_counts is None else hf_bpe.WordCounts.load(superword_counts),
            )
        models: list[BPEModel] = hf_bpe.train(input, **options)
    saved: list[dict[str, Any]] = []
    for model, folder in zip(models, folders, strict=True):
        if first is None:
            definition = Definition(model, settings={"decoding": default_decoding(model), **roles})
        else:
            definition = replace(first, model=model, settings={**first.settings, **roles})
        save(definition, folder)
        made = {"folder": str(folder), "vocab_size": definition.size, "merges": len(model.merges)}
        saved.append({**made, "signature": model.signature})
        if not as_json:
            say(f"{with_noun(definition.size, 'token')}, {made['merges']:,} of them merges, saved in {folder}")
    if as_json:
        show_result(json.dumps(saved if len(folders) > 1 else saved[0], indent=2))
    _hint_at_roles(listed, definition)


def _hint_at_roles(special_tokens: list[str], definition: Definition) -> None:
    from hf_bpe.formats._settings import roles_missing

    for token, role in roles_missing(special_tokens, definition.settings).items():
        if role in ROLES:
            say(f"hint: the special token {token!r} has no role; give --{role.replace('_', '-')} {token!r}")


def _load_without_added_tokens(folder: str) -> Definition:
    definition = load(folder)
    for token_id, token in definition.tokens_added_later.items():
        raise ValueError(
            f"{folder}: token {token_id}, {token.content!r}, was added to the model, and a new token would take its "
            "id; expected a tokenizer as it was trained"
        )
    return definition
