"""A setting is defined once: one that is added to the table arrives at every entry point."""

from hf_bpe.formats._settings import SETTINGS, ModelSettings, Owner, Settings
from support.made_up import check_with_made_up

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


def test_made_up_setting_arrives_at_every_entry_point(tmp_path):
    check_with_made_up(MADE_UP, tmp_path)


def test_typed_names_are_those_of_the_table():
    of_model = {name for name, setting in SETTINGS.items() if setting.owner is Owner.MODEL}
    assert {*Settings.__annotations__} == SETTINGS.keys() - of_model
    assert {*ModelSettings.__annotations__} == of_model - {"signature"}  # which only loading gives
