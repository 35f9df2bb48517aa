"""A setting is defined once: one that is added to the table arrives at every entry point."""

import pytest

from hf_bpe.formats._settings import SETTINGS, ModelSettings, Owner, Settings
from support.extra_option import check_with_made_up

MADE_UP = """
import json, pickle, warnings
from hf_bpe._utils.arguments import one_of
from hf_bpe.formats import _settings

check = one_of("plain", "odd")
_settings.SETTINGS["made_up"] = _settings.Setting(
    _settings.Owner.OURS, check, (str,), default="plain", is_saved=True
)
_settings.CHECKS["made_up"] = check

from transformers import AutoTokenizer
from hf_bpe import BPETokenizer, conversion

train = lambda **options: BPETokenizer.train(["low lower"], vocab_size=258, **options)
assert train().made_up == "plain" and train().definition.settings.get("made_up") is None
assert "made_up: expected" in refused(train, made_up="neither")
tokenizer = train(made_up="odd")
tokenizer.save_pretrained(folder)
for each in (
    tokenizer,
    BPETokenizer(model=tokenizer.model, made_up="odd"),
    BPETokenizer.from_pretrained(folder),
    AutoTokenizer.from_pretrained(folder),
    BPETokenizer.from_pretrained(folder, made_up="odd"),
    BPETokenizer.convert_from(folder),
    BPETokenizer.from_definition(tokenizer.definition),
    pickle.loads(pickle.dumps(tokenizer)),
):
    assert each.made_up == each.definition.settings["made_up"] == "odd", each
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    conversion.write(tokenizer.definition, folder / "x.gguf", verify=False, drop=["pattern"])
assert any("settings of BPETokenizer" in str(each.message) for each in caught), caught
config = json.loads((folder / "tokenizer_config.json").read_text())
for wrong in (7, "neither"):
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"made_up": wrong}))
    assert "made_up: expected" in refused(BPETokenizer.from_pretrained, folder), wrong
"""

DECIDES_IDS = """
import os, pickle
from collections import namedtuple

os.environ["HF_BPE_ENGINE"] = "reference"  # as the core does not know the option
from hf_bpe._utils.arguments import check_flag
from hf_bpe.encoding import _encoder
from hf_bpe.formats import _settings

old = _encoder.Options
made = namedtuple("Options", (*old._fields, "made_up"), defaults=(*old._field_defaults.values(), False))
own = {name: each for name, each in vars(old).items() if name in ("__module__", "__repr__") or name not in dir(made)}
_encoder.Options = type("Options", (made,), own)
_settings.SETTINGS["made_up"] = _settings.Setting(
    _settings.Owner.OURS, check_flag, (bool,), False, is_saved=True, feature="made_up"
)
_settings.CHECKS["made_up"] = check_flag

from hf_bpe import BPETokenizer, conversion
from hf_bpe.encoding._reference_encoder import ReferenceEncoder
from hf_bpe.formats import _features

_features.FEATURES["made_up"] = _features._settings_feature("made_up", "made-up things", "readers miss them", True)
seen, reference = [], ReferenceEncoder.encode
ReferenceEncoder.encode = lambda self, text, options: seen.append(options.made_up) or reference(self, text, options)
for normalizer in (None, "NFC"):
    trained = BPETokenizer.train(["low lower"], vocab_size=258, normalizer=normalizer, made_up=True)
    for each in (trained, BPETokenizer.from_definition(trained.definition), pickle.loads(pickle.dumps(trained))):
        for call in (each, each.encode_to_lists, each.count_tokens, lambda texts: each.encode(texts[0])):
            call(["lo\\u0301w"])
            assert seen and all(seen), (normalizer, call, seen)
            seen.clear()
    each.made_up = False
    each.encode("low")
    assert seen == [False]
    seen.clear()
refusal = "cannot carry made-up things: readers miss them"
assert refusal in refused(trained.save_pretrained, folder / "saved") and not (folder / "saved").exists()
for name in conversion.FORMATS:
    options = {"format": name, "drop": ["pattern", "normalizer"]}
    assert refusal in refused(conversion.write, trained.definition, folder / name, **options), name
    assert not (folder / name).exists()
"""


@pytest.mark.parametrize("program", [MADE_UP, DECIDES_IDS], ids=["decides no ids", "decides ids"])
def test_made_up_setting_arrives_at_every_entry_point(tmp_path, program):
    check_with_made_up(program, tmp_path)


def test_typed_names_are_those_of_the_table():
    of_model = {name for name, setting in SETTINGS.items() if setting.owner is Owner.MODEL}
    assert {*Settings.__annotations__} == SETTINGS.keys() - of_model
    assert {*ModelSettings.__annotations__} == of_model - {"signature"}  # which only loading gives
