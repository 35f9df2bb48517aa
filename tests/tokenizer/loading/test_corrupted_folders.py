"""Folders that are corrupted after they were written: verification finds each."""

import dataclasses
import json
import shutil

import pytest
from tokenizers import AddedToken

from hf_bpe import BPETokenizer, train
from hf_bpe.tokenizer._saving import verify_saved
from support.cases import case

CORPUS = [
    "low low low low low lower lower widest widest widest newest newest newest newest 你好 你好 42 42!\n\n",
    "What is trained on a text of many words learns many merges; the longest of them are whole words. It's\n",
] * 3
JSON, CONFIG, VOCAB, MERGES = "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"


@pytest.fixture(scope="module")
def tokenizer():
    model = train(CORPUS, num_merges=74, special_tokens=["<|endoftext|>", "<s>", "<pad>"], pattern="cl100k")
    tokenizer = BPETokenizer(
        model=dataclasses.replace(model, normalizer="NFC"),
        **{"bos_token": "<s>", "add_bos_token": True, "pad_token": "<pad>", "padding_side": "left"},
        **{"truncation_side": "left", "model_max_length": 99, "chat_template": "{{ messages }}"},
    )
    tokenizer.add_tokens([AddedToken("<tool>", lstrip=True, normalized=False), AddedToken("Zqx", single_word=True)])
    return tokenizer


def corrupt(path, statement):
    """Change a file by a statement about its `text`, its `rows`, or as JSON its `content`, `vocab` or `merges`."""
    text = path.read_text(encoding="utf-8")
    names = {"text": text, "rows": text.split("\n")}
    if path.suffix == ".json":
        names["content"] = content = json.loads(text)
        model = content.get("model", {"vocab": content, "merges": []})
        names |= {"vocab": model["vocab"], "merges": model["merges"], "parts": content.get("pre_tokenizer")}
    exec(statement, names)
    changed = names["text"]
    if changed == text and path.suffix == ".json":
        assert names["content"] != json.loads(text), statement
        changed = json.dumps(names["content"], ensure_ascii=False, indent=2) + "\n"
    elif changed == text:
        changed = "\n".join(names["rows"])
    assert changed != text, statement
    path.write_text(changed, encoding="utf-8")


SWAP_IDS = "a, b = sorted(vocab, key=vocab.get)[{0}:{0} + 2]; vocab[a], vocab[b] = vocab[b], vocab[a]"
MODEL = {
    JSON: [
        *(SWAP_IDS.format(number) for number in (0, 132, 297)),
        *("merges.pop(0)", "merges.pop(60)", "merges[0:2] = merges[1::-1]", "merges[60:62] = merges[61:59:-1]"),
        *("merges.insert(0, merges[-1])", "merges.reverse()", "merges.clear()", "merges.append('Z Q')"),
        *("vocab['ZQ'] = 999", "del vocab['Z']", "vocab['ZZZ'] = vocab.pop('Z')"),
        *("content['model']['type'] = 'WordPiece'", "content['model']['ignore_merges'] = True"),
        "content['model']['continuing_subword_prefix'] = '##'",
        "content['model']['end_of_word_suffix'] = '</w>'",
    ],
    VOCAB: [*(SWAP_IDS.format(number) for number in (5, 131, 299)), "del vocab['Z']"],
    MERGES: ["rows.pop(1)", "rows.pop(61)", "rows[1:3] = rows[2:0:-1]", "rows[61:63] = rows[62:60:-1]"],
}
ADDED_TOKENS = {
    JSON: [
        *(
            f"content['added_tokens'][{number}]['{flag}'] ^= True"
            for number in (0, 3, 4)
            for flag in ("lstrip", "rstrip", "single_word", "special")
        ),
        "content['added_tokens'][3]['normalized'] ^= True",
        "content['added_tokens'][3]['content'] = '<tools>'",
        "content['added_tokens'][3]['id'] = 777",
        *("content['added_tokens'].pop()", "content['added_tokens'].pop(0)"),
    ]
}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
NORMALIZERS = [None, *({"type": kind} for kind in ("NFD", "NFKC", "Lowercase"))]
NORMALIZERS += [{"type": "Strip", "strip_left": True, "strip_right": True}]
PARTS = {
    JSON: [
        *(f"content['normalizer'] = {normalizer}" for normalizer in NORMALIZERS),
        *(f"content['pre_tokenizer'] = {BYTE_LEVEL}", "del parts['pretokenizers'][0]", "del parts['pretokenizers'][1]"),
        *("text = text.replace('{1,3}', '{1,2}')", """text = text.replace("'s|", "'x|", 1)"""),
        "parts['pretokenizers'][0]['behavior'] = 'MergedWithNext'",
        "parts['pretokenizers'][1]['add_prefix_space'] = True",
        "parts['pretokenizers'][1]['use_regex'] = True",
        "content['post_processor'] = None",
        "content['post_processor']['single'] = [{'Sequence': {'id': 'A', 'type_id': 0}}]",
        "content['post_processor']['pair'].pop(0)",
        "content['post_processor']['special_tokens']['<s>']['ids'] = [0]",
        *(f"content['decoder'] = {decoder}" for decoder in (None, METASPACE, {"type": "Fuse"})),
    ]
}
SETTINGS = {"pattern": "gpt2", "padding_side": "right", "truncation_side": "right", "model_max_length": 98}
SETTINGS |= {"bos_token": "<pad>", "pad_token": "<s>", "normalizer": "NFD"}
CUT = ["text = ''", "text = text[: len(text) * 99 // 100]"]
LOST = "delete"
FILES = {
    **{name: [*CUT, LOST] for name in (JSON, VOCAB, MERGES)},
    CONFIG: [*CUT, LOST, *(f"content[{name!r}] = {value!r}" for name, value in SETTINGS.items())],
    "chat_template.jinja": [LOST, "text += '!'"],
}
KINDS = {"model": MODEL, "added tokens": ADDED_TOKENS, "parts": PARTS, "files": FILES}


@pytest.mark.parametrize("corruptions", KINDS.values(), ids=KINDS)
def test_corrupted_folder_is_found(tokenizer, tmp_path, corruptions):
    tokenizer.save_pretrained(tmp_path / "whole", verify=False)
    all_of_them = [(name, statement) for name, statements in corruptions.items() for statement in statements]
    for number, (name, statement) in enumerate(all_of_them):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / str(number))
        if statement == LOST:
            (folder / name).unlink()
        else:
            corrupt(folder / name, statement)
        with case(name, statement), pytest.raises(ValueError, match="save with verify=False"):
            verify_saved(folder, tokenizer)
