"""The files of a folder: which of them are read, and what is said where the vocabulary is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hf_bpe.formats._folder.config import CONFIG_FILE

OWN_FILES = ("tokenizer.json", "vocab.json", "merges.txt")
OTHER_FILES = ("tekken.json", "tiktoken.model", "qwen.tiktoken")
"""The names of files that only `BPETokenizer.convert_from` reads; any other `*.tiktoken` is one, too."""
FOLDER_FILES = (
    *OWN_FILES,
    *OTHER_FILES,
    "*.tiktoken",
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json", "generation_config.json"),
    *("chat_template.jinja", "additional_chat_templates/*.jinja"),
    "tokenization_kimi.py",  # is compared with what is known of it, and not run
)
"""All files of a folder that loading and converting read, as patterns of paths in it."""


def needs_conversion(folder: Path, options: Mapping[str, object]) -> bool:
    """Return whether a local folder only holds a vocabulary that `BPETokenizer.convert_from` reads."""
    if not folder.is_dir() or passes_vocabulary(options) or any((folder / name).is_file() for name in OWN_FILES):
        return False
    return any((folder / name).is_file() for name in OTHER_FILES) or any(folder.glob("*.tiktoken"))


def passes_vocabulary(options: Mapping[str, object]) -> bool:
    """Return whether the caller of from_pretrained passes the vocabulary."""
    return any(name in options for name in ("model", "vocab_file", "merges_file", "tokenizer_file", "gguf_file"))


_KEYS = {
    "vocab_file": "vocab.json",
    "merges_file": "merges.txt",
    "tokenizer_file": "tokenizer.json",
    "tokenizer_config_file": CONFIG_FILE,
    "special_tokens_map_file": "special_tokens_map.json",
    "added_tokens_file": "added_tokens.json",
    "chat_template_file": "chat_template.jinja",
}


def local_files(folder: Path) -> dict[str, str]:
    """Return the files of a folder that loading reads, by their keys in transformers."""
    paths = {key: folder / name for key, name in _KEYS.items()}
    templates = folder.glob("additional_chat_templates/*.jinja")
    paths |= {f"chat_template_{path.name.removesuffix('.jinja')}": path for path in templates}
    return {key: str(path) for key, path in paths.items() if path.is_file()}


def missing_vocabulary(name: str) -> str:
    """Return the message for a folder without a tokenizer, with advice for the files that it holds."""
    is_folder = Path(name).is_dir()
    files = sorted(path.name for path in Path(name).iterdir()) if is_folder else []
    ways = {
        ".gguf": "BPETokenizer.convert_from reads {file}",
        "encoder.json": "rename {file} to vocab.json, and vocab.bpe to merges.txt",
        ".model": "BPETokenizer.convert_from reads {file}, or says what does",
    }
    hints = [way.format(file=file) for ending, way in ways.items() for file in files if file.endswith(ending)]
    holds = f"; it holds {', '.join(files[:8]) or 'nothing'}{', …' if len(files) > 8 else ''}" if is_folder else ""
    return (
        f"{name} is not a folder to load: expected tokenizer.json, which alone is enough, or vocab.json and merges.txt"
        f"{holds}"
        f"{'. ' if hints else ''}{'; '.join(hints[:2])}"
    )
