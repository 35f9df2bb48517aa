"""transformers' own common tests of tokenizers pass against BPETokenizer.

An installed transformers does not have them: they come from the source distribution of the same version, which pip
downloads once into pytest's cache.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
import transformers

from support.profiles import thorough
from support.project import ROOT

# All that upstream may skip, with the reason it gives. Whatever else is skipped fails the test, so that it is seen.
# No constructor of transformers' own tokenizers names the template, either.
SKIPPED = {"test_chat_template_save_loading": "tokenizer doesn't accept chat templates at input"}
# There are no tokens to expect but those of GPT-2.
NOTHING_EXPECTED = dict.fromkeys(
    ["test_integration", "test_integration_from_extractor"], "No integration expected tokens provided"
)
# Only Decorated has a padding token.
NO_PADDING = {
    "test_batch_encode_dynamic_overflowing": "This tokenizer has no padding token set, or pad_token_id < 0",
    "test_padding_to_multiple_of": "No padding token.",
    "test_padding_with_attention_mask": "No padding token.",
}
SKIPPED_IN = {
    "Plain": {**SKIPPED, **NOTHING_EXPECTED, **NO_PADDING},
    "Decorated": {**SKIPPED, **NOTHING_EXPECTED},
    "GPT2": {
        **SKIPPED,
        **NO_PADDING,
        # It makes a tokenizer of a vocabulary and merges in memory; ours is made of a BPEModel.
        "test_integration_from_extractor": "Tokenizer from TokenizersExtractor not enabled for this tokenizer",
    },
    "Fast": {},
    "RustCommon": {**SKIPPED, **NOTHING_EXPECTED},
    "RustBackend": {},
    "MistralCommon": {**SKIPPED, **NOTHING_EXPECTED},
    "MistralBackend": {},
    "Gemma3Common": {**SKIPPED, **NOTHING_EXPECTED},
    "Gemma3Backend": {},
}
OF_BACKENDS = ("Fast", "RustBackend", "MistralBackend", "Gemma3Backend")
"""The few tests of tokenizers in Rust."""
NO_TORCH = {
    "test_batch_encode_dynamic_overflowing": "No expected framework (PT) found",
    "test_chat_template_return_assistant_tokens_mask": "test requires PyTorch",
    "test_empty_input_string": "No expected framework from PT, or MLX found",
    "test_prepare_seq2seq_batch": "test requires PyTorch",
}


@pytest.fixture(scope="session")
def source_distribution(pytestconfig):
    """Return the source distribution of the transformers that is installed; where it cannot be had, skip."""
    name = f"transformers-{transformers.__version__}.tar.gz"
    cache = pytestconfig.cache.mkdir("source-distributions")
    if not (cache / name).exists():
        with tempfile.TemporaryDirectory(dir=cache) as staging:
            download = [sys.executable, "-m", "pip", "download", "--quiet", "--retries=2"]
            download += ["--disable-pip-version-check", "--no-deps", "--no-binary=transformers"]
            download.append(f"transformers=={transformers.__version__}")
            ran = subprocess.run(download, cwd=staging, capture_output=True, text=True)
            if ran.returncode:
                pytest.skip(f"pip cannot download {name}: {ran.stderr.strip().splitlines()[-1]}")
            Path(staging, name).replace(cache / name)
    return cache / name


@pytest.fixture(scope="session")
def outcomes(source_distribution, tmp_path_factory):
    """Run the suite; return "class.test" → (outcome, reason)."""
    folder = tmp_path_factory.mktemp("upstream")
    unpack_tests(source_distribution, folder / "upstream_tests")
    path = os.pathsep.join([str(folder), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tests/support/upstream/upstream_suite.py"), "outcomes.json"],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "RUN_SLOW": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert not ran.returncode, ran.stderr
    return json.loads((folder / "outcomes.json").read_text(encoding="utf-8"))


def unpack_tests(archive, package):
    """Write the modules that lie directly in the archive's tests/, and nothing else, as a package."""
    (package / "fixtures").mkdir(parents=True)
    (package / "fixtures" / "sample_text.txt").touch()  # missing from the archive; it is read but not used
    (package / "__init__.py").touch()
    with tarfile.open(archive) as files:
        for member in files:
            if member.isfile() and (match := re.fullmatch(r"[^/]+/tests/(\w+\.py)", member.name)):
                (package / match[1]).write_bytes(files.extractfile(member).read())


@thorough
@pytest.mark.parametrize("case", SKIPPED_IN)
def test_common_suite_of_transformers_skips_what_is_known(case, request, capsys):
    if case.startswith(("GPT2", "Mistral", "Gemma3")):
        request.getfixturevalue("test_data")
    found = {"passed": {}, "skipped": {}, "failed": {}}
    for name, (outcome, reason) in request.getfixturevalue("outcomes").items():
        if name.startswith((f"{case}.", f"setUpClass (__main__.{case})")):  # also what went wrong before its first test
            found[outcome][name.removeprefix(f"{case}.")] = reason
    with capsys.disabled():
        counts = ", ".join(f"{len(names)} {outcome}" for outcome, names in found.items())
        print(f"\nThe common suite of transformers {transformers.__version__}, {case}: {counts}")
        for name, reason in found["skipped"].items():
            print(f"  skipped {name}: {reason}")
    assert not found["failed"], "\n".join(f"{name}: {reason}" for name, reason in found["failed"].items())
    torch_is_missed = case not in OF_BACKENDS and not importlib.util.find_spec("torch")
    assert found["skipped"] == {**SKIPPED_IN[case], **(NO_TORCH if torch_is_missed else {})}
    assert len(found["passed"]) > (2 if case in OF_BACKENDS else 40)
