"""Folders with tiktoken's ranks and special tokens in `tokenizer_config.json`, as of Kimi and older Qwen models."""

import json

import pytest

from hf_bpe import BPETokenizer
from hf_bpe.formats._verification.stress_texts import STRESS_TEXTS
from hf_bpe.pretokenizers import Pattern
from support.commands import error, run
from support.samples import CORPUS
from support.servers.hub import add_to_cache

CODE = '''
pat_str = "|".join([
    r"""[\\p{Han}]+""",
    r"""[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*\
[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+\
[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
])
num_reserved_special_tokens = 256
range(num_base_tokens, num_base_tokens + self.num_reserved_special_tokens + 2)
f"<|reserved_token_{i}|>"
raise SystemExit("code of the folder is run")
'''
AUTO_MAP = {"auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}}
SIZE = 256 + 50


@pytest.fixture
def folder(tmp_path):
    BPETokenizer.train(CORPUS * 2, num_merges=50, pattern="kimi-k2").convert_to(tmp_path / "tiktoken.tiktoken")
    (tmp_path / "tiktoken.tiktoken").rename(tmp_path / "tiktoken.model")
    (tmp_path / "tiktoken.tiktoken.json").unlink()
    (tmp_path / "tokenization_kimi.py").write_text(CODE)
    return tmp_path


def configure(folder, **config):
    def token(content, special=True):
        return {"content": content, "special": special, "lstrip": False, "normalized": False}

    listed = {str(SIZE): token("[BOS]"), str(SIZE + 1): token("[EOS]"), str(SIZE + 9): token("<think>", False)}
    config = {"added_tokens_decoder": listed, "bos_token": "[BOS]", "eos_token": "[EOS]", **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_folder_of_kimi_has_the_ids_of_tiktoken(folder):
    configure(folder, **AUTO_MAP, chat_template="{{ messages }}")
    ours = BPETokenizer.from_pretrained(folder)
    assert ours.definition == BPETokenizer.convert_from(folder).definition
    assert (ours.model.pattern, len(ours), ours.chat_template) == ("kimi-k2", SIZE + 258, "{{ messages }}")
    reserved = [f"<|reserved_token_{SIZE + number}|>" for number in (2, 257)]
    assert ours.convert_ids_to_tokens([SIZE, SIZE + 2, SIZE + 257]) == ["[BOS]", *reserved]
    assert (ours.bos_token_id, ours.eos_token_id) == (SIZE, SIZE + 1)
    assert ours.decode([SIZE, SIZE + 9], skip_special_tokens=True) == "<think>"
    tiktoken = pytest.importorskip("tiktoken")
    specials = {token.content: token_id for token_id, token in ours.added_tokens_decoder.items()}
    ranks = {token: i for i, token in ours.model.vocab.items() if i < SIZE}
    theirs = tiktoken.Encoding(
        "x", pat_str=Pattern.read("kimi-k2").expression, mergeable_ranks=ranks, special_tokens=specials
    )
    for text in (*STRESS_TEXTS, *CORPUS, "[BOS]low<think> lower<|reserved_token_310|>", "汉字low汉字 12345"):
        assert ours.encode(text) == theirs.encode(text, allowed_special="all")


def test_number_of_reserved_tokens_is_that_of_the_code(folder):
    configure(folder, **AUTO_MAP)
    (folder / "tokenization_kimi.py").write_text(CODE.replace("_tokens + 2)", "_tokens)"))
    assert len(BPETokenizer.from_pretrained(folder)) == SIZE + 256
    (folder / "tokenization_kimi.py").write_text(CODE.replace("_tokens + 2)", "_tokens + 3)"))
    with pytest.raises(ValueError, match="does not store the split pattern"):
        BPETokenizer.from_pretrained(folder)


def test_other_code_is_not_taken_for_that_of_kimi(folder):
    (folder / "tokenization_kimi.py").write_text(CODE.replace("256", "512"))
    configure(folder, **AUTO_MAP)
    assert "does not store the split pattern" in error("convert", folder, folder / "out")
    (folder / "tokenization_kimi.py").unlink()
    assert BPETokenizer.from_pretrained(folder).model.pattern == "kimi-k2"


def test_pattern_and_special_tokens_can_be_given(folder):
    configure(folder, auto_map={"AutoTokenizer": ["tokenization_qwen.QWenTokenizer", None]})
    message = r"does not store the split pattern; give it: .*; the code of the folder has it"
    with pytest.raises(ValueError, match=message):
        BPETokenizer.from_pretrained(folder)
    ours = BPETokenizer.convert_from(folder, pattern="qwen2", special_tokens={"<|im_start|>": SIZE + 2})
    assert ours.model.pattern == "qwen2"
    assert ours.encode("[BOS]<|im_start|>") == [SIZE, SIZE + 2]
    assert BPETokenizer.from_pretrained(folder, pattern="qwen2").encode("[BOS]") == [SIZE]
    assert "pattern         not in the file" in run("inspect", folder).stdout
    assert "tiktoken-folder" in run("inspect", folder, "--pattern", "qwen2").stdout


def test_repository_in_the_cache_is_read_like_its_folder(folder, tmp_path):
    configure(folder, **AUTO_MAP, chat_template="{{ messages }}")
    snapshot = add_to_cache(folder, tmp_path)
    expected = BPETokenizer.from_pretrained(folder).definition

    def load(**options):
        return BPETokenizer.from_pretrained("me/it", cache_dir=tmp_path, local_files_only=True, **options)

    assert load().definition == expected
    assert load(padding_side="left").padding_side == "left"
    with pytest.raises(FileNotFoundError, match=r"no repository of this name in the cache \(local_files_only is set\)"):
        BPETokenizer.from_pretrained("me/other", cache_dir=tmp_path, local_files_only=True)
    (snapshot / "tokenization_kimi.py").unlink()
    (snapshot / "tokenization_kimi.py").write_text(CODE.replace("256", "512"))
    with pytest.raises(ValueError, match="does not store the split pattern"):
        load()
    assert load(pattern="qwen2").model.pattern == "qwen2"
    BPETokenizer.train(["low"], vocab_size=257).convert_to(snapshot / "tokenizer.json")
    (snapshot / "tokenizer_config.json").unlink()
    assert len(load()) == 257


def test_named_token_without_an_id_is_refused(folder):
    configure(folder, **AUTO_MAP, pad_token="[PAD]")
    with pytest.raises(ValueError, match=r"tokenizer_config.json names '\[PAD\]', and no id for it"):
        BPETokenizer.from_pretrained(folder)
