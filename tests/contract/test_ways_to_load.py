"""Every way to load gives what its authority gives: ids, offsets, masks, text, and all else that a user sees."""

import pytest
from contract.artifacts import ARTIFACTS, OF_CHARACTERS
from contract.loading import explained, load, mismatches, new_folder
from contract.ways_to_load import AFTERWARDS, FOR_OURS, WAYS_TO_LOAD, afterwards

ACCELERATED = ("accelerate", "accelerate(any class)", "BPETokenizerFast", "patch_transformers")


def loads():
    """Return each artifact with each way to load that takes it; what the quick form leaves out is marked."""
    for artifact in ARTIFACTS.values():
        for way in WAYS_TO_LOAD.values():
            is_possible = artifact.kind in way.kinds and (way.load is not None or artifact.train is not None)
            if is_possible:
                is_quick = artifact.is_quick and (artifact.group != "real files" or way.is_quick)
                marks = () if is_quick else pytest.mark.thorough
                yield pytest.param(artifact.name, way.name, marks=marks, id=f"{way.name}-{artifact.name}")


def is_refused(param):
    return ARTIFACTS[param.values[0]].kind.startswith("refused")


@pytest.mark.parametrize(("artifact", "way"), [each for each in loads() if not is_refused(each)])
def test_loaded_tokenizer_gives_what_its_authority_gives(artifact, way, form):
    found = mismatches(artifact, way, load(artifact, way), form)
    assert not found, explained(found)


@pytest.mark.parametrize(
    ("artifact", "way"),
    [each for each in loads() if is_refused(each)] or [pytest.param("", "", marks=pytest.mark.thorough)],
)
def test_artifact_that_cannot_be_represented_is_refused(artifact, way):
    if not artifact:
        pytest.skip("these are real files: set HF_BPE_TEST_DATA to the folder of the test data")
    if way in ACCELERATED:
        assert not getattr(tolerant(artifact, way), "is_accelerated", False)  # left to transformers
        return
    with pytest.raises(ValueError, match=r"byte|BPE|SentencePiece|normalizer|pre_tokenizer|the same id"):
        load(artifact, way)


def tolerant(artifact, way):
    try:
        return load(artifact, way)
    except ValueError:
        return None


FIRST = {"folder": "from_pretrained", "gpt2": "from_pretrained(two files)", "encoding": "convert_from(Encoding)"}
"""Kind of artifact → the way to load after which everything is tried."""
QUICK = {("train", "from_pretrained"), ("Llama 3", "accelerate"), ("cl100k, small", "convert_from(Encoding)")}
QUICK |= {("normalizers", "train")}
"""The artifacts and ways to load of the quick form, after which everything is tried."""
IN_ALL_WAYS = ("RoBERTa", "add_bos_token", "GPT-2's files, small", "cl100k, small")
LARGE = ("command_r_plus", "gptoss", "deepseek_v3", "o200k_base", "claude", "olmo", "swe_gpt", "mistral_nemo")
"""Real files whose saving takes long, and that have nothing that others of them lack."""


OF_BYTES = ["converted to text and back"]
NEVER_REFUSED = [f"converted to {name} and back" for name in ("hf", "text", "tokenizer.json")]


def loads_before_changes():
    for artifact, way in (param.values for param in loads() if not is_refused(param)):
        is_first = FIRST.get(ARTIFACTS[artifact].kind) == way and artifact not in LARGE
        if (artifact, way) in QUICK or is_first or artifact in IN_ALL_WAYS:
            marks = () if (artifact, way) in QUICK else pytest.mark.thorough
            yield pytest.param(artifact, way, marks=marks, id=f"{way}-{artifact}")


@pytest.mark.parametrize(("artifact", "way"), [*loads_before_changes()])
def test_tokenizer_is_the_same_afterwards(artifact, way):
    problems = []
    for name in AFTERWARDS:
        if name in FOR_OURS and way in ACCELERATED:
            continue
        done, said = afterwards(name, load(artifact, way), new_folder())
        if done is None:  # a format that cannot represent the tokenizer refuses, and says why
            can_hold = name in NEVER_REFUSED and not (artifact in OF_CHARACTERS and name in OF_BYTES)
            if not name.startswith("converted") or can_hold or len(said[0]) <= 20:
                problems.append(f"{name}: refused: {said}")
            continue
        # A format that drops what decides no ids warns; without a warning all is the same.
        found = mismatches(artifact, way, done, "few", decides_ids=bool(said))
        if found:
            problems.append(f"{name}: {explained(found)}")
    assert not problems, "\n".join(problems)
