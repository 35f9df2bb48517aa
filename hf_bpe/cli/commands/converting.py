"""The commands for other tools' formats: `convert`, `inspect` and `verify`."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_bpe._utils.memory import format_bytes
from hf_bpe._utils.visible import with_noun
from hf_bpe.cli.messages import phase, report_done, say, show_result, warnings_said
from hf_bpe.cli.options import EXAMPLE, Json, argument, option, with_command_options
from hf_bpe.cli.outputs import Force, check_file, check_folder
from hf_bpe.cli.program import CONVERT, command
from hf_bpe.cli.tokenizers import FOLDER_HELP, PATTERN_HELP, existing, warn_of_existing_files
from hf_bpe.pretokenizers._named_patterns import NAMES

if TYPE_CHECKING:
    from hf_bpe.conversion._inspection import AutoTokenizerChoice, Inspection
    from hf_bpe.formats._definition import Definition
    from hf_bpe.formats._format import Format
    from hf_bpe.formats._verification.sides import Side

_OUT_HELP = "The file to write, or the folder for formats of several files; created if needed."
_FROM_HELP = "The format of IN. `hf-bpe help formats` lists the formats."
_TO_HELP = "The format of OUT, such as hf, gguf or tiktoken."
_SPECIAL_HELP = "A special token and its id, for files that do not store them. Repeat the option for more."
_DROP_HELP = (
    "Drop this feature explicitly if the format cannot carry it, although ids may change. `hf-bpe help formats` lists "
    "the features, too. Repeat the option for more."
)
_VERIFY_HELP = "Also verify the ids of this text file. Repeat the option for more."
_EXAMPLES = (
    "hf-bpe convert cl100k_base.tiktoken cl100k --pattern cl100k --special-token '<|endoftext|>=100257'\n"
    "  hf-bpe convert my-tokenizer my-tokenizer.gguf\n"
    "  hf-bpe convert gpt2-files gpt2.tiktoken --to tiktoken --verify-with book.txt"
)


@dataclass(frozen=True)
class _Hints:
    """What a file with a tokenizer may not say."""

    pattern: Annotated[str, option(PATTERN_HELP, metavar="PATTERN", show_default="from the file")] = "auto"
    special_token: Annotated[
        list[str] | None, option(_SPECIAL_HELP, metavar="TEXT=ID", show_default="from the file")
    ] = None

    def read(self, source: str, format: str | None = None) -> tuple[Path, Format, Definition]:
        """Return the path, the format and the definition of a tokenizer."""
        from hf_bpe.conversion import _formats as formats

        path = existing(source)
        chosen = formats.detect(path) if format is None else formats.named_format(format)
        tokens = _special_tokens(self.special_token)
        return path, chosen, formats.read(path, format=chosen.name, pattern=self.pattern, special_tokens=tokens)


_with_hint_options = with_command_options(_Hints, parameter="hints")


@command(group=CONVERT, epilog=EXAMPLE + _EXAMPLES)
@_with_hint_options
def convert(
    *,
    source: Annotated[str, argument("IN", FOLDER_HELP)],
    target: Annotated[Path, argument("OUT", _OUT_HELP)],
    from_format: Annotated[str | None, option(_FROM_HELP, "--from", metavar="FORMAT", show_default="detected")] = None,
    to_format: Annotated[
        str | None, option(_TO_HELP, "--to", metavar="FORMAT", show_default="by the name of OUT, else hf")
    ] = None,
    hints: _Hints,
    drop: Annotated[list[str] | None, option(_DROP_HELP, metavar="FEATURE")] = None,
    verify_with: Annotated[list[Path] | None, option(_VERIFY_HELP, metavar="FILE")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a tokenizer in another format, with equal ids.

    A tokenizer with features that the format cannot carry is refused. IN and the written files then encode texts in
    which tokenizers are known to differ, each with the library of its format if that is installed. OUT is written only
    if all ids are equal.
    """
    from hf_bpe.conversion import _formats as formats

    _check_target(target, to_format, force)
    with phase(f"converting {source}, and verifying what is written"), warnings_said():
        path, format, definition = hints.read(source, from_format)
        written = formats.write(
            definition,
            target,
            format=to_format,
            drop=drop or (),
            against=(path, format),
            files=verify_with or (),
            check_folder=partial(warn_of_existing_files, definition, target),
        )
    count = definition.model.vocab_size + len(definition.tokens_added_later)
    files = [*map(str, written)]
    report_done(f"{with_noun(count, 'token')} saved in {', '.join(files)}", {"files": files, "tokens": count}, as_json)


def _check_target(target: Path, format: str | None, force: bool) -> None:
    """Raise an error if OUT is no name for the format or would be replaced."""
    from hf_bpe.conversion import _formats as formats

    if format is not None:
        formats.named_format(format)
    try:
        chosen, output = formats.choose_output(target, format)
    except ValueError as error:
        message = re.sub(r"\bformat='([^']+)'", r"--to \1", str(error))
        raise typer.BadParameter(message, param_hint="'OUT'") from None
    if chosen.is_file:
        check_file(output, force)
    else:
        check_folder(output, force)


@command(group=CONVERT, epilog=EXAMPLE + "hf-bpe inspect my-tokenizer\n  hf-bpe inspect model.gguf --json")
@_with_hint_options
def inspect(
    *,
    source: Annotated[str, argument("PATH", FOLDER_HELP)],
    from_format: Annotated[str | None, option(_FROM_HELP, "--from", metavar="FORMAT", show_default="detected")] = None,
    hints: _Hints,
    as_json: Json = False,
) -> None:
    """Summarize a tokenizer file or folder.

    The format, sizes, pattern, special tokens, unused ids and unreachable tokens are printed. For a folder also what
    AutoTokenizer of transformers loads from it, whether its ids are those of tokenizer.json, and files that contradict
    each other. No code of the folder is run. The exit code is 1 if hf_bpe refuses the tokenizer.
    """
    from hf_bpe.conversion import _hf_folder as hf_folder
    from hf_bpe.conversion._inspection import Refusal
    from hf_bpe.conversion._inspection import inspect as inspected
    from hf_bpe.formats._format import PatternNeeded

    def show(inspection: Inspection | Refusal) -> None:
        show_result(json.dumps(inspection.as_json(), indent=2) if as_json else str(inspection))

    with phase(f"reading {source}"), warnings_said():
        try:
            path, format, definition = hints.read(source, from_format)
        except PatternNeeded:
            _, format, definition = replace(hints, pattern="none").read(source, from_format)
            inspection = inspected(definition, format, knows_pattern=False)
        except ValueError as error:
            refused = None
            if Path(source).is_dir():
                with suppress(OSError, ValueError):  # a file cannot be read, or is not a JSON object
                    refused = Refusal(str(error), *_inspect_folder(Path(source)))
            if refused is not None and refused.auto_tokenizer.loads is not None:
                show(refused)
            raise
        else:
            inspection = inspected(definition, format)
            if format is hf_folder.FORMAT:
                contradictions, chosen = _inspect_folder(path, definition)
                inspection = replace(inspection, contradictions=contradictions, auto_tokenizer=chosen)
    show(inspection)


def _inspect_folder(path: Path, definition: Definition | None = None) -> tuple[list[str], AutoTokenizerChoice]:
    """Return how the files of a folder contradict each other, and what AutoTokenizer loads from it."""
    from hf_bpe.formats._folder.consistency import find_contradictions
    from hf_bpe.tokenizer._auto_tokenizer_choice import auto_tokenizer_choice

    chosen = auto_tokenizer_choice(path, definition)
    return find_contradictions(path), chosen


_SIDE_HELP = f"{FOLDER_HELP} Or a pattern: {', '.join(NAMES)}, or pattern:EXPRESSION."
_FILES_HELP = "Text files to encode, besides texts in which tokenizers are known to differ."


@command(
    group=CONVERT,
    epilog=EXAMPLE + "hf-bpe verify my-tokenizer my-tokenizer.gguf book.txt\n  hf-bpe verify cl100k llama3",
)
@_with_hint_options
def verify(
    *,
    first: Annotated[str, argument("A", _SIDE_HELP)],
    second: Annotated[str, argument("B", _SIDE_HELP)],
    files: Annotated[list[Path] | None, argument("FILE", _FILES_HELP)] = None,
    hints: _Hints,
    as_json: Json = False,
) -> None:
    """Verify that two tokenizers give the same ids.

    They may be of any formats. Two patterns must give the same pre-tokens. Each tokenizer runs in the library of its
    format, if that is installed. The first text that differs is printed with its ids and the bytes of each token, and
    the exit code is 1. If the ids agree but their offsets differ, the first such text is printed as a note.
    """
    from hf_bpe.formats._verification.mismatch import MismatchSearch, find_offset_mismatch, model_difference

    with phase(f"verifying {first} and {second}"), warnings_said():
        sides = _side(first, hints), _side(second, hints)
        search = MismatchSearch(*sides)
        mismatch, tried = search.find(files or ()), search.tried
    names = [side.name for side in sides]
    if as_json:
        agreed = {name: tried[name] if mismatch is None else None for name in ("texts", "bytes")}
        difference = None if mismatch is None else str(mismatch)
        show_result(json.dumps({"sides": names, "agree": mismatch is None, **agreed, "mismatch": difference}, indent=2))
    elif mismatch is not None:
        show_result(str(mismatch))
    if mismatch is not None:
        raise typer.Exit(1)
    models = [side.definition.model for side in sides if side.definition is not None]
    of_vocabulary = ["the tokens of the vocabularies"] if models else []
    texts = ", ".join([*of_vocabulary, "the stress texts", *map(str, files or ())])
    size = f"{with_noun(tried['texts'], 'text')} ({format_bytes(tried['bytes'])})"
    say(f"{' and '.join(names)} agree on {size}: {texts}")
    if len({*models}) > 1:
        say(f"but they are different models: in the second, {model_difference(*models)}")
    if (other := find_offset_mismatch(*sides)) is not None:
        say(f"but they give other {other}")


def _side(source: str, hints: _Hints) -> Side:
    from hf_bpe.formats._format import PatternNeeded
    from hf_bpe.formats._verification.sides import side_of_file, side_of_pattern

    if source.startswith("pattern:"):
        return side_of_pattern(source.removeprefix("pattern:"))
    if source in (*NAMES, "none") and not Path(source).exists():
        return side_of_pattern(source)
    try:  # an option for the other side must not contradict a file that stores the setting
        path, format, definition = _Hints().read(source)
    except PatternNeeded:
        return side_of_file(*hints.read(source))
    # The format implies its pattern.
    if format.patterns is not None and len(format.patterns) == 1 and hints.pattern != "auto":
        return side_of_file(*hints.read(source))
    name = source if Path(source).exists() else None  # for the path may be of what transformers has converted
    return side_of_file(path, format, definition, name)


def _special_tokens(pairs: list[str] | None) -> dict[str, int] | None:
    if not pairs:
        return None
    tokens: dict[str, int] = {}
    for each in pairs:
        text, equals, number = each.rpartition("=")
        if not (equals and text and number.isascii() and number.isdigit() and len(number) < 12):
            raise typer.BadParameter(f"expected TEXT=ID, got {each!r}", param_hint="'--special-token'")
        tokens[text] = int(number)
    return tokens
