import pytest

from hf_bpe import BPETokenizer

CORPUS = ["This is the first sentence, and this sentence is the second one.", "Numbers 12 3 and 92000; falsé 生活."] * 3


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    added = {"pad_token": "<pad>", "add_bos_token": True, "extra_special_tokens": ["<|eot|>"]}
    tokenizer = BPETokenizer.train(CORPUS, num_merges=50, special_tokens=["<|endoftext|>"], **added)
    tokenizer.save_pretrained(folder, portable=True, verify=False)
    return folder
