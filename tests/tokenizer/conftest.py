import pytest

from support.samples import make_tokenizer


@pytest.fixture(scope="session")
def tokenizer():
    return make_tokenizer()
