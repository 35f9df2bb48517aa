"""AutoTokenizer and hf_bpe, each in a process of its own, as what is imported first matters."""

import dataclasses
import importlib
import json
import sys

import pytest
import transformers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, train
from support.cases import case
from support.edited_folders import edit_json
from support.models.model_families import FAMILIES, tokenizer_json
from support.processes import run_code, torch_that_is_not_imported
from support.profiles import thorough
from support.upstream.transformers_features import KEEPS_REGISTERED_CLASSES, needs_class_of_its_own

TEXT = "low's lower<|endoftext|>low's \u4f60"
AUTO = "transformers.models.auto.tokenization_auto"


@pytest.fixture(scope="module")
def tokenizer():
    made = BPETokenizer.train([TEXT], num_merges=9, special_tokens=["<|endoftext|>"], pattern="o200k")
    gpt2 = BPETokenizer(model=dataclasses.replace(made.model, pattern="gpt2"))
    assert gpt2.encode(TEXT) != made.encode(TEXT)  # so whoever loses the pattern gives other ids
    return made


@pytest.fixture
def folders(tokenizer, tmp_path):
    """Return saved folders without a config.json and with that of GPT-2, whose class must not win."""
    model_types = [None, "gpt2"] if KEEPS_REGISTERED_CLASSES else [None]
    folders = [model_folder(tmp_path / str(model_type), model_type) for model_type in model_types]
    for folder in folders:
        tokenizer.save_pretrained(folder)
    return folders


FINDERS = 'finders = lambda: sum(type(finder).__module__ == "hf_bpe.tokenizer._auto" for finder in sys.meta_path)'
LOAD = f"""
tokenizers = map(AutoTokenizer.from_pretrained, sys.argv[1:])
print(json.dumps([[type(each).__name__, type(each).__module__, each.encode({TEXT!r})] for each in tokenizers]))
"""


def test_naming_the_tokenizer_imports_what_its_base_class_does():
    names = f"[name for name in ('transformers', 'torch', {AUTO!r}) if name in sys.modules]"
    code = f"import transformers.tokenization_python\nbase = {names}\nimport hf_bpe\nhf_bpe.BPETokenizer"
    base, ours = run_code(f"{code}\nprint(json.dumps([base, {names}]))", has_torch=True)
    assert (AUTO in base, ours) == (False, base)


WAYS_IN = """
import hf_bpe, hf_bpe.analysis
from hf_bpe import BPETokenizer, BPETokenizerFast
named = BPETokenizer.from_pretrained(sys.argv[1])
typed = BPETokenizer.from_pretrained(sys.argv[2])
read = BPETokenizer.convert_from(sys.argv[1])
named.save_pretrained("saved")
own = BPETokenizer.from_pretrained("saved")
own(["low"], return_tensors="np"), own.encode_to_numpy(["low"])
own.decode([1]), own.batch_decode([[1]]), own.apply_chat_template([{"role": "user"}], chat_template="low")
fast = transformers.PreTrainedTokenizerFast.from_pretrained(sys.argv[1])
hf_bpe.accelerate(fast)("low", return_tensors="np")
BPETokenizerFast.from_pretrained(sys.argv[1])
own.playground().close()
hf_bpe.analysis.show(own, "low"), hf_bpe.analysis.report(own, ["low"])
"""


def test_no_way_in_imports_torch(tmp_path):
    content = tokenizer_json(FAMILIES["GPT-2"], train([TEXT], num_merges=9))
    folders = []
    for model_type in (None, "qwen2"):
        folders.append(model_folder(tmp_path / str(model_type), model_type))
        (folders[-1] / "tokenizer.json").write_text(content, encoding="utf-8")
        (folders[-1] / "tokenizer_config.json").write_text('{"tokenizer_class": "Qwen2Tokenizer"}', encoding="utf-8")
    code = f"""
import os
try:
    import transformers.tokenization_python, transformers.tokenization_utils_tokenizers
except ImportError:
    sys.exit(print("null"))
os.chdir({str(tmp_path)!r})
imports, sys.imports_of_torch = {{}}, 0
for line in {WAYS_IN!r}.strip().splitlines():
    exec(line)
    imports[line], sys.imports_of_torch = sys.imports_of_torch, 0
print(json.dumps(imports))"""
    imports = run_code(code, *folders, has_torch=True, PYTHONPATH=torch_that_is_not_imported(tmp_path / "path"))
    if imports is None:
        pytest.skip(f"transformers {transformers.__version__} imports torch with the classes that ours inherit from")
    assert imports == dict.fromkeys(WAYS_IN.strip().splitlines(), 0)


@pytest.mark.parametrize(
    "imports",
    [
        "import hf_bpe\nfrom transformers import AutoTokenizer",
        "from transformers import AutoTokenizer\nimport hf_bpe",
    ],
    ids=["before", "after"],
)
def test_auto_tokenizer_loads_our_class(tokenizer, folders, imports):
    expected = ["BPETokenizer", "hf_bpe.tokenizer._tokenization_bpe", tokenizer.encode(TEXT)]
    assert run_code(imports + LOAD, *folders) == [expected] * len(folders)


def test_auto_tokenizer_without_hf_bpe_gives_the_same_ids(tokenizer, folders):
    blocked = 'sys.modules["hf_bpe"] = None\nfrom transformers import AutoTokenizer'
    loaded = run_code(blocked + LOAD, *folders)
    assert len(loaded) == len(folders)
    for name, module, ids in loaded:
        assert ids == tokenizer.encode(TEXT)
        assert name != "BPETokenizer"
        assert module.startswith("transformers.")


@thorough
def test_the_finder_waits_once_and_takes_itself_out():
    code = f"""
import copy, importlib, pickle
{FINDERS}
import hf_bpe
counts = [finders()]
importlib.reload(hf_bpe)
counts.append(finders())
import transformers
counts.append(finders())
module = importlib.import_module({AUTO!r})
counts.append(finders())
importlib.reload(hf_bpe)  # registers at once
counts.append(finders())
assert "class AutoTokenizer" in module.__loader__.get_source(module.__name__)  # as tracebacks and debuggers do
loader = module.__spec__.loader
# As dill copies modules that are not where packages are installed.
copies = [copy.copy(loader), pickle.loads(pickle.dumps(loader))]
print(json.dumps([counts, [each.path == loader.path for each in copies]]))
"""
    assert run_code(code) == [[1, 1, 1, 0, 0], [True, True]]


@thorough
def test_finder_is_not_installed_after_auto_tokenizer():
    assert run_code(f"{FINDERS}\nfrom transformers import AutoTokenizer\nimport hf_bpe\nprint(finders())") == 0


REGISTERED = f"""
from transformers import AutoTokenizer
module = sys.modules[{AUTO!r}]
print(json.dumps("BPETokenizer" in module.REGISTERED_TOKENIZER_CLASSES))
"""


USES = {
    "looked for": f"import importlib.util\nassert importlib.util.find_spec({AUTO!r})",
    "an import that fails once": f"""
sys.modules["transformers.models.auto.auto_factory"] = None
try:
    import {AUTO}
except ImportError:
    del sys.modules["transformers.models.auto.auto_factory"]
""",
    # As in old versions of six; Python passes over it, or calls find_module up to 3.11.
    "a finder of the old kind": """
class OldFinder:
    def find_module(self, name, path=None):
        return None
sys.meta_path.insert(1, OldFinder())
""",
}


@thorough
@pytest.mark.parametrize("use", USES)
def test_finder_is_not_spent_before_the_module_is_imported(use):
    assert run_code(f"import hf_bpe\n{USES[use]}{REGISTERED}") is True


# auto_map

# Each folder in a child of its own, where nobody has imported hf_bpe.
LOAD_EACH = f"""
import os
from transformers import AutoTokenizer
print("[", end="", flush=True)
if sys.argv[1] == "blocked":
    sys.modules["hf_bpe"] = None
for number, folder in enumerate(sys.argv[2:]):
    if os.fork() == 0:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=sys.argv[1] == "trusted")
        loaded = [type(tokenizer).__name__, type(tokenizer).__module__, tokenizer.encode({TEXT!r})]
        print("," * (number > 0) + json.dumps(loaded), end="", flush=True)
        os._exit(0)
    os.wait()
print("]")
"""
MODEL_TYPES = [None, "gpt2", "llama", "olmo2", "mistral", "qwen2"]


def model_folder(folder, model_type):
    folder.mkdir()
    if model_type is not None:
        (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    return folder


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(BPETokenizer, "_registered_for_auto_class", False)
    BPETokenizer.register_for_auto_class()


def saved_with(tokenizer, folder):
    """Return what a saved folder says of the class, and whether the module is there; both or neither."""
    tokenizer.save_pretrained(folder)
    auto_map = json.loads((folder / "tokenizer_config.json").read_text("utf-8")).get("auto_map")
    module = folder / "tokenization_hf_bpe.py"
    return auto_map, module.read_text("utf-8").split("#")[0].strip() if module.exists() else None


AUTO_MAP = {"AutoTokenizer": ["tokenization_hf_bpe.BPETokenizer", None]}
SHIM = "from hf_bpe import BPETokenizer"


@thorough
@pytest.mark.usefixtures("registered")
def test_registered_class_is_loaded_with_every_config(tokenizer, tmp_path):
    folders = [model_folder(tmp_path / str(model_type), model_type) for model_type in MODEL_TYPES]
    for folder in folders:
        assert saved_with(tokenizer, folder) == (AUTO_MAP, SHIM)
        loaded = AutoTokenizer.from_pretrained(folder)
        assert type(loaded) is BPETokenizer
        assert loaded.encode(TEXT) == tokenizer.encode(TEXT)
    ids = tokenizer.encode(TEXT)
    trusted = run_code(LOAD_EACH, "trusted", *folders, HF_MODULES_CACHE=str(tmp_path / "modules"))
    assert trusted == [["BPETokenizer", "hf_bpe.tokenizer._tokenization_bpe", ids]] * len(folders)
    # Elsewhere transformers refuses a folder whose code is not trusted.
    known = [tmp_path / model_type for model_type in ("gpt2", "olmo2", "mistral", "qwen2")]
    blocked = run_code(LOAD_EACH, "blocked", *known)
    assert blocked == [["TokenizersBackend", "transformers.tokenization_utils_tokenizers", ids]] * len(known)


@pytest.mark.usefixtures("registered")
def test_folder_keeps_its_auto_map_when_loaded_and_saved_again(tokenizer, tmp_path, monkeypatch):
    tokenizer.save_pretrained(tmp_path / "first")
    monkeypatch.setattr(BPETokenizer, "_registered_for_auto_class", False)
    loaded = AutoTokenizer.from_pretrained(tmp_path / "first")
    assert saved_with(loaded, tmp_path / "second") == (AUTO_MAP, SHIM)
    assert saved_with(tokenizer, tmp_path / "third") == (None, None)
    loaded.save_pretrained(tmp_path / "portable", portable=True)
    assert "auto_map" not in json.loads((tmp_path / "portable" / "tokenizer_config.json").read_text("utf-8"))
    assert not (tmp_path / "portable" / "tokenization_hf_bpe.py").exists()


@pytest.mark.usefixtures("registered")
def test_a_subclass_of_a_registered_class_is_not_registered(tokenizer, tmp_path):
    class Local(BPETokenizer):
        """What nobody could import."""

    assert saved_with(Local(model=tokenizer.model), tmp_path) == (None, None)
    assert saved_with(Local(model=tokenizer.model, auto_map=AUTO_MAP), tmp_path) == (None, None)


def test_auto_map_of_another_class_is_dropped(tokenizer, tmp_path):
    for auto_map, kept in (
        (["other.Tokenizer", None], None),
        ({"AutoTokenizer": ["other.Tokenizer", None]}, None),
        ({"AutoTokenizer": ["other.Tokenizer", None], "AutoProcessor": "x.Y"}, {"AutoProcessor": "x.Y"}),
        ({"AutoTokenizer": ["me/it--tokenization_hf_bpe.BPETokenizer", None]}, AUTO_MAP),
    ):
        other = BPETokenizer(model=tokenizer.model, auto_map=auto_map)
        folder = tmp_path / str(len([*tmp_path.iterdir()]))
        assert saved_with(other, folder) == (kept, SHIM if kept == AUTO_MAP else None)


SUBCLASS = "import hf_bpe\n\n\nclass MyTokenizer(hf_bpe.BPETokenizer):\n    pass\n"


def test_subclass_is_registered_and_imported_from_its_module(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "my_tokenizers", None)  # so that it is taken out in the end
    del sys.modules["my_tokenizers"]
    (tmp_path / "my_tokenizers.py").write_text(SUBCLASS)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("my_tokenizers").MyTokenizer
    mine.register_for_auto_class()
    expected = {"AutoTokenizer": ["tokenization_hf_bpe.MyTokenizer", None]}
    saved = saved_with(mine(model=tokenizer.model), tmp_path / "mine")
    assert saved == (expected, "from my_tokenizers import MyTokenizer")
    assert saved_with(tokenizer, tmp_path / "ours") == (None, None)
    code = f"sys.path.insert(0, {str(tmp_path)!r})\nfrom transformers import AutoTokenizer\n"
    code += "print(json.dumps(type(AutoTokenizer.from_pretrained(sys.argv[1], trust_remote_code=True)).__module__))"
    assert run_code(code, tmp_path / "mine", HF_MODULES_CACHE=str(tmp_path / "modules")) == "my_tokenizers"


def test_class_that_a_folder_brings_along_is_copied(tokenizer, tmp_path):
    folder = tmp_path / "brought"
    tokenizer.save_pretrained(folder)
    (folder / "my_code.py").write_text(SUBCLASS)
    auto_map = {"AutoTokenizer": ["my_code.MyTokenizer", None]}
    edit_json(folder / "tokenizer_config.json", auto_map=auto_map, tokenizer_class="MyTokenizer")
    code = """
import pathlib
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], trust_remote_code=True)
tokenizer.save_pretrained(sys.argv[2])
saved = pathlib.Path(sys.argv[2])
auto_map = json.loads((saved / "tokenizer_config.json").read_text())["auto_map"]
print(json.dumps([type(tokenizer).__name__, auto_map, (saved / "my_code.py").read_text()]))
"""
    ran = run_code(code, folder, tmp_path / "again", HF_MODULES_CACHE=str(tmp_path / "modules"))
    assert ran == ["MyTokenizer", auto_map, SUBCLASS]


def test_a_class_that_nobody_could_import_is_refused(monkeypatch):
    class Local(BPETokenizer):
        pass

    with pytest.raises(ValueError, match="cannot be imported where the folder is loaded"):
        Local.register_for_auto_class()
    monkeypatch.setattr(Local, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Local", Local, raising=False)
    with pytest.raises(ValueError, match=r"Local of __main__ cannot be imported.* move it into an installed module"):
        Local.register_for_auto_class()


@pytest.mark.usefixtures("registered")
def test_the_class_itself_names_auto_tokenizer_too():
    BPETokenizer.register_for_auto_class(AutoTokenizer)
    assert BPETokenizer._auto_class is None  # or transformers would copy the sources of the package


# A config.json that is there already


@pytest.mark.parametrize("portable", [False, True], ids=["", "portable"])
def test_config_with_which_ids_are_right_is_not_warned_about(tokenizer, tmp_path, portable):
    for model_type in [each for each in MODEL_TYPES if each != "qwen2"] + ["unheard-of"]:
        with case(model_type):
            folder = model_folder(tmp_path / str(model_type), model_type)
            tokenizer.save_pretrained(folder, portable=portable)
            assert AutoTokenizer.from_pretrained(folder).encode(TEXT) == tokenizer.encode(TEXT)


@needs_class_of_its_own("qwen2")
@pytest.mark.parametrize("portable", [False, True], ids=["", "portable"])
def test_config_that_changes_ids_gives_a_warning_with_advice(tokenizer, tmp_path, portable):
    folder = model_folder(tmp_path / "model", "qwen2")
    before = (folder / "config.json").read_bytes()
    with pytest.warns(UserWarning, match="load the tokenizer as Qwen2Tokenizer, which gives wrong ids: ") as warned:
        tokenizer.save_pretrained(folder, portable=portable)
    assert warned[0].filename == __file__
    message = str(warned[0].message)
    for way in ("register_for_auto_class()", "BPETokenizer.from_pretrained", "PreTrainedTokenizerFast.from_pretrained"):
        assert way in message
    assert AutoTokenizer.from_pretrained(folder).encode("e\u0301") != tokenizer.encode("e\u0301")
    for loader in (BPETokenizer, PreTrainedTokenizerFast):
        assert loader.from_pretrained(folder).encode("e\u0301") == tokenizer.encode("e\u0301")
    assert (folder / "config.json").read_bytes() == before


@needs_class_of_its_own("siglip2")
def test_config_that_breaks_auto_tokenizer_gives_a_warning(tokenizer, tmp_path, monkeypatch):
    folder = model_folder(tmp_path / "model", "siglip2")
    with pytest.warns(
        UserWarning, match=r"config\.json makes AutoTokenizer load the tokenizer as Siglip2Tokenizer, "
    ) as warned:
        tokenizer.save_pretrained(folder)
    assert warned[0].filename == __file__  # the line of the caller

    def fail(*args, **kwargs):
        raise KeyError("mine")

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", fail)
    with pytest.warns(UserWarning, match=r"config\.json makes AutoTokenizer fail to load the tokenizer: 'mine'"):
        tokenizer.save_pretrained(folder)


def test_config_that_brings_code_is_neither_run_nor_asked_about(tokenizer, tmp_path, monkeypatch):
    questions = []
    monkeypatch.setattr("builtins.input", lambda question: questions.append(question) or "y")
    folder = model_folder(tmp_path / "model", None)
    config = {"model_type": "mine", "auto_map": {"AutoConfig": "code.Config"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text("raise SystemExit('run')")
    tokenizer.save_pretrained(folder)
    assert not questions
    assert sorted(path.name for path in folder.iterdir())[:2] == ["code.py", "config.json"]


def test_config_is_ignored_without_verification(tokenizer, tmp_path):
    tokenizer.save_pretrained(model_folder(tmp_path / "model", "qwen2"), verify=False)
