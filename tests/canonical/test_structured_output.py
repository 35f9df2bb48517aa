"""Libraries for structured output take accelerated tokenizers, and give the masks of the plain tokenizer of the files.

Each needs a package that the tests do not install; CONTRIBUTING.md says how to install them.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from hf_bpe import BPETokenizer, BPETokenizerFast, accelerate
from hf_bpe.counting import NormalizedTexts
from support.profiles import by_profile, scaled

CORPUS = ['{"name": "lowest 生活", "number": 12} {"name": "falsé 👋", "number": [3, 5.25]}\n'] * 3
KINDS = {
    "gpt2": {"pattern": "gpt2"},
    "o200k": {"pattern": "o200k"},
    "with NFC": {"pattern": "qwen2", "normalizer": "NFC"},
}
VALUES = st.one_of(
    st.integers(0, 999), st.text('a1 é生👋\\"', max_size=6).map(repr), st.lists(st.integers(0, 9), max_size=3)
)


@pytest.fixture(scope="module", params=KINDS)
def tokenizers(request, tmp_path_factory):
    """The plain tokenizer of a folder, and accelerated ones."""
    folder = tmp_path_factory.mktemp("tokenizer")
    options, special_tokens = KINDS[request.param], ["<|endoftext|>", "<|tool|>"]
    texts = NormalizedTexts(CORPUS, special_tokens) if "normalizer" in options else CORPUS
    trained = BPETokenizer.train(
        texts, num_merges=20, special_tokens=special_tokens, eos_token="<|endoftext|>", **options
    )
    trained.save_pretrained(folder, portable=True)
    plain = AutoTokenizer.from_pretrained(folder)
    return plain, accelerate(plain), BPETokenizerFast.from_pretrained(folder)


def masks_of_xgrammar(tokenizer, text):
    """Return what xgrammar knows of a tokenizer, and the masks while a text is generated."""
    try:
        import xgrammar
    except ImportError:  # of a package for GPUs, too; `importorskip` takes another error only since pytest 8.2
        pytest.skip("structured output needs xgrammar")
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer)
    compiled = xgrammar.GrammarCompiler(info).compile_grammar(r'root ::= "{" [^{}]* "}"', root_rule_name="root")
    matcher = xgrammar.GrammarMatcher(compiled)
    bits = xgrammar.allocate_token_bitmask(1, info.vocab_size)
    masks = []
    for token_id in tokenizer.encode(text):
        matcher.fill_next_token_bitmask(bits)
        masks.append(bits.numpy().tolist())
        assert matcher.accept_token(token_id)
    matcher.fill_next_token_bitmask(bits)
    return info.dump_metadata(), info.decoded_vocab, [*masks, bits.numpy().tolist()]


def masks_of_llguidance(tokenizer, text):
    """Return what llguidance knows of a tokenizer, and the masks while a text is generated."""
    llguidance = pytest.importorskip("llguidance", reason="structured output needs llguidance")
    from llguidance.hf import from_tokenizer
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

    known = from_tokenizer(tokenizer)
    grammar = llguidance.LLMatcher.grammar_from_lark('start: "{" /[^{}]*/ "}"')
    matcher = llguidance.LLMatcher(known, grammar)
    bits = allocate_token_bitmask(1, known.vocab_size)
    masks = []
    for token_id in tokenizer.encode(text):
        fill_next_token_bitmask(matcher, bits)
        masks.append(bits.tolist())
        assert matcher.consume_token(token_id), matcher.get_error()
    fill_next_token_bitmask(matcher, bits)
    return known.vocab_size, known.eos_token, known.tokenize_str(text), [*masks, bits.tolist()]


@scaled
@pytest.mark.parametrize("masks_of", [masks_of_xgrammar, masks_of_llguidance])
def test_masks_of_a_grammar_are_those_of_the_plain_tokenizer(masks_of, tokenizers):
    @settings(max_examples=by_profile(quick=3, thorough=10), deadline=None)
    @given(value=VALUES)
    def check(value):
        text = f'{{"name": {value}}}'
        plain, *accelerated = (masks_of(tokenizer, text) for tokenizer in tokenizers)
        assert all(found == plain for found in accelerated)
        assert len({str(mask) for mask in plain[-1]}) > 2  # the grammar restricts what is generated

    check()
    assert all(tokenizer.is_accelerated for tokenizer in tokenizers[1:])
