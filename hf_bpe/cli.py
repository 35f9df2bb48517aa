"""The command line: `hf-bpe train`, `encode`, `decode` and `convert`.

Bytes go in and out as they are, in no encoding and with no line end translated. Results go to standard output, what is
said about them to standard error. transformers is imported only where a command needs it: `--help` must be quick.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer
from typer.core import TyperGroup

from hf_bpe import __version__
from hf_bpe.files import write_atomically
from hf_bpe.patterns import PATTERNS, canonical_pattern
from hf_bpe.training import InitialAlphabet, TieBreak

if TYPE_CHECKING:
    from hf_bpe.tokenization_bpe import BPETokenizer

_TOKEN_ID = re.compile(rb"-?[0-9]{1,19}")  # int() alone would take 1_000 too, and complain about long numbers


class _Commands(TyperGroup):
    """Turns what a command raises into one line on standard error and an exit code."""

    def invoke(self, ctx: Any) -> None:
        try:
            super().invoke(ctx)
        except KeyboardInterrupt:
            _say("interrupted")
            raise typer.Exit(130) from None  # what shells report for a program that Ctrl-C ended
        except (OSError, TypeError, ValueError) as error:
            _give_up_stdout()
            if not isinstance(error, BrokenPipeError):  # then the reader, such as `head`, has what it wanted
                _say(f"error: {_in_one_line(error)}")
                raise typer.Exit(1) from None


def _option(help: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, **settings)


def _argument(name: str, help: str) -> Any:
    return typer.Argument(metavar=name, help=help)


app = typer.Typer(cls=_Commands, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_EXAMPLE = "\b\nExample:\n  "  # \b has the lines printed as they are
_SAVED = "A folder with a saved tokenizer, or with GPT-2's vocab.json and merges.txt. Nothing is ever downloaded."
_SPLIT = f"{', '.join(PATTERNS)}, a regular expression, or none for no split."
_Folder = Annotated[str, _argument("FOLDER", _SAVED)]
_File = Annotated[str, _argument("FILE", "The file to read; - for standard input.")]


def main() -> None:
    """Run the command line; the entry point of the script `hf-bpe`."""
    app(prog_name="hf-bpe")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hf-bpe {__version__}")
        raise typer.Exit


_Version = Annotated[bool, _option("Print the version and exit.", "--version", callback=_print_version, is_eager=True)]


@app.callback(no_args_is_help=True, epilog=_EXAMPLE + "hf-bpe train book.txt -o my-tokenizer --vocab-size 8000")
def _program(version: _Version = False) -> None:
    """Train, use and convert byte-level BPE tokenizers for Hugging Face transformers."""


_TRAIN_EXAMPLE = "\n  cat *.txt | hf-bpe train - -o my-tokenizer --num-merges 32000 --special-token '<|endoftext|>'"
_SIZE_HELP = "Number of tokens in all: 256 bytes, special tokens and merges. Either this or --num-merges is needed."
_SPECIAL_HELP = "A token such as <|endoftext|> that is never split and never learned. Repeat the option for more."
_TIE_HELP = "Of pairs that are equally frequent merge the greatest in byte order, or what Hugging Face's trainer takes."
_LENGTH_HELP = "Make no token longer than this many bytes."
_PENALTY_HELP = "Prefer short tokens: subtract this for each byte of a pair from its number of occurrences."
_ALPHABET_HELP = "Begin with all 256 bytes, or with those that occur; then no others can be encoded."
_WORKERS_HELP = "Threads or processes to work in; the result never depends on it."


@app.command(epilog=_EXAMPLE + "hf-bpe train book.txt -o my-tokenizer --vocab-size 8000" + _TRAIN_EXAMPLE)
def train(
    files: Annotated[list[str], _argument("FILE", "Files of UTF-8 text to learn from; - for standard input.")],
    output: Annotated[Path, _option("The folder to save in; made if need be.", "--output", "-o", metavar="FOLDER")],
    vocab_size: Annotated[int | None, _option(_SIZE_HELP, metavar="N", min=1)] = None,
    num_merges: Annotated[int | None, _option("Number of merges, instead of --vocab-size.", metavar="N", min=0)] = None,
    special_token: Annotated[list[str] | None, _option(_SPECIAL_HELP, metavar="TEXT", show_default="none")] = None,
    pattern: Annotated[str, _option(f"How text is split before merging: {_SPLIT}", metavar="PATTERN")] = "gpt2",
    tie_break: Annotated[TieBreak, _option(_TIE_HELP)] = "lexicographic",
    min_frequency: Annotated[int, _option("Do not merge pairs that occur less often than N.", metavar="N", min=0)] = 1,
    max_token_bytes: Annotated[int | None, _option(_LENGTH_HELP, metavar="N", min=1, show_default="no limit")] = None,
    length_penalty: Annotated[float, _option(_PENALTY_HELP, metavar="X", min=0)] = 0.0,
    initial_alphabet: Annotated[InitialAlphabet, _option(_ALPHABET_HELP)] = "bytes",
    workers: Annotated[
        int | None, _option(_WORKERS_HELP, metavar="N", min=1, show_default="one a core; 1 if not Linux")
    ] = None,
    progress: Annotated[bool | None, _option("Show progress bars.", show_default="if stderr is a terminal")] = None,
) -> None:
    """Learn a tokenizer from text and save it in a folder.

    The text is split into words by a pattern. Then the two neighbouring tokens that occur together most often are
    merged into a new token, again and again, until there are as many as asked for. The folder can be loaded by
    AutoTokenizer.from_pretrained of transformers.
    """
    if (vocab_size is None) == (num_merges is None):
        raise typer.BadParameter("give one of the two", param_hint="'--vocab-size' / '--num-merges'")
    if output.exists() and not output.is_dir():  # better said now than after hours
        raise NotADirectoryError(f"{output} is a file; expected a folder to save in")
    with contextlib.ExitStack() as stack, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        tokenizer = _tokenizer_class().train(
            [stack.enter_context(_text_file(name)) for name in files],
            vocab_size,
            special_token or [],
            num_merges=num_merges,
            pattern=pattern,
            tie_break=tie_break,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            length_penalty=length_penalty,
            initial_alphabet=initial_alphabet,
            num_workers=workers,
            show_progress=sys.stderr.isatty() if progress is None else progress,
        )
    for warning in caught:
        _say(f"warning: {warning.message}")
    tokenizer.save_pretrained(output)
    _say(f"{tokenizer.model.vocab_size} tokens, {len(tokenizer.model.merges)} of them merges, saved in {output}")


_LINES_HELP = "Encode each line by itself, without its newline, and print a line of ids each."
_AS_TEXT_HELP = "Take special tokens in the text for ordinary text."
_ARRAY_HELP = "Write the ids to this .npy file instead, for training; and where documents begin beside it."
_SEPARATOR_HELP = "With --output, the token that ends a document, and is its last id; a file ends one as well."
_ENCODE_EXAMPLE = "echo 'Hello, world' | hf-bpe encode my-tokenizer\n  hf-bpe encode my-tokenizer *.txt -o tokens.npy"


@app.command(epilog=_EXAMPLE + _ENCODE_EXAMPLE)
def encode(
    folder: _Folder,
    files: Annotated[list[str] | None, _argument("FILE", "Files to read; - or none for standard input.")] = None,
    output: Annotated[Path | None, _option(_ARRAY_HELP, "--output", "-o", metavar="FILE")] = None,
    separator: Annotated[
        str | None, _option(_SEPARATOR_HELP, metavar="TOKEN", show_default="the tokenizer's eos_token")
    ] = None,
    lines: Annotated[bool, _option(_LINES_HELP, "--lines")] = False,
    split_special_tokens: Annotated[bool, _option(_AS_TEXT_HELP, "--split-special-tokens")] = False,
    workers: Annotated[int | None, _option(_WORKERS_HELP, metavar="N", min=1, show_default="one a core")] = None,
    progress: Annotated[bool | None, _option("Show progress bars.", show_default="if stderr is a terminal")] = None,
) -> None:
    """Print the token ids of texts, separated by spaces, or write them to a file for training.

    Each file is one text, its last newline included, unless --lines is given. It may hold any bytes, UTF-8 or not:
    decode gives back the same. Nothing is added to the text, no special tokens either. What is printed is held in
    memory; what is written to a file may be of any size.
    """
    if output is not None and lines:
        raise typer.BadParameter("goes with printed ids only", param_hint="'--lines'")
    if output is None and separator is not None:
        raise typer.BadParameter("goes with --output only", param_hint="'--separator'")
    tokenizer = _load(folder)
    as_text = split_special_tokens or None  # None: as it is set
    if output is not None:
        with contextlib.ExitStack() as stack:
            written = tokenizer.encode_file(
                [stack.enter_context(_text_file(name)) for name in files or ["-"]],
                output,
                separator=separator,
                split_special_tokens=as_text,
                num_workers=workers,
                show_progress=sys.stderr.isatty() if progress is None else progress,
            )
        found = f"{written.num_tokens} tokens of {written.num_documents} documents"
        _say(f"{found} saved in {written.ids}, where the documents begin in {written.offsets}")
        return
    for file in files or ["-"]:
        with _open_input(file) as source:
            for text in (line.removesuffix(b"\n") for line in source) if lines else [source.read()]:
                ids = tokenizer.encode_bytes(text, split_special_tokens=as_text)
                sys.stdout.buffer.write(" ".join(map(str, ids)).encode() + b"\n")
                sys.stdout.buffer.flush()  # who writes line by line may wait for each answer


@app.command(epilog=_EXAMPLE + "echo 72 105 10 | hf-bpe decode my-tokenizer")
def decode(
    folder: _Folder,
    file: _File = "-",
    lines: Annotated[bool, _option("Write a newline after the text of each line of ids.", "--lines")] = False,
    skip_special_tokens: Annotated[bool, _option("Leave special tokens out.", "--skip-special-tokens")] = False,
) -> None:
    """Write the text of token ids.

    The ids are separated by white space. Exactly the bytes of the tokens are written, with nothing between or after
    them unless --lines is given. An id that is not in the vocabulary is an error, unless there is an unk_token for it.
    """
    tokenizer = _load(folder)
    known = None if tokenizer.unk_token is not None else {*tokenizer.model.vocab, *tokenizer.added_tokens_decoder}
    with _open_input(file) as source:
        for number, line in enumerate(source, start=1):
            words = line.split()
            for word in words:
                if not _TOKEN_ID.fullmatch(word):
                    raise ValueError(f"line {number}: expected a token id, got {word[:80].decode(errors='replace')!r}")
                if known is not None and int(word) not in known:
                    raise ValueError(f"line {number}: the id {int(word)} is not in the vocabulary")
            text = tokenizer.decode_bytes([*map(int, words)], skip_special_tokens=skip_special_tokens)
            sys.stdout.buffer.write(text + b"\n" if lines else text)
            sys.stdout.buffer.flush()


_OUT_HELP = "The folder to write to, made if need be; with --to tokenizer.json also the name of a .json file."
_TO_HELP = "hf: a whole folder for transformers; gpt2: vocab.json and merges.txt; tokenizer.json: that file alone."
_PATTERN_HELP = f"The split pattern, if IN does not tell it, as GPT-2's two files do not: {_SPLIT}"
_DROP_HELP = "With --to gpt2, write the files though they do not tell the pattern and readers take GPT-2's."


@app.command(epilog=_EXAMPLE + "hf-bpe convert gpt2-files my-tokenizer\n  hf-bpe convert my-tokenizer files --to gpt2")
def convert(
    source: Annotated[str, _argument("IN", _SAVED)],
    target: Annotated[Path, _argument("OUT", _OUT_HELP)],
    to: Annotated[Literal["hf", "gpt2", "tokenizer.json"], _option(_TO_HELP)] = "hf",
    pattern: Annotated[str | None, _option(_PATTERN_HELP, metavar="PATTERN", show_default="gpt2")] = None,
    drop_pattern: Annotated[bool, _option(_DROP_HELP, "--drop-pattern")] = False,
) -> None:
    """Write a tokenizer in another format.

    Ids stay as they are: another pattern, added tokens or a prefix, which GPT-2's files cannot carry, are refused.
    """
    if drop_pattern and to != "gpt2":
        raise typer.BadParameter("goes with --to gpt2 only", param_hint="'--drop-pattern'")
    tokenizer = _load(source, pattern)
    if to == "hf":
        tokenizer.save_pretrained(target)
    elif to == "gpt2":
        for token_id in tokenizer.added_tokens_decoder.keys() - tokenizer.model.vocab.keys():
            raise ValueError(f"GPT-2's files cannot carry token {token_id}, which was added to the model; use --to hf")
        if tokenizer.add_prefix_space or tokenizer.add_bos_token or tokenizer.add_eos_token:
            raise ValueError("GPT-2's files cannot carry add_prefix_space, add_bos_token, add_eos_token; use --to hf")
        if tokenizer.pattern != "gpt2" and not drop_pattern:
            raise ValueError(
                f"GPT-2's files cannot carry the pattern {tokenizer.pattern or 'none'!r}, so readers would take gpt2 "
                "and get other ids; use --to hf, or --drop-pattern to write them all the same"
            )
        for name in ("tokenizer_config.json", "tokenizer.json"):
            if (target / name).exists():  # whoever loads the folder would believe it
                raise FileExistsError(f"{target} holds another tokenizer's {name}; choose another folder")
        tokenizer.save_vocabulary(str(target))
    else:
        if target.is_dir() or target.suffix != ".json":
            target /= "tokenizer.json"
        write_atomically(target, tokenizer._tokenizer_json())
    _say(f"{len(tokenizer)} tokens saved in {target}")


def _tokenizer_class() -> type[BPETokenizer]:
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # where torch is missing, nobody here misses it
    from hf_bpe.tokenization_bpe import BPETokenizer

    return BPETokenizer


def _load(folder: str, pattern: str | None = None) -> BPETokenizer:
    """Load a tokenizer from an existing folder; `pattern` is for one that names none."""
    path = Path(folder)
    if not path.is_dir():  # from_pretrained would take it for a name on the Hub
        raise NotADirectoryError(f"no folder {folder!r}; tokenizers are not downloaded")
    for name in ("vocab.json", "merges.txt"):
        if not (path / name).is_file():
            raise FileNotFoundError(f"the folder {folder!r} has no {name}")
    config = path / "tokenizer_config.json"
    try:
        named = (path / "tokenizer.json").exists() or (config.exists() and "pattern" in json.loads(config.read_bytes()))
        settings = {} if pattern is None or named else {"pattern": pattern}
        tokenizer: BPETokenizer = _tokenizer_class().from_pretrained(path, local_files_only=True, **settings)
    except (AttributeError, LookupError, RecursionError) as error:  # what JSON of another shape makes of transformers
        raise ValueError(f"{folder}: its files are not those of a tokenizer: {error!r}") from error
    if pattern is not None and canonical_pattern(pattern) != tokenizer.pattern:
        raise ValueError(f"{folder} says that its pattern is {tokenizer.pattern or 'none'!r}; leave --pattern out")
    return tokenizer


def _open_input(file: str) -> contextlib.AbstractContextManager[BinaryIO]:
    return contextlib.nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")


@contextlib.contextmanager
def _text_file(name: str) -> Iterator[Path]:
    """Give a file to train on; standard input is copied to one, which is read piece by piece however large it is."""
    if name != "-":
        Path(name).stat()  # for the system's own words if there is no such file
        yield Path(name)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "stdin")
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield copy
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), "standard input")) from None


def _give_up_stdout() -> None:
    """Keep Python from flushing a broken standard output once more at its end, with a traceback."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    print(f"hf-bpe: {message}", file=sys.stderr)


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror}"
    return " ".join(line.strip() for line in str(error).splitlines())
