"""Folders as other libraries save them, and files that somebody has edited."""

import json


def edit_json(path, **entries):
    """Give entries of the object in a JSON file other values."""
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | entries), encoding="utf-8")


def save_as_others(tokenizer, folder, **parts):
    """Save what other libraries save, a `tokenizer.json` with some other parts, for the plain fast class."""
    folder.mkdir(exist_ok=True)
    content = json.loads(tokenizer.backend_tokenizer.to_str()) | parts
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return folder
