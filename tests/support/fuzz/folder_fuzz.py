"""Random folders of tokenizers, loaded by BPETokenizer and by PreTrainedTokenizerFast of transformers.

Each folder has a small byte-level `tokenizer.json` with random added tokens, flags and templates, and random other
files. BPETokenizer must give the same ids, texts and special tokens as PreTrainedTokenizerFast, or refuse the folder.
"""

import json
import random
import unicodedata
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from hf_bpe import BPETokenizer
from hf_bpe.conversion import FORMATS
from hf_bpe.pretokenizers import PATTERNS, from_printable, to_printable
from support.engines import use_engine

NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
CONTENTS = [
    *("<s>", "</s>", "<s>", "</s>", "<b>", "<unk>", "<pad>", "<|x|>", "ab", "a", "x", "abx", "xx", "Ġ", "Ġx", " b"),
    *("b ", "\n", "  ", "é", "café", "你", "e\u0301", "<s>a", "s>", "", "<"),
]
PIECES = [*CONTENTS, *"abxs <>/|.,1é你", " a", "ab", "  ", "\n\n", "\u3000", "it's", "\u0301", "\x01", "caf"]
CHAT_TEMPLATES = [{"name": "default", "template": "a"}, {"name": "tool", "template": "b"}]
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
BYTE_LEVEL_DECODER = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


class Case:
    """A random folder: file name → content.

    Args:
        source: what decides everything.
    """

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.vocab, self.merges = self.draw_vocabulary()
        self.added = self.draw_added_tokens()
        self.files = {"tokenizer.json": self.draw_tokenizer_json()}
        if self.chance(0.85):
            self.files["tokenizer_config.json"] = self.draw_config()
        if self.chance(0.4):
            self.files["special_tokens_map.json"] = self.draw_names(legacy=True)
        if self.chance(0.3):
            ids = {self.draw_id(content): content for content in dict.fromkeys(self.draw_contents(4))}
            self.files["added_tokens.json"] = {content: token_id for token_id, content in ids.items()}
        if self.chance(0.2):
            self.files["chat_template.jinja"] = "{{ messages }}"
        if self.chance(0.1):
            self.files["additional_chat_templates/tool.jinja"] = "{{ tools }}"
        if self.chance(0.1):
            self.files["vocab.json"], self.files["merges.txt"] = {"a": 0, "b": 1}, "#version: 0.2\n"
        for name in ("special_tokens_map.json", "added_tokens.json"):
            if name in self.files and self.chance(0.03):
                self.files[name] = self.one_of('{"', "[]", '{"<s>": []}', '{"<s>": "x"}', '{"bos_token": {}}')

    def chance(self, share: float) -> bool:
        return self.source.random() < share

    def one_of(self, *values):
        return self.source.choice(values)

    def draw_contents(self, most: int) -> list[str]:
        return [self.one_of(*CONTENTS) for _ in range(self.source.randint(0, most))]

    def draw_vocabulary(self) -> tuple[dict[str, int], list[list[str]]]:
        few = b"abxs <>/|"
        alphabet = [bytes([byte]) for byte in (range(256) if self.chance(0.7) else few[: self.source.randint(1, 9)])]
        letters = [token for token in alphabet if token in b"abxs <"]
        tokens, merges = [*letters], []
        for _ in range(self.source.randint(0, 8)):
            pair = self.one_of(*tokens), self.one_of(*tokens)
            if pair not in merges and len(b"".join(pair)) < 6:
                merges.append(pair)
                tokens.append(b"".join(pair))
        texts = [*map(to_printable, dict.fromkeys([*alphabet, *tokens]))]
        more = ["<s>", "</s>", "<unk>", "abx", "Ġx", "xx", "café", "ĠĠ"]
        texts += [text for text in more if self.chance(0.25) and text not in texts]
        texts += [text for text in ("你", " b") if self.chance(0.03)]  # of no bytes, unless they are added tokens
        if self.chance(0.5):
            self.source.shuffle(texts)
        ids = range(len(texts))
        if self.chance(0.06):
            ids = sorted(self.source.sample(range(len(texts) + self.source.randint(1, 6)), len(texts)))
        return dict(zip(texts, ids, strict=True)), [[*map(to_printable, pair)] for pair in merges]

    def draw_flags(self) -> dict[str, bool]:
        if self.chance(0.5):
            special = self.chance(0.7)
            return dict.fromkeys(FLAGS, False) | {"special": special, "normalized": not special}
        return {flag: self.chance(0.4) for flag in FLAGS}

    def draw_added_tokens(self) -> list[dict]:
        added, following = [], len(self.vocab)
        for content in dict.fromkeys(self.draw_contents(6)):
            token_id = self.vocab.get(content, following)
            following += content not in self.vocab and bool(content)
            if self.chance(0.01):
                token_id += 1
            added.append({"id": token_id, "content": content, **self.draw_flags()})
        return added

    def draw_token(self) -> str:
        contents = [token["content"] for token in self.added]
        return self.one_of(*contents) if contents and self.chance(0.7) else self.one_of(*CONTENTS, *self.vocab)

    def draw_id(self, content: str) -> int:
        ids = {token["content"]: token["id"] for token in self.added}
        if self.chance(0.7):
            return ids.get(content, self.vocab.get(content, len(self.vocab) + len(self.added)))
        return self.source.randint(0, len(self.vocab) + 8)

    def draw_piece(self, tokens: list[str]) -> dict:
        return {"SpecialToken": {"id": self.one_of(*tokens), "type_id": self.source.randint(0, 1)}}

    def draw_template(self) -> dict:
        tokens = [token["content"] for token in self.added if token["content"]]
        if self.chance(0.02):
            tokens = [text for text in self.vocab if len(text) > 1] or tokens
        ids = {**self.vocab, **{token["content"]: token["id"] for token in self.added}}
        sequence = {name: {"Sequence": {"id": name, "type_id": self.source.randint(0, 1)}} for name in "AB"}

        def pieces(most: int) -> list[dict]:
            return [self.draw_piece(tokens) for _ in range(self.source.randint(0, most))]

        if self.chance(0.5):
            bos, eos = pieces(1), pieces(1)
            template = [*bos, sequence["A"], *eos], [*bos, sequence["A"], *eos, *bos, sequence["B"], *eos]
        else:
            one = [*pieces(2), sequence["A"], *pieces(2)]
            template = one, [*pieces(2), sequence["A"], *pieces(2), sequence["B"], *pieces(2)]
        if self.chance(0.03):
            template[1].reverse()
        shift = self.chance(0.03)
        special = {token: {"id": token, "ids": [ids[token] + shift], "tokens": [token]} for token in tokens}
        return {"type": "TemplateProcessing", "single": template[0], "pair": template[1], "special_tokens": special}

    def draw_tokenizer_json(self) -> dict:
        byte_level = BYTE_LEVEL_DECODER | {"add_prefix_space": self.chance(0.2)}
        split = {"type": "Split", "pattern": {"Regex": PATTERNS["cl100k"]}, "behavior": "Isolated", "invert": False}
        pre_tokenizer = byte_level | {"use_regex": self.chance(0.8)}
        if self.chance(0.3):
            parts = [split, byte_level | {"use_regex": False, "add_prefix_space": self.chance(0.02)}]
            pre_tokenizer = {"type": "Sequence", "pretokenizers": parts}
        byte_level_processor = byte_level | {"trim_offsets": self.chance(0.5)}
        template = self.draw_template() if any(token["content"] for token in self.added) else byte_level_processor
        processors = {"type": "Sequence", "processors": [byte_level_processor, template]}
        roberta = {"type": "RobertaProcessing", "sep": [self.one_of(*self.vocab), 0], "cls": ["a", 0]}
        roberta |= {"trim_offsets": True, "add_prefix_space": False}
        model = {
            **{"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None},
            **{"end_of_word_suffix": None, "fuse_unk": self.chance(0.1), "byte_fallback": self.chance(0.05)},
            **{"ignore_merges": self.chance(0.3), "vocab": self.vocab, "merges": self.merges},
        }
        if self.chance(0.3):
            contents = [token["content"] for token in self.added if token["content"] in self.vocab]
            model["unk_token"] = self.one_of("<unk>", "<s>", "a", "zz", *contents, *contents)
        padding = {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0}
        truncation = {"direction": "Left", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
        return {
            "version": "1.0",
            "truncation": truncation if self.chance(0.05) else None,
            "padding": {**padding, "pad_type_id": 0, "pad_token": self.draw_token()} if self.chance(0.05) else None,
            "added_tokens": self.added,
            "normalizer": {"type": "NFC"} if self.chance(0.15) else None,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": self.one_of(
                *(None, byte_level, template, template, template, processors, processors),
                *([roberta] if self.chance(0.1) else []),
            ),
            "decoder": None if self.chance(0.02) else BYTE_LEVEL_DECODER,
            "model": model,
        }

    def draw_value(self, legacy: bool):
        if self.chance(0.1):
            return None
        token = self.draw_token()
        if self.chance(0.7):
            return token
        kind = {} if legacy or self.chance(0.03) else {"__type": "AddedToken"}
        return {"content": token, **kind, **{flag: self.chance(0.2) for flag in FLAGS[:4]}}

    def draw_names(self, legacy: bool) -> dict:
        names = {name: self.draw_value(legacy) for name in NAMES if self.chance(0.3)}
        if self.chance(0.2):
            names["additional_special_tokens"] = [self.draw_token() for _ in range(self.source.randint(0, 3))]
        if self.chance(0.1):
            tokens = [self.draw_token() for _ in range(self.source.randint(0, 3))]
            names["extra_special_tokens"] = tokens if self.chance(0.6) else {"image_token": self.draw_token()}
        if self.chance(0.1):
            names["audio_token"] = self.draw_token()
        return names

    def draw_config(self) -> dict:
        config = self.draw_names(legacy=False)
        if self.chance(0.5):
            listed = [token for token in self.added if self.chance(0.8)]
            decoder = {token["id"]: {**token, **(self.draw_flags() if self.chance(0.1) else {})} for token in listed}
            for content in self.draw_contents(2) if self.chance(0.5) else []:
                decoder[self.draw_id(content)] = {"content": content, **self.draw_flags()}
            config["added_tokens_decoder"] = {
                str(token_id): {name: value for name, value in token.items() if name != "id"}
                for token_id, token in decoder.items()
            }
        choices = {
            "tokenizer_class": [*["PreTrainedTokenizerFast"] * 2, "GPT2Tokenizer", "TokenizersBackend"],
            "add_prefix_space": [True, False, None],
            "add_bos_token": [True, False],
            "add_eos_token": [True, False],
            "split_special_tokens": [True, False, False, False],
            "clean_up_tokenization_spaces": [True, False],
            "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": [True, False, False],
            "model_max_length": [4, 1000, 1e30],
            "padding_side": ["left", "right"],
            "truncation_side": ["left", "right"],
            "errors": ["replace", "ignore", "strict"],
            "chat_template": ["{{ x }}", None, CHAT_TEMPLATES],
            "template": [None, {"single": [], "pair": []}],
            "ignore_merges": [True, False],
            "special_tokens_pattern": ["bos", "cls_sep"],
            "token_type_ids_pattern": ["bert_style"],
            "init_inputs": [[]],
            "name_or_path": ["somewhere"],
        }
        return config | {name: self.one_of(*values) for name, values in choices.items() if self.chance(0.15)}

    def write(self, folder: Path) -> None:
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            path.write_text(text, encoding="utf-8", newline="")

    def draw_text(self) -> str:
        return "".join(self.one_of(*PIECES) for _ in range(self.source.randint(0, 8)))


def outcome(function, *args, **kwargs):
    """Return a result and None, or None and the error, be it a panic."""
    try:
        return function(*args, **kwargs), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # PanicException is no Exception
        return None, error


def compare(ours, fast, case: Case) -> None:
    """Compare two tokenizers; AssertionError if they differ."""
    if ours.model.refuses_bytes and fast.unk_token is None:  # a documented difference: that of the model is named
        fast.unk_token = ours.unk_token
    names = ("special_tokens_map", "extra_special_tokens", "all_special_tokens", "all_special_ids", "chat_template")
    for name in (*names, *(f"{each}_id" for each in NAMES), "padding_side", "truncation_side", "model_max_length"):
        expected, error = outcome(getattr, fast, name)  # which fails where unk_token is no token
        assert error is not None or getattr(ours, name) == expected, name
    assert fast.get_vocab().items() <= ours.get_vocab().items(), "get_vocab"
    theirs = {token_id: token.content for token_id, token in fast.added_tokens_decoder.items()}
    assert {token_id: token.content for token_id, token in ours.added_tokens_decoder.items()} == theirs, "added tokens"
    texts = [case.draw_text() for _ in range(6)]
    calls = [((text,), {"add_special_tokens": added}) for text in texts for added in (True, False)]
    # For PreTrainedTokenizerFast an empty second text is none, which is a documented difference.
    seconds = [text or "a" for text in texts[1:4]]
    calls += [((texts[0], text), {"add_special_tokens": added}) for text in seconds for added in (True, False)]
    calls += [((text,), {"split_special_tokens": True}) for text in texts[:2]]
    rows = []
    for args, kwargs in calls:
        expected, error = outcome(fast, *args, **kwargs, verbose=False)
        if error is not None:
            continue
        got = ours(*args, **kwargs, verbose=False)["input_ids"]
        assert got == expected["input_ids"], f"{args} {kwargs}: {got}, expected {expected['input_ids']}"
        rows.append(got)
    ids = [*fast.get_vocab().values()]
    rows += [[case.one_of(*ids) for _ in range(6)] for _ in range(4)]
    # Documented differences: added tokens are decoded as they are written.
    odd = {token_id for token_id in theirs if is_decoded_otherwise(token_id, ours, fast)}
    for row in rows:
        for skip in (False, True):
            if odd.isdisjoint(row):
                got, expected = (each.decode(row, skip_special_tokens=skip) for each in (ours, fast))
                assert got == expected, f"decode {row} {skip=}: {got!r}, expected {expected!r}"


def is_decoded_otherwise(token_id: int, ours, fast) -> bool:
    token = fast.added_tokens_decoder[token_id]
    # `tokenizers` remembers the normalized content, also of a token that is added again with normalized=False.
    is_normalized = fast.backend_tokenizer.normalizer is not None
    if is_normalized and unicodedata.normalize("NFC", token.content) != token.content:
        return True
    data = from_printable(token.content)
    return data is not None and ours.decode_bytes([token_id]) != data


def run(seed: int, folder: Path) -> bool:
    """Try one random folder; AssertionError if there is a difference. Return whether both loaded it."""
    case = Case(random.Random(seed))
    case.write(folder)
    fast, failure = outcome(PreTrainedTokenizerFast.from_pretrained, folder, local_files_only=True)
    try:
        ours = BPETokenizer.from_pretrained(folder, local_files_only=True)
    except ValueError:
        return False
    if failure is not None:
        return False
    compare(ours, fast, case)
    texts = [case.draw_text() for _ in range(4)]
    expected, failure = outcome(fast, texts, verbose=False)
    assert failure is not None or FORMATS["hf"].peer(folder, ours.definition).encode(texts, True) == expected.input_ids
    if seed % 8 == 0:
        with use_engine("reference"):
            compare(BPETokenizer.from_pretrained(folder), fast, case)
    if seed % 8 == 1:
        compare_saved(ours, fast, case, folder / "again")
    return True


def compare_saved(ours, fast, case: Case, folder: Path) -> None:
    try:
        ours.save_pretrained(folder, portable=case.chance(0.5))
    except ValueError:
        return
    compare(BPETokenizer.from_pretrained(folder), fast, case)
