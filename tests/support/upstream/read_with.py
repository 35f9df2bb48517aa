"""Read tokenizer.json files with another library and print its ids. Run by any Python that has the library.

    python read_with.py READER < request.json

The request has "files", name → path, and "texts". A line of JSON is printed for the version, then for each file.
"""

import importlib
import importlib.metadata
import json
import sys
from functools import partial
from pathlib import Path


def of_file(library, path):
    tokenizer = importlib.import_module(library).Tokenizer.from_file(path)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def gigatoken(path):
    from gigatoken import Tokenizer

    tokenizer = Tokenizer.from_json(Path(path).read_bytes())
    return lambda text: tokenizer.encode_batch_list([text])[0]


def kitoken(path):
    from kitoken import Kitoken

    tokenizer = Kitoken.from_tokenizers_file(path)
    return lambda text: tokenizer.encode(text, True)


def tokie(path):
    from tokie import Tokenizer

    tokenizer = Tokenizer.from_json(path)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


READERS = {name: partial(of_file, name) for name in ("tokenizers", "fastokens", "snaptokens")}
READERS |= {read.__name__: read for read in (gigatoken, kitoken, tokie)}


def ids_of(reader, path, texts):
    try:
        encode = READERS[reader](path)
        return {"ids": [[int(each) for each in encode(text)] for text in texts]}
    except BaseException as error:  # a panic of Rust is no Exception
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def main():
    [reader] = sys.argv[1:]
    request = json.load(sys.stdin)
    print(json.dumps({"version": importlib.metadata.version(reader)}), flush=True)
    for name, path in request["files"].items():
        print(json.dumps({"name": name, **ids_of(reader, path, request["texts"])}), flush=True)


if __name__ == "__main__":
    main()
