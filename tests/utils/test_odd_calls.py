"""Whatever is given in the place of an argument: a call works, or its error names the argument."""

import pytest

import hf_bpe
from hf_bpe import BPETokenizer
from support.odd_calls import ODD, outcomes
from support.profiles import thorough
from support.public_calls import targets

SHARES = 48


@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=thorough) for share in range(1, SHARES))])
def test_calls_with_an_odd_argument_work_or_name_the_argument(tmp_path, monkeypatch, share):
    problems = []
    for number, target in enumerate(targets(tmp_path)[share::SHARES]):
        folder = tmp_path / f"of-calls-{number}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        ended = [*outcomes(target)]
        assert len(ended) == 1 + len(target.arguments) * len(ODD)
        problems += [outcome.problem for outcome in ended if outcome.problem]
    assert not problems, "\n".join(problems)


def test_table_of_calls_has_each_public_method(tmp_path):
    called = {target.name for target in targets(tmp_path)}
    methods = {name for name in dir(BPETokenizer) if name[0] != "_" and callable(getattr(BPETokenizer, name))}
    missing = {name for name in methods if f"BPETokenizer.{name}" not in called}
    without = {"canonical_ids", "get_added_vocab", "get_vocab"}  # arguments
    assert missing == without | {"push_to_hub", "playground"}  # the network; tests/playground has odd requests
    without_arguments = {"Event", "Listener", "__version__", "patch_transformers", "unpatch_transformers"}
    assert {*hf_bpe.__all__} - called == {*without_arguments, "BPETokenizerFast"}  # its arguments are transformers'
