"""Wrong calls of commands and of the library: each message says what was got, what was expected, or what to do."""

import re
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoConfig

import hf_bpe
from hf_bpe import BPETokenizer, BPETokenizerFast, WordCounts
from hf_bpe.counting import NormalizedTexts
from support.commands import run

# Arguments → a part of the message. OUT and MISSPELT are names of nothing, the other words in capitals are files and
# folders.
COMMANDS = {
    "": "Usage",
    "trian": "no command 'trian'; did you mean train",
    "tokenize": "did you mean encode",
    "version": r"no command 'version'; did you mean --version\?",
    "patterns": r"did you mean help patterns\?",
    "help trian": "no command 'trian'; did you mean train?",
    "train": "give --output FOLDER: the folder to save in",
    "train TEXT": "give --output FOLDER: the folder to save in",
    "train TEXT -o OUT": "give --vocab-size N, such as 32000, or --num-merges N",
    "train TEXT -o OUT --vocab-size 300 --num-merges 3": "expected one of the two",
    "train TEXT -o OUT --vocab-size many": "--vocab-size: expected a number such as 32000 or 32k, got 'many'",
    "train TEXT -o OUT --vocab-size 1.0005k": "expected a whole number of at least 1",
    "train TEXT -o OUT --vocab-size 0": "expected a whole number of at least 1, got '0'",
    "train TEXT -o OUT --vocb-size 300": "train has no option --vocb-size; did you mean --vocab-size",
    "train TEXT -o OUT --special-tokens x": "did you mean --special-token?",
    "train TEXT -o OUT --threads 1": "give --workers",
    "train TEXT -o OUT --input x": "give SOURCE without an option before it",
    "train TEXT -o OUT --text x": "encode, show and playground have it",
    "train TEXT -o OUT --xyzzy 1": r"train has no option --xyzzy \(see",
    r"train TEXT -o OUT --vocab-size 300 --pattern \p{N}{1,3}+": r"written as \(\?>\\p\{N\}\{1,3\}\)",
    "train TEXT -o OUT --vocab-size 300 --format csv": "--input-format: expected one of 'text', .*; got 'csv'",
    "train TEXT -o OUT --vocab-size 300 --tie-break hf": "--tie-break: expected one of .*; got 'hf'",
    "train TEXT -o OUT --vocab-size 300 --workers 0": "--workers: expected at least 1",
    "train TEXT -o OUT --vocab-size 300 --workers x": "--workers: expected a whole number",
    "train TEXT -o OUT --vocab-size 300 --length-penalty x": "--length-penalty: expected a number",
    "train TEXT -o OUT --vocab-size 300 --length-penalty inf": "--length-penalty: expected a finite number",
    "train TEXT -o OUT --vocab-size 300 --max-memory 10": "--max-memory: 10 bytes is too little.*give at least",
    "train TEXT -o OUT --vocab-size 300 --max-memory much": "--max-memory: expected",
    "train TEXT -o OUT --vocab-size 300 --weight 1 --weight 2": "--weight: got 2 for 1; give one for each",
    "train TEXT -o OUT --vocab-size 300 --weight x": "weight: expected a finite number, got 'x'",
    "train TEXT -o OUT --vocab-size 300 --errors ignore": "--errors: expected one of",
    "train TEXT -o OUT --vocab-size 300 --pattern [": "pattern",
    "train TEXT -o OUT --vocab-size 300 --normalizer NFX": "normalizer: expected one of .*got 'NFX'",
    "train TEXT -o OUT --vocab-size 300 --special-token a": "special token",
    "train TEXT -o OUT --vocab-size 300 --special-token \udcff": "holds a lone surrogate",
    "train TEXT -o OUT --num-merges 9 --num-merges 8 --superwords-after 2 --superwords-after 3": (
        "--superwords-after: expected one number"
    ),
    "train --counts COUNTS -o OUT --num-merges 9 --superwords-after 2": "--superword-counts: is required",
    "train TEXT -o OUT --vocab-size 300 --initial nothing": "no file or folder 'nothing'",
    "train TEXT -o OUT --vocab-size 300 --initial ADDED": "token 257, '<|y|>', was added to the model",
    "train TEXT -o FOLDER --vocab-size 300": "already holds a tokenizer .*give --force",
    "train TEXT -o TEXT --vocab-size 300": "is a file; expected a folder to save in",
    "train TEXT -o SIZES --vocab-size 257 --vocab-size 258": "258 is a file; expected a folder to save in",
    "train - -o OUT --num-merges 9 --work-dir work": "--work-dir: standard input cannot be read again; give files",
    "train TEXT -o /proc/x --vocab-size 300": "/proc/x cannot be written",
    "train nothing.txt -o OUT --vocab-size 300": "nothing.txt: No such file",
    "train . -o OUT --vocab-size 300": "'.' is a directory without text files",
    "train nothing*.txt -o OUT --vocab-size 300": "no file matches 'nothing",
    "train BINARY -o OUT --vocab-size 300": "not UTF-8: .*give --errors replace",
    "train XZ -o OUT --vocab-size 300": "files that end in .xz are not read; decompress it",
    "train --counts TEXT -o OUT --vocab-size 300": "counts",
    "train --counts COUNTS TEXT -o OUT --vocab-size 300": "expected exactly one of the two",
    "train --counts COUNTS -o OUT --vocab-size 300 --column x": "--column: is only for SOURCE",
    "train --counts COUNTS -o OUT --vocab-size 300 --normalizer NFC": "--normalizer: is only for SOURCE",
    "train TEXT -o OUT --vocab-size 300 --initial FOLDER --normalizer NFC": "is only for SOURCE without --initial",
    "count TEXT": "--output: give -o FILE to save the counts, or --top N",
    "count TEXT -o FOLDER": "is a folder; expected the name of a file",
    "count - -o OUT --work-dir work": "--work-dir: standard input cannot be read again; give files",
    "count TEXT -o COUNTS": "already exists; give --force",
    "count TEXT -o OUT --shard 2/2": "--shard: expected I/N, .* got '2/2'",
    "count TEXT -o OUT --shard 0/0": "--shard: expected I/N, .* got '0/0'",
    "count TEXT -o OUT --shard -1/2": "--shard: expected I/N, .* got '-1/2'",
    "count nothing.txt -o OUT": "nothing.txt: No such file",
    "count TEXT -o OUT --min-count 0": "--min-count: expected at least 1",
    r"count TEXT -o OUT --pattern \p{N}{1,3}+": r"written as \(\?>\\p\{N\}\{1,3\}\)",
    "merge-counts COUNTS TEXT -o OUT": "TEXT: expected a counts file",
    "merge-counts COUNTS nothing -o OUT": "error: nothing: No such file or directory$",
    "merge-counts COUNTS -o OUT --weight 1 --weight 2": "--weight: got 2 for 1",
    "merge-counts COUNTS COUNTS OTHER -o OUT": "y.counts: counts with different settings: pattern 'gpt2' and 'cl100k'",
    "merge-counts COUNTS -o FOLDER": "is a folder; expected the name of a file to write",
    "encode": "give FOLDER: a folder or file with a tokenizer",
    "encode gpt2 TEXT": "give --download, or run: hf download openai-community/gpt2 --local-dir gpt2",
    "encode ./gpt2 TEXT": "no file or folder './gpt2'$",
    "encode x.gguf": "no file or folder 'x.gguf'$",
    "encode EMPTY TEXT": "expected a folder with a tokenizer; this one holds nothing",
    "decode EMPTY": "expected a folder with a tokenizer; this one holds nothing",
    "encode TEXT TEXT": "TEXT",
    "encode FOLDER nothing.txt": "there is no file 'nothing.txt'; to encode this text itself, give --text",
    "encode FOLDER XZ": "are not read; decompress it",
    "encode-files FOLDER TEXT -o x.bin": ".bin is for the formats .*'nanogpt'.*: give one of them as --format",
    "encode-files FOLDER TEXT -o x.bin --format llmc": "got 'llmc'; did you mean llm.c",
    "encode-files FOLDER TEXT -o x.npy --separator x": "error: --separator: 'x' is not a special or added token",
    "encode RANKS TEXT": "x.tiktoken does not store the split pattern; give it: gpt2, cl100k",
    "encode-files FOLDER TEXT -o x.npy --separator none": "for no separator give --no-append-separator",
    "encode-files FOLDER TEXT -o x.npy --json-keys text": "has no option --json-keys; give --column",
    "encode --tokenizer FOLDER TEXT": "has no option --tokenizer; give FOLDER without an option before it",
    "encode FOLDER TEXT --pattern o200k": "its pattern is 'gpt2'",
    "encode-files FOLDER TEXT -o x.npy --shard 2/2": "--shard: expected I/N, .* got '2/2'",
    "encode-files FOLDER -o x.npy --shard 0/3": "--shard: standard input cannot be read again",
    "encode-files FOLDER BLANK -o x --format llm.c --separator <|x|>": "error: SOURCE: expected sources with text",
    "encode-files FOLDER TEXT -o x --format llm.c": "give one, or --no-append-separator$",
    "encode-files FOLDER TEXT -o x --format llm.c --separator <|x|> --no-pack-across": (
        "--pack-across: False is only for packed sequences"
    ),
    "encode-files FOLDER TEXT -o x --format llm.c --separator <|x|> --no-pack-across --pack 4": (
        "--no-pack-across: format 'llm.c' does not say where rows end"
    ),
    "encode-files -o x.npy": "FOLDER: expected a tokenizer, or --merge OUT",
    "encode-files FOLDER --merge OUT": "FOLDER: cannot be combined with --merge",
    "encode-files --merge OUT --pack 4 --no-progress": "--pack: cannot be combined with --merge",
    "encode-files FOLDER TEXT": "--output: give -o FILE to save the ids; encode prints them",
    "encode-files --merge OUT": "no manifest of a part",
    "decode FOLDER 1 2 3": "decode takes FOLDER and FILE, got also '2 3'; for ids themselves run: echo IDS",
    "decode FOLDER TEXT": "expected a token id, got",
    "decode FOLDER nothing.npy": "nothing.npy: No such file",
    "show FOLDER hello": "there is no file 'hello'; to show this text itself, give --text 'hello'",
    "encode FOLDER TEXT --text x": "--text: cannot be combined with SOURCE",
    "show FOLDER TEXT --text x": "TEXT",
    "show FOLDER FOLDER --text x": "FOLDER: a tokenizer is given twice",
    "show FOLDER --chat TEXT": "expected JSON, a list of messages",
    "show FOLDER --text x --html TEXT": "already exists; give --force",
    "tree FOLDER": "TOKEN: expected either a TOKEN or --id",
    "tree FOLDER quicksilver": "'quicksilver' is not one token; it is encoded as q|u|i|c|k|s|i|l|v|er",
    "tree FOLDER 300": "for the token with the id 300 give --id 300",
    "tree FOLDER --id 99999": "no token with the id 99999",
    "report MISSPELT TEXT": "no file or folder '.*normalised'; did you mean .*normalized",
    "report FOLDER": "expected text: SOURCE, --group or --counts",
    "report FOLDER --group x": "--group: expected NAME=SOURCE, got 'x'",
    "report FOLDER --counts COUNTS --counts COUNTS": "'x.counts' is already the name of another text",
    "report FOLDER --counts COUNTS --column body": "--column: is only for SOURCE",
    "report FOLDER TEXT --reference x": "reference: expected one of .*, got 'x'",
    "compare FOLDER": "expected text: --on SOURCE",
    "compare FOLDER FOLDER --on TEXT": "a tokenizer is given twice",
    "truncate FOLDER -o OUT --vocab-size 9": "--vocab-size: expected .* got 9",
    "truncate FOLDER -o FOLDER --vocab-size 270": "already holds a tokenizer",
    "extend FOLDER -o OUT --add 3": "expected exactly one of the two",
    "extend FOLDER TEXT -o OUT --add x": "--add: expected a number",
    "extend NORMALIZED --counts COUNTS -o OUT --add 1": "give the text instead of --counts",
    "prune FOLDER TEXT -o OUT": "prune takes IN, got also .*; to prune by a text, count it .* and give --counts",
    "prune FOLDER -o OUT": "expected what to keep or to remove",
    "prune FOLDER -o OUT --counts COUNTS": "expected what to keep or to remove",
    "prune FOLDER -o OUT --min-count 3": "expected what to keep or to remove",
    "prune FOLDER -o OUT --counts COUNTS --vocab-size 3 --min-count 3": "expected what to keep or to remove",
    "prune FOLDER -o OUT --keep TEXT": "expected one id per line",
    "add-special-tokens FOLDER -o OUT": "TOKEN: expected special tokens, or an option such as --pad-token",
    "pad FOLDER -o OUT --multiple 0": "--multiple: expected at least 1",
    "convert FOLDER": "give OUT: the file to write",
    "convert FOLDER out.xyz": "OUT: expected a folder, or a file .*got 'out.xyz'; .* give --to hf",
    "convert FOLDER OUT --to csv": "unknown format 'csv': expected one of hf, ",
    "convert FOLDER OUT --from csv": "unknown format 'csv': expected one of hf, ",
    "convert FOLDER OUT --to llama.cpp": "; for llama.cpp it is gguf",
    "convert FOLDER TEXT --to gpt2": "is a file; expected a folder",
    "convert FOLDER FOLDER": "already holds a tokenizer",
    "convert NORMALIZED out.tiktoken": "add_prefix.*; and the normali.* give --drop prefix_space --drop normal",
    "convert FOLDER OUT --format gpt2": "has no option --format; give --to",
    r"convert RANKS OUT --pattern \p{N}{1,3}+": r"written as \(\?>\\p\{N\}\{1,3\}\)",
    "convert FOLDER OUT --special-token x": "--special-token: expected TEXT=ID, got 'x'",
    "convert FOLDER OUT --special-token =5": "--special-token: expected TEXT=ID, got '=5'",
    "convert FOLDER OUT --special-token x=-1": "--special-token: expected TEXT=ID, got 'x=-1'",
    "convert EMPTY OUT --from tiktoken": "is a folder; expected a .tiktoken rank file$",
    "convert TEXT OUT --from gpt2": "is a file; expected GPT-2's vocab.json and merges.txt$",
    "inspect TEXT": "TEXT",
    "inspect EMPTY": "expected a folder with a tokenizer; this one holds nothing$",
    "inspect PIECES": "this one holds tokenizer.model; give the file tokenizer.model itself$",
    "verify FOLDER": "give B: a folder or file with a tokenizer",
    "verify FOLDER nothing": "no file or folder 'nothing'",
    "verify FOLDER RANKS": "does not store the split pattern",
    "verify gpt2 pattern:(": "cannot be used: column 1",
    "playground": "give FOLDER: a folder or file with a tokenizer",
    "playground nothing": "no file or folder 'nothing'",
    "playground FOLDER FOLDER": "given twice",
    "playground FOLDER --port 70000": "--port: expected at most 65535",
}

TOKENIZER = BPETokenizer.train(["low lower lowest"], vocab_size=258)
MODEL = TOKENIZER.model
ENDS = {"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True, "add_eos_token": True}
FAST = BPETokenizerFast(tokenizer_object=TOKENIZER.backend_tokenizer)
WITH_ENDS = BPETokenizer(model=MODEL, pad_token="<pad>", **ENDS)


class Column:
    """A column of a table, as pandas has it, which tests do not need."""

    def tolist(self):
        return ["low", "lower"]

    def __repr__(self):
        return "0    low\n1    lower"


NAMES = {name: getattr(hf_bpe, name) for name in (*hf_bpe.__all__, "analysis", "editing")}
NAMES |= {"AutoConfig": AutoConfig, "NormalizedTexts": NormalizedTexts, "np": np, "COLUMN": Column()}
NAMES |= {"FAST": FAST, "MODEL": MODEL, "TOKENIZER": TOKENIZER, "WITH_ENDS": WITH_ENDS}
# Exception → calls → a part of the message.
CALLS = {
    ValueError: {
        'train(["low"])': "give either vocab_size or num_merges",
        "train([], 300)": "got an empty list",
        'train(["low"], 300, tie_break="hf")': "expected one of .* got 'hf'",
        'BPETokenizer(tokenizer_file="qwen/tokenizer.json")': (
            r"got only tokenizer_file=.*: write BPETokenizer.from_pretrained\('qwen'\)"
        ),
        'BPETokenizer.train(["low"], 257, normalizer="NFC").convert_to("x.tiktoken")': (
            r"choose another format, or give drop=\['normalizer'\]"
        ),
        "BPETokenizer()": "needs a model, or vocab_file and merges_file",
        'BPETokenizer.from_pretrained("empty")': "expected tokenizer.json",
        'BPETokenizer.train(["low"], 256, add_bos_token=True)': "add_bos_token=True needs a bos_token",
        'BPETokenizer.train(["low"], 256, special_tokens_pattern="cls_sep")': "special_tokens_pattern: expected one of",
        'BPETokenizer(model=BPEModel({10**6: b"a"}, []))': "id is 1000000 but there are only 1 ",
        'TOKENIZER.count_tokens(["low"], num_workers=0)': "num_workers: expected at least 1",
        'TOKENIZER.encode_to_padded(["low"], length=-1)': "length: expected at least 0, got -1",
        'TOKENIZER.encode_files([], "x.bin")': "expected a name that ends in .npy",
        'count(["low"], max_memory="10MB")': "max_memory: 10.0 MB is too little: this process already uses .* give at",
        'train(["no+such::other://a"], 300)': "Protocol not known: other",
        'BPETokenizer.train(["low"], 300, padding_side="center")': "one of 'left', 'right', got",
        'BPETokenizer.train(NormalizedTexts(["low"]), 260, normalizer="Lowercase")': (
            "the texts are NormalizedTexts of 'NFC'; give the same"
        ),
        'BPETokenizer.register_for_auto_class("AutoModel")': "auto_class: expected 'AutoTokenizer', got 'AutoModel'",
        "BPETokenizer.register_for_auto_class(AutoConfig)": "auto_class: expected 'AutoTokenizer', got 'AutoConfig'",
        'BPETokenizer("tokenizer.json")': r"write BPETokenizer\.from_pretrained\('\.'\)",
        'BPETokenizer("saved")': r"write BPETokenizer\.from_pretrained\('saved'\)",
        'BPETokenizer("Qwen/Qwen3-0.6B")': r"from_pretrained\('Qwen/Qwen3-0\.6B'\)",
        'BPETokenizer("saved.tiktoken")': r"write BPETokenizer\.convert_from\('saved\.tik",
        'BPETokenizer.from_pretrained("saved/tokenizer.json")': (
            r"got the file 'saved/tokenizer.json'; write BPETokenizer\.from_pretrained\('saved'\)"
        ),
        'BPETokenizer.from_pretrained("saved.tiktoken")': r"BPETokenizer\.convert_from\('saved\.tik",
        'BPETokenizer.convert_from("saved", format="ggml")': "unknown format 'ggml': expected one of",
        'TOKENIZER.convert_to("x.json", format="tekken")': "the format tekken is only read; expected one of hf, ",
        'TOKENIZER.convert_to("x.bin")': r"a file that ends in \.gguf .*got 'x\.bin'",
        'TOKENIZER.encode(b"low")': "got b'low'; encode_bytes takes bytes",
        "TOKENIZER(COLUMN)": r"got 0 low .*; give text\.tolist\(\)",
        'TOKENIZER.encode("low", allowed_special="<x>")': "expected 'all' or a set of special tokens",
        'TOKENIZER.encode("low", allowed_special={"<|c|>"})': r"'<\|c\|>' is not a special token of this tokenizer",
        'TOKENIZER.encode("low", disallowed_special=(), split_special_tokens=True)': (
            "split_special_tokens: expected False"
        ),
        "TOKENIZER.encode([1, 2], disallowed_special=())": "expected texts, not ids",
        'WITH_ENDS("low" * 5, "low", truncation="only_second", max_length=4, return_tensors="np")': (
            r"'only_second': a row has \d+ ids too many, but the text to truncate has only \d, of which one"
        ),
        'WITH_ENDS("low" * 5, truncation="only_second", max_length=4)': (
            "rows are too long, but have no second text to truncate"
        ),
        'WITH_ENDS("low" * 5, truncation=True, max_length=3, stride=3, return_overflowing_tokens=True)': (
            "1 ids of a text fit in a row, of which 3 "
        ),
        **{
            f"TOKENIZER({texts}, {option}=True)": f"{option}=True: expected texts, either all single or all in pairs"
            for texts in ("[5, 6]", '["a", ("b", "c")]')
            for option in ("return_offsets_mapping", "return_overflowing_tokens")
        },
        'TOKENIZER("low", dropout=2)': "dropout: expected at most 1, got 2",
        'TOKENIZER.encode_to_padded(["low", "lower"])': "need a pad_token.*train with pad_token=",
        'TOKENIZER.encode_files("text.txt", "x", format="megatorn")': "one of 'npy', 'megatron'",
        'setattr(TOKENIZER, "add_bos_token", True)': "add_bos_token=True needs a bos_token",
        "TOKENIZER.extend([], 2)": "got an empty list",
        "TOKENIZER.truncate(999)": "vocab_size: expected .* got 999",
    },
    TypeError: {
        'train(["low"], 300, {"pad_token": "<pad>"})': "pad_token='<pad>'",
        'BPETokenizer.train(["low"], 300, {"pad_token": "<pad>"})': "pad_token='<pad>'",
        'train(["low"], 300, min_freq=2)': "did you mean 'min_frequency'",
        'BPETokenizer.train(["low"], [300, 400])': "expected one size",
        'train_bpe(["low"], [300, 400])': "vocab_size: expected one size, got",
        'BPETokenizer.train(["low"], 300, eos="x")': "did you mean 'eos_token'",
        "BPETokenizer(MODEL)": r"BPETokenizer\(model=model\)",
        "BPETokenizer(tokenizer_object=1)": r"write BPETokenizer.convert_from\(tokenizer_object\)",
        'TOKENIZER.prune(["low"], 257)': (
            "BPETokenizer.prune: got 257 without a name; give it as one of keep=, vocab_size=, min_count="
        ),
        'editing.extend(TOKENIZER, ["low"], 1)': r"give its \.model",
        "TOKENIZER.with_model(MODEL)": "give all of what it returned",
        'TOKENIZER.decode("abc")': "token_ids: expected ids, got 'abc'",
        "TOKENIZER.decode([1.5])": r"token_ids\[0\]: expected an int, got 1\.5",
        'TOKENIZER.encode_to_lists("low")': r"write \[text\]",
        'TOKENIZER.extend(["low"])': r"BPETokenizer\.extend\(input, number\): number missing",
        'analysis.compare(TOKENIZER, TOKENIZER, ["low"])': r"a list of tokenizers, as in compare\(\[a, b\], texts\)",
        'TOKENIZER.encode_to_lists(["low", 5])': r"texts\[1\]: expected str or bytes, got 5",
        '[*TOKENIZER.encode_iterable(["low", 5])]': "piece 1 is int, expected str or bytes",
        'TOKENIZER("low", paddin=True)': "did you mean 'padding'",
        'TOKENIZER.tokenize("low", add_special_token=1)': "'add_special_token'; did you mean 'add_special_tokens'",
        'TOKENIZER.encode("low", max_lenght=1)': "'max_lenght'; did you mean 'max_length'",
        "TOKENIZER.decode([1], skip_special_token=1)": "'skip_special_token'; did you mean 'skip_special_tokens'",
        'BPETokenizer.convert_from(MODEL, padd_side="left")': "'padd_side'; did you mean 'padding_side'",
        'TOKENIZER.train_new_from_iterator(["low"], 258, min_freq=1)': "'min_freq'; did you mean 'min_frequency'",
        'TOKENIZER.encode_to_numpy(["low"], num_worker=1)': "^BPETokenizer.encode_to_numpy: .*mean 'num_workers'",
        'BPETokenizer(model=MODEL, eos="x")': "'eos'; did you mean 'eos_token'",
        'TOKENIZER.encode_files(Source(["low"]), "x.npy")': "expected a Source of a path",
        'analysis.report("folder", ["low"])': r"BPETokenizer\.from_pretrained\(path\)",
        'analysis.show("folder", "low")': r"BPETokenizer\.from_pretrained\(path\)",
        'count(["low"], patern="gpt2")': "did you mean 'pattern'",
        "train(np.arange(3), 300)": "values of the type int64; give one of strings",
        'BPETokenizer.train(["low"], 300, trainer="x")': r"'trainer'; help\(BPETokenizer.train\) says",
        'train(["low"], 300, initial=TOKENIZER)': r"expected a BPEModel.*give its \.model",
        'BPETokenizer.train(["low"], 300, pad_token=0)': "pad_token: expected a str or an AddedToken",
        'BPETokenizer({"a": 0}, [])': "vocab_file: expected a path, got {'a': 0}",
        "BPETokenizer.from_pretrained(None)": "expected a path, got None",
        'BPETokenizer.from_pretrained("saved", paddin_side="left")': "did you mean 'padding_side'",
        'TOKENIZER.save_pretrained("new", portble=True)': "unknown option 'portble'; did you mean 'portable'",
        'FAST("low", dropout=0.1, seed=1)': "dropout: only BPETokenizer encodes at random",
        "BPETokenizer.convert_from(5)": r"expected a path, the name of .*, a tiktoken\.Encoding, .*, got int",
        'TOKENIZER("low", return_offsets=True)': "did you mean 'return_offsets_mapping'",
        'TOKENIZER.encode("low", disallowed_special=5)': "disallowed_special: expected a list of str, got 5",
        "TOKENIZER.decode(None)": "token_ids: expected ids, got None",
        "TOKENIZER.decode([[[1]]])": r"expected an int, got \[1\]",
        "TOKENIZER.convert_tokens_to_ids(None)": "tokens: expected a list of str, got None",
        'TOKENIZER.convert_ids_to_tokens("low")': "ids: expected ids, got 'low'",
        'TOKENIZER.add_special_tokens(["<y>"])': r"expected roles .*add_tokens\(\[…\], special_tokens=True\)",
        "TOKENIZER.add_tokens(5)": "new_tokens: expected a list, got 5",
        "TOKENIZER.save_pretrained(None)": "save_directory: expected a path, got None",
        'TOKENIZER.extend(["low"], 3, patern="x")': "did you mean 'pattern'",
        "TOKENIZER.prune()": "prune: expected keep=ids; or text, or counts, with either vocab_size",
        'TOKENIZER.prune(["low"])': r"either vocab_size or min_count; got .*input=\['low'\]",
        'TOKENIZER.prune(WordCounts({"low": 5}), min_count=1, num_workers=2)': "num_workers is only for text",
        'TOKENIZER.prune(keep="low")': "keep: expected ids, got 'low'",
        'analysis.compare(TOKENIZER, ["low"])': "tokenizers: expected a list of tokenizers, as in",
        "accelerate(TOKENIZER)": "got BPETokenizer; it needs no acceleration",
        'accelerate("folder")': r"got str; write accelerate\(AutoTokenizer\.from_pretrained\('folder'\)\)",
    },
    FileNotFoundError: {
        'TOKENIZER.encode_files("no.txt", "ids")': "no file 'no.txt'; for texts in memory call encode_to_numpy",
        'BPETokenizer.convert_from("missing.json")': "no file or folder 'missing.json'",
        'BPETokenizer.convert_from("gpt-4o-mine")': "no file or folder 'gpt-4o-mine'",
    },
    AttributeError: {
        'BPETokenizer.from_pretrained("saved", add_special_tokens=True)': "add_special_tokens conflicts with the",
    },
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a folder with what wrong calls name."""
    path = tmp_path_factory.mktemp("calls")
    TOKENIZER.save_pretrained(path / "saved")
    TOKENIZER.convert_to(path / "saved.tiktoken")
    (path / "empty").mkdir()
    (path / "text.txt").write_text("low lower\n")
    return path


@pytest.fixture(scope="module")
def files(folder, text, tmp_path_factory):
    """Return name → path of the files that wrong commands name."""
    path = tmp_path_factory.mktemp("wrong")
    (path / "binary.txt").write_bytes(b"abc \xff def\n")
    (path / "text.xz").write_bytes(b"\xfd7zXZ")
    (path / "blank.txt").touch()
    for name in ("empty", "pieces", "sizes"):
        (path / name).mkdir()
    (path / "pieces" / "tokenizer.model").touch()
    (path / "sizes" / "258").touch()
    (path / "x.tiktoken").write_text("YQ== 0\n")
    WordCounts({"low": 2}).save(path / "x.counts")
    WordCounts({"low": 2}, pattern="cl100k").save(path / "y.counts")
    added = BPETokenizer.train(["low"], 257)
    added.add_tokens(["<|y|>"])
    added.save_pretrained(path / "added")
    BPETokenizer.train(["low"], 257, normalizer="NFC", add_prefix_space=True).save_pretrained(path / "normalized")
    names = {"BINARY": "binary.txt", "XZ": "text.xz", "RANKS": "x.tiktoken", "COUNTS": "x.counts", "OUT": "out"}
    names |= {"NORMALIZED": "normalized", "MISSPELT": "normalised", "BLANK": "blank.txt", "EMPTY": "empty"}
    names |= {"ADDED": "added", "OTHER": "y.counts", "PIECES": "pieces", "SIZES": "sizes"}
    return {"TEXT": str(text), "FOLDER": str(folder), **{name: str(path / file) for name, file in names.items()}}


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_command_ends_in_one_line_that_helps(command, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*(files.get(word, word) for word in command.split()), code=None)
    assert result.exit_code in (1, 2)
    assert not [*tmp_path.iterdir(), *Path(files["OUT"]).parent.glob("out*")]
    if not command:
        return
    lines = result.stderr.splitlines()
    assert "Traceback" not in result.stderr
    assert lines[-1].startswith("hf-bpe: error: ")
    expected = re.sub("TEXT(?!=ID)", lambda _: re.escape(files["TEXT"]), COMMANDS[command])
    assert re.search(expected, lines[-1]), lines[-1]


@pytest.mark.parametrize(("error", "call"), [(error, call) for error, calls in CALLS.items() for call in calls])
def test_wrong_call_raises_a_message_that_helps(error, call, saved, monkeypatch):
    monkeypatch.chdir(saved)
    before = {*saved.iterdir()}
    with pytest.raises(error, match=CALLS[error][call]) as raised:
        eval(call, NAMES)
    assert {*saved.iterdir()} == before
    assert "\n" not in str(raised.value)
    assert type(raised.value) is error
