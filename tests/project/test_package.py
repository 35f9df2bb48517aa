"""The package as it is installed."""

import json
from importlib import metadata, resources

import hf_bpe
from support.processes import run_code


def test_versions_agree():
    assert hf_bpe.__version__ == metadata.version("hf_bpe")


def test_types_and_conversion_are_installed():
    assert resources.files("hf_bpe").joinpath("py.typed").is_file()
    assert resources.files("hf_bpe.conversion").joinpath("_gguf.py").is_file()


def test_what_is_compiled_into_the_core_is_listed(native):
    (path,) = [file for file in metadata.files("hf_bpe") if file.parent.name == "sboms"]
    bill = json.loads(path.read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    whole = bill["metadata"]["component"]
    assert (whole["version"], whole["purl"]) == (hf_bpe.__version__, f"pkg:pypi/hf-bpe@{hf_bpe.__version__}")
    versions = {part["bom-ref"]: part.get("version") for part in bill["components"]}
    assert versions.keys() >= {"nanobind", "robin-map", "unicode"}
    assert int(versions["nanobind"].split(".")[0]) >= 2
    referred = {name for each in bill["dependencies"] for name in [each["ref"], *each["dependsOn"]]}
    assert referred <= {*versions, "hf_bpe"}


def test_the_page_of_the_playground_is_installed():
    folder = resources.files("hf_bpe.playground").joinpath("static")
    assert {"index.html", "playground.css", "playground.js", "icon.svg"} <= {file.name for file in folder.iterdir()}


def test_modules_are_imported_once_they_are_used():
    code = """
import hf_bpe
loaded = lambda *names: sorted({*names} & {*sys.modules})
modules = "analysis", "conversion", "distributed", "editing", "playground"
libraries = "numpy", "regex", "rich", "tokenizers", "tqdm", "transformers"
at_first = loaded(*libraries, *(f"hf_bpe.{name}" for name in modules))
listed = sorted({*modules} & {*dir(hf_bpe)})
hf_bpe.train_bpe(["low low"], 257)
hf_bpe.conversion
optional = loaded("datasets", "fsspec", "gguf", "pyarrow", "tiktoken", "torch", "transformers", "zstandard")
names = [getattr(hf_bpe, name).__name__ for name in modules]
print(json.dumps([at_first, listed, optional, names, hf_bpe.analysis.show is not None]))
"""
    at_first, listed, optional, names, has_show = run_code(code)
    assert at_first == optional == []
    assert names == [f"hf_bpe.{name}" for name in listed]
    assert len(names) == 5
    assert has_show
