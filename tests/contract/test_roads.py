"""Every way in to hf_bpe gives what its authority gives: ids, offsets, masks, text, and all else that a user sees."""

import pytest
from contract.artifacts import ARTIFACTS
from contract.roads import AFTERWARDS, FOR_OURS, ROADS, afterwards
from contract.walking import explained, load, made, mismatches, new_folder

from hf_bpe import BPETokenizer

REFUSED = "refused"


def walks():
    """Return each artifact with each road that takes it; what the quick form leaves out is marked."""
    for artifact in ARTIFACTS.values():
        for road in ROADS.values():
            is_possible = artifact.kind in road.kinds and (road.load is not None or artifact.train is not None)
            if is_possible:
                marks = () if artifact.is_quick and road.is_quick else pytest.mark.thorough
                yield pytest.param(artifact.name, road.name, marks=marks, id=f"{road.name}-{artifact.name}")


def is_refused(param):
    return ARTIFACTS[param.values[0]].kind == REFUSED


@pytest.mark.parametrize(("artifact", "road"), [each for each in walks() if not is_refused(each)])
def test_road_gives_what_its_authority_gives(artifact, road, form, record_property):
    number, found = mismatches(artifact, road, load(artifact, road), form)
    record_property("contract", (road, artifact, number))
    assert not found, explained(found)


@pytest.mark.parametrize(
    ("artifact", "road"),
    [each for each in walks() if is_refused(each)] or [pytest.param("", "", marks=pytest.mark.thorough)],
)
def test_road_refuses_what_it_cannot_represent(artifact, road):
    if not artifact:
        pytest.skip("these are real files: set HF_BPE_TEST_DATA to the folder of the test data")
    if road in ("accelerate", "accelerate(any class)", "BPETokenizerFast", "patch_transformers"):
        assert not getattr(tolerant(artifact, road), "is_accelerated", False)  # left to transformers
        return
    with pytest.raises(ValueError, match=r"byte|BPE|SentencePiece|normalizer|pre_tokenizer"):
        load(artifact, road)


def tolerant(artifact, road):
    try:
        return load(artifact, road)
    except ValueError:
        return None


# One artifact of each kind, and the road on which it begins.
BEGINNINGS = {
    "train": ("from_pretrained", True),
    "RoBERTa": ("from_pretrained", False),
    "Llama 3": ("accelerate", True),
    "flags of added tokens": ("convert_from(folder)", False),
    "Qwen2": ("convert_from(fast)", False),
    "no pattern": ("train", False),
    "GPT-2's files, small": ("from_pretrained(two files)", False),
    "cl100k, small": ("convert_from(Encoding)", True),
    "florence": ("from_pretrained", False),
    "cl100k_base": ("convert_from(Encoding)", False),
    "qwen3": ("from_pretrained", False),
    "llama3_1": ("from_pretrained", False),
}


def journeys():
    for artifact, (road, is_quick) in BEGINNINGS.items():
        if artifact in ARTIFACTS:
            for name in AFTERWARDS:
                is_ours = "accelerate" not in road
                if is_ours or name not in FOR_OURS:
                    marks = () if is_quick else pytest.mark.thorough
                    yield pytest.param(artifact, road, name, marks=marks, id=f"{artifact}-{name}")


@pytest.mark.parametrize(("artifact", "road", "name"), [*journeys()])
def test_tokenizer_is_the_same_afterwards(artifact, road, name, record_property):
    done, said = afterwards(name, load(artifact, road), new_folder())
    if done is None:
        assert name.startswith("converted"), said  # a format that cannot represent the tokenizer refuses, and says why
        assert len(said[0]) > 20
        return
    is_converted = name.startswith("converted")
    number, found = mismatches(artifact, road, done, "few", decides_ids=is_converted or bool(said))
    record_property("contract", (name, artifact, number))
    if is_converted:  # the names of tokens and sizes are the format's
        found = [each for each in found if each.comparison != "vocabulary"]
    assert not found, explained(found)


def test_made_artifacts_are_found(tmp_path):
    assert isinstance(load("train", "from_pretrained"), BPETokenizer)
    assert made("train").joinpath("tokenizer.json").exists()
