"""Every way in to hf_bpe gives what its authority gives: ids, offsets, masks, text, and all else that a user sees."""

import time

import pytest
from contract.artifacts import ARTIFACTS, OF_CHARACTERS
from contract.roads import AFTERWARDS, FOR_OURS, ROADS, afterwards
from contract.walking import explained, load, made, mismatches, new_folder

from hf_bpe import BPETokenizer

ACCELERATED = ("accelerate", "accelerate(any class)", "BPETokenizerFast", "patch_transformers")


def walks():
    """Return each artifact with each road that takes it; what the quick form leaves out is marked."""
    for artifact in ARTIFACTS.values():
        for road in ROADS.values():
            is_possible = artifact.kind in road.kinds and (road.load is not None or artifact.train is not None)
            if is_possible:
                is_quick = artifact.is_quick and (artifact.group != "real files" or road.is_quick)
                marks = () if is_quick else pytest.mark.thorough
                yield pytest.param(artifact.name, road.name, marks=marks, id=f"{road.name}-{artifact.name}")


def is_refused(param):
    return ARTIFACTS[param.values[0]].kind.startswith("refused")


@pytest.mark.parametrize(("artifact", "road"), [each for each in walks() if not is_refused(each)])
def test_road_gives_what_its_authority_gives(artifact, road, form, record_property):
    start = time.perf_counter()
    number, found = mismatches(artifact, road, load(artifact, road), form)
    seconds = time.perf_counter() - start
    record_property("contract", (road, artifact, ARTIFACTS[artifact].group, number, seconds))
    assert not found, explained(found)


@pytest.mark.parametrize(
    ("artifact", "road"),
    [each for each in walks() if is_refused(each)] or [pytest.param("", "", marks=pytest.mark.thorough)],
)
def test_road_refuses_what_it_cannot_represent(artifact, road):
    if not artifact:
        pytest.skip("these are real files: set HF_BPE_TEST_DATA to the folder of the test data")
    if road in ACCELERATED:
        assert not getattr(tolerant(artifact, road), "is_accelerated", False)  # left to transformers
        return
    with pytest.raises(ValueError, match=r"byte|BPE|SentencePiece|normalizer|pre_tokenizer|the same id"):
        load(artifact, road)


def tolerant(artifact, road):
    try:
        return load(artifact, road)
    except ValueError:
        return None


FIRST = {"folder": "from_pretrained", "gpt2": "from_pretrained(two files)", "encoding": "convert_from(Encoding)"}
"""Kind of artifact → the road after which everything is tried."""
QUICK = {("train", "from_pretrained"), ("Llama 3", "accelerate"), ("cl100k, small", "convert_from(Encoding)")}
"""The artifacts and roads of the quick form, after which everything is tried."""
ON_ALL_ROADS = ("RoBERTa", "add_bos_token", "GPT-2's files, small", "cl100k, small")
LARGE = ("command_r_plus", "gptoss", "deepseek_v3", "o200k_base", "claude", "olmo", "swe_gpt", "mistral_nemo")
"""Real files whose saving takes long, and that have nothing that others of them lack."""


OF_BYTES = ["converted to text and back"]
NEVER_REFUSED = [f"converted to {name} and back" for name in ("hf", "text", "tokenizer.json")]


def journeys():
    for artifact, road in (param.values for param in walks() if not is_refused(param)):
        is_first = FIRST.get(ARTIFACTS[artifact].kind) == road and artifact not in LARGE
        if (artifact, road) in QUICK or is_first or artifact in ON_ALL_ROADS:
            marks = () if (artifact, road) in QUICK else pytest.mark.thorough
            yield pytest.param(artifact, road, marks=marks, id=f"{road}-{artifact}")


@pytest.mark.parametrize(("artifact", "road"), [*journeys()])
def test_tokenizer_is_the_same_afterwards(artifact, road, record_property):
    problems = []
    for name in AFTERWARDS:
        if name in FOR_OURS and road in ACCELERATED:
            continue
        start = time.perf_counter()
        done, said = afterwards(name, load(artifact, road), new_folder())
        if done is None:  # a format that cannot represent the tokenizer refuses, and says why
            can_hold = name in NEVER_REFUSED and not (artifact in OF_CHARACTERS and name in OF_BYTES)
            if not name.startswith("converted") or can_hold or len(said[0]) <= 20:
                problems.append(f"{name}: refused: {said}")
            continue
        # A format that drops what decides no ids warns; without a warning all is the same.
        number, found = mismatches(artifact, road, done, "few", decides_ids=bool(said))
        seconds = time.perf_counter() - start
        record_property("contract", (name, artifact, ARTIFACTS[artifact].group, number, seconds))
        if found:
            problems.append(f"{name}: {explained(found)}")
    assert not problems, "\n".join(problems)


def test_made_artifacts_are_found(tmp_path):
    assert isinstance(load("train", "from_pretrained"), BPETokenizer)
    assert made("train").joinpath("tokenizer.json").exists()
