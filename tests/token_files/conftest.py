import pytest

from hf_bpe import BPETokenizer
from support.token_files import BEGIN, END


@pytest.fixture(scope="session")
def tokenizer():
    text = "low low low lower lower lowest widest widest newest newest 你好 你好 42 42!"
    return BPETokenizer.train([text], num_merges=15, special_tokens=[END, BEGIN])
