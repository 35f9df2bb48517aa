"""SentencePiece models, by transformers' own converter, which is imported when one is asked for."""

from __future__ import annotations

import importlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import no_advice
from hf_bpe._utils.visible import in_one_line
from hf_bpe.conversion._formats import definition_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SIDES = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json", "chat_template.jinja")
_TEXTS = ("Hello world, 12 lowest é", "a  b", "trail  ", "tab\tline\nend\r\n", "ﬁne ½ Ａ\u00a0e\u0301", "中文 🙂", "")
"""Texts of which converters are known to lose a space, a normalization or a byte."""


@contextmanager
def converted(path: Path, model: Path) -> Iterator[Path]:
    """Yield a temporary folder with what transformers makes of a SentencePiece model.

    Args:
        path: the model, or the folder that has it, whose settings are kept.
        model: the model.

    Raises:
        ImportError: sentencepiece or protobuf, with which transformers reads it, is not installed.
        ValueError: transformers makes no tokenizer of it, or not one of BPE with the same ids.
    """
    with tempfile.TemporaryDirectory() as folder:
        copied, saved = Path(folder, "model"), Path(folder, "converted")
        copied.mkdir()
        shutil.copy(model, copied / "tokenizer.model")  # the name that transformers looks for
        for side in (path / name for name in _SIDES):
            if side.is_file():
                shutil.copy(side, copied)
        tokenizer = _convert(copied, saved, str(path))
        try:
            definition_of(saved)
        except ValueError as error:
            reason = str(error).replace(f"{saved / 'tokenizer.json'}: ", "").replace(f"{saved}: ", "")
            raise ValueError(f"{path}: a SentencePiece model, which transformers converts; {reason}") from None
        _check_ids(tokenizer, copied, str(path))
        yield saved


def _convert(folder: Path, saved: Path, name: str) -> PreTrainedTokenizerBase:
    """Return what transformers makes of the model in a folder, and save it."""
    with no_advice():
        from transformers import AutoTokenizer, __version__
        from transformers.utils import is_protobuf_available, is_sentencepiece_available

    about = f"{name}: a SentencePiece model, which transformers"
    installed = {"sentencepiece": is_sentencepiece_available(), "protobuf": is_protobuf_available()}
    if missing := [package for package, is_there in installed.items() if not is_there]:
        raise ImportError(f"{about} converts with sentencepiece and protobuf; pip install {' '.join(missing)}")
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        tokenizer.save_pretrained(saved)
    except Exception as error:  # of any kind, for it is somewhere inside
        reason = in_one_line(str(error)).replace(str(folder / "tokenizer.model"), name).replace(str(folder), name)
        raise ValueError(f"{about} {__version__} does not convert: {reason:.300}") from error
    if not (saved / "tokenizer.json").is_file():
        raise ValueError(f"{about} {__version__} loads as {type(tokenizer).__name__}, without a tokenizer.json")
    return tokenizer


def _check_ids(tokenizer: PreTrainedTokenizerBase, folder: Path, name: str) -> None:
    """Raise a ValueError if a tokenizer gives other ids than SentencePiece for odd texts or for a piece."""
    sentencepiece = importlib.import_module("sentencepiece")
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    special = model.is_control, model.is_unknown, model.is_byte
    pieces = [model.id_to_piece(number) for number in range(len(model)) if not any(each(number) for each in special)]
    # Some classes read spaces before a text in their own way, which folders that name one mean.
    leading = () if (folder / "tokenizer_config.json").is_file() else ("  lead",)
    for text in (*_TEXTS, *leading, *(f"a {piece.replace('▁', ' ')}b" for piece in pieces)):
        if tokenizer.encode(text, add_special_tokens=False) != model.encode(text):
            raise ValueError(
                f"{name}: a SentencePiece model, which transformers converts to other ids for {text!r:.40} than "
                "SentencePiece has"
            )
