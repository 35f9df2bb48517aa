"""The common tests of transformers against BPETokenizer; test_upstream_suite.py runs this in a process of its own.

    python tests/support/upstream/upstream_suite.py RESULTS

writes JSON: test → its outcome and the reason. transformers' tests must be importable as `upstream_tests`. They run
under unittest, for which they are written, so that no plugin nor setting of pytest meddles.
"""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

from transformers import GPT2Tokenizer, PreTrainedTokenizerFast
from upstream_tests import test_tokenization_common
from upstream_tests.test_tokenizers_backend_mixin import TokenizersBackendTesterMixin

from hf_bpe import BPETokenizer, BPETokenizerFast, accelerate
from support.models.character_files import with_few_merges

CORPUS = ["This is the first sentence, and this sentence is the second one.", "Numbers 12 3 and 92000; falsé 生活."] * 3


# What does not fit comes back in one of two forms. Upstream asks by class which; ours has that of fast tokenizers.
test_tokenization_common.TokenizersBackend = BPETokenizer, test_tokenization_common.TokenizersBackend


class Case:
    """Tests a tokenizer saved in a folder, which stands for the name of one on the Hub."""

    tokenizer_class = BPETokenizer

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.make().save_pretrained(folder.name)
        cls.from_pretrained_id = folder.name
        super().setUpClass()

    @classmethod
    def make(cls):
        return BPETokenizer.train(CORPUS, num_merges=60, special_tokens=["<|endoftext|>"])


class Common(Case, test_tokenization_common.TokenizerTesterMixin):
    """Upstream's tests of every tokenizer."""


class Plain(Common, unittest.TestCase):
    """Trained without a padding token."""


class Decorated(Common, unittest.TestCase):
    """Trained, with everything that can be added to a text."""

    @classmethod
    def make(cls):
        added = {"pad_token": "<pad>", "add_prefix_space": True, "add_bos_token": True, "add_eos_token": True}
        return BPETokenizer.train(CORPUS, num_merges=60, special_tokens=["<|endoftext|>"], **added)

    def get_clean_sequence(self, tokenizer, with_prefix_space=False, **lengths):
        # Upstream makes a text of the lowest ids, of which ours has the space, and expects of split words the same ids.
        text = " " + super().get_clean_sequence(tokenizer, **lengths)[0].strip()
        return text, tokenizer.encode(text, add_special_tokens=False)


class GPT2(Common, unittest.TestCase):
    """GPT-2's files, compared with transformers' own class."""

    test_tokenizer_from_extractor = False  # which makes one of a vocabulary and merges in memory; ours takes a BPEModel

    @classmethod
    def make(cls):
        if "HF_BPE_TEST_DATA" not in os.environ:
            raise unittest.SkipTest("set HF_BPE_TEST_DATA to the folder of the test data")
        folder = Path(os.environ["HF_BPE_TEST_DATA"], "gpt2")
        theirs, text = GPT2Tokenizer.from_pretrained(folder), cls.integration_test_input_string
        cls.integration_expected_tokens = theirs.tokenize(text)
        cls.integration_expected_token_ids = theirs.encode(text)
        cls.integration_expected_decoded_text = theirs.decode(cls.integration_expected_token_ids)
        return BPETokenizer.from_pretrained(folder)


class Fast(Case, TokenizersBackendTesterMixin, unittest.TestCase):
    """Upstream's tests of tokenizers in Rust, as far as it is no matter of Rust."""

    # Ours refuses a vocabulary that has no room for all bytes, and add_bos_token where there is no bos_token.
    test_training_new_tokenizer = None
    test_training_new_tokenizer_with_special_tokens_change = None
    test_add_bos_token_without_bos_token = None
    # It looks into the object in Rust.
    test_rust_tokenizer_add_prefix_space_0 = None
    test_rust_tokenizer_add_prefix_space_1 = None


class FastCase(Case):
    """Tests what hf_bpe makes of a fast tokenizer."""

    tokenizer_class = BPETokenizerFast

    @classmethod
    def make(cls):
        tokenizer = BPETokenizer.train(CORPUS, num_merges=60, special_tokens=["<|endoftext|>"], pad_token="<pad>")
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder, portable=True, verify=False)
            fast = BPETokenizerFast.from_pretrained(folder)
        assert fast.is_accelerated
        return fast


class RustCommon(FastCase, test_tokenization_common.TokenizerTesterMixin, unittest.TestCase):
    """Upstream's tests of every tokenizer, for BPETokenizerFast."""


class RustBackend(FastCase, TokenizersBackendTesterMixin, unittest.TestCase):
    """Upstream's tests of tokenizers in Rust, for BPETokenizerFast."""

    # PreTrainedTokenizerFast, too, leaves the pre-tokenizer of a tokenizer.json as it is.
    test_rust_tokenizer_add_prefix_space_0 = None


class Accelerated(Case):
    """Tests what `accelerate` makes of a real fast tokenizer, in the manner of SentencePiece."""

    tokenizer_class = BPETokenizerFast

    @classmethod
    def make(cls):
        if "HF_BPE_TEST_DATA" not in os.environ:
            raise unittest.SkipTest("set HF_BPE_TEST_DATA to the folder of the test data")
        fast = accelerate(PreTrainedTokenizerFast.from_pretrained(cls.folder(), pad_token="<unk>"))
        assert fast.is_accelerated
        return fast


class Mistral(Accelerated):
    """Mistral 7B's files."""

    @classmethod
    def folder(cls):
        return Path(os.environ["HF_BPE_TEST_DATA"], "tokenizers", "mistral_v0_1")


class Gemma3(Accelerated):
    """Gemma 3's file, with all of its added tokens and fewer merges: each test loads it several times."""

    @classmethod
    def folder(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = Path(os.environ["HF_BPE_TEST_DATA"], "tokenizers", "gemma3", "tokenizer.json")
        content = with_few_merges(json.loads(path.read_text("utf-8")), merges=3000)
        Path(folder.name, "tokenizer.json").write_text(json.dumps(content), "utf-8")
        names = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}
        Path(folder.name, "tokenizer_config.json").write_text(json.dumps(names), "utf-8")
        return folder.name


class MistralCommon(Mistral, test_tokenization_common.TokenizerTesterMixin, unittest.TestCase):
    """Upstream's tests of every tokenizer."""


class AcceleratedBackend(TokenizersBackendTesterMixin):
    """Upstream's tests of tokenizers in Rust, but for what PreTrainedTokenizerFast fails with these files, too."""

    test_alignment_methods = None  # a text is one word
    # The decoder of what it trains leaves ▁ as it is.
    test_training_new_tokenizer = None
    test_training_new_tokenizer_with_special_tokens_change = None


class MistralBackend(Mistral, AcceleratedBackend, unittest.TestCase):
    """Upstream's tests of tokenizers in Rust."""


class Gemma3Common(Gemma3, test_tokenization_common.TokenizerTesterMixin, unittest.TestCase):
    """Upstream's tests of every tokenizer."""


class Gemma3Backend(Gemma3, AcceleratedBackend, unittest.TestCase):
    """Upstream's tests of tokenizers in Rust."""


class Outcomes(unittest.TestResult):
    """Keeps what became of each test; a failure counts more than whatever else is said of the same test."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def note(self, test, outcome, reason=""):
        name = getattr(test, "test_case", test).id().removeprefix("__main__.")  # test_case: that of a subtest
        if outcome == "failed" or name not in self.outcomes:
            self.outcomes[name] = outcome, reason

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addError(self, test, error):
        self.note(test, "failed", self._exc_info_to_string(error, test))

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addError(test, error)


if __name__ == "__main__":
    result = Outcomes()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).run(result)
    Path(sys.argv[1]).write_text(json.dumps(result.outcomes), encoding="utf-8")
