"""Options that nobody knows are refused, with the name that is probably meant; what files hold is not checked."""

import logging

import pytest

from hf_bpe import BPETokenizer
from hf_bpe.editing import truncate
from support.cases import case
from support.edited_folders import edit_json
from support.upstream.transformers_features import KEEPS_REGISTERED_CLASSES

TOKENIZER = BPETokenizer.train(["low lower lowest"], vocab_size=258, special_tokens=["<|endoftext|>"])


def test_name_of_a_token_is_an_option_of_loading(tmp_path):
    TOKENIZER.save_pretrained(tmp_path)
    assert BPETokenizer.from_pretrained(tmp_path, image_token="<|endoftext|>").image_token == "<|endoftext|>"


def test_option_of_other_classes_is_a_warning(tmp_path, caplog):
    TOKENIZER.save_pretrained(tmp_path)
    assert BPETokenizer.from_pretrained(tmp_path, do_lower_case=False).encode("Low") == TOKENIZER.encode("Low")
    assert "do_lower_case" not in caplog.text
    with caplog.at_level(logging.WARNING):
        assert BPETokenizer.from_pretrained(tmp_path, do_lower_case=True).encode("Low") == TOKENIZER.encode("Low")
        assert TOKENIZER("Low", src_lang="en_XX") == TOKENIZER("Low")
    assert "do_lower_case=True has no effect" in caplog.text
    assert "src_lang='en_XX' has no effect" in caplog.text


def test_unknown_setting_in_a_file_is_kept(tmp_path):
    TOKENIZER.save_pretrained(tmp_path)
    edit_json(tmp_path / "tokenizer_config.json", legacy=False)
    loaded = BPETokenizer.from_pretrained(tmp_path)
    assert loaded.init_kwargs["legacy"] is False
    edited, _ = loaded.with_model(truncate(loaded.model, 257))
    assert edited.init_kwargs["legacy"] is False


@pytest.mark.skipif(not KEEPS_REGISTERED_CLASSES, reason="loggers of these transformers do not reach pytest")
def test_unknown_option_through_auto_tokenizer_is_a_warning(tmp_path, caplog):
    from transformers import AutoTokenizer

    TOKENIZER.save_pretrained(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert AutoTokenizer.from_pretrained(tmp_path, legacy=False).encode("low") == TOKENIZER.encode("low")
    assert "unknown option 'legacy'" in caplog.text


def test_subclass_takes_its_own_options():
    class WithColor(BPETokenizer):
        def __init__(self, *args, color="red", **kwargs):
            self.color = color
            super().__init__(*args, **kwargs)

    assert WithColor.train(["low"], vocab_size=256, color="blue").color == "blue"
    with pytest.raises(TypeError, match="unknown option 'shade'"):
        WithColor(model=TOKENIZER.model, shade="blue")


def test_special_token_without_a_role_is_pointed_out(caplog):
    BPETokenizer.train(["low"], vocab_size=258, special_tokens=["<pad>", "<s>"], bos_token="<s>")
    assert caplog.messages == [
        "the special token '<pad>' has no role, so transformers does not use it as pad_token; give pad_token='<pad>'"
    ]


def test_unknown_name_fails_at_once_without_a_connection(monkeypatch):
    monkeypatch.setattr("hf_bpe.tokenizer._hub._is_reachable", lambda given: False)
    for name in ("no-such-folder", "a/b", "a/b/c", "./typo", "not a name!"):
        with case(name), pytest.raises(FileNotFoundError, match=f"^{name}: there is no such folder"):
            BPETokenizer.from_pretrained(name)


def test_repr_of_a_large_remap_is_short():
    _, remap = truncate(TOKENIZER.model, 257)
    assert repr(remap) == "<Remap of 258 ids: 257 kept (0 moved), 0 added, 1 removed>"


def test_repr_of_a_tokenizer_is_a_line_with_one_size():
    tokenizer = BPETokenizer(model=TOKENIZER.model, pad_token="<pad>")
    tokenizer.add_tokens(["low\n", "lower"])
    assert repr(tokenizer) == (
        f"BPETokenizer(name_or_path='', tokens={len(tokenizer)}, special_tokens={tokenizer.special_tokens_map})"
    )
