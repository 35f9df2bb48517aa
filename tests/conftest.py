import ast
import functools
import importlib.util
import inspect
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if importlib.util.find_spec("hf_bpe._native") is None:  # so that no test, nor what it starts, is warned of it
    os.environ.setdefault("HF_BPE_ENGINE", "reference")

from support import profiles

import hf_bpe.engine._dispatch

common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # how fast a machine is proves nothing
# The same examples in each quick run, and in CI: so a failure is due to a change, not to chance.
settings.register_profile("quick", common, max_examples=15, derandomize=True)
settings.register_profile("thorough", common, max_examples=30, derandomize=bool(os.environ.get("CI")))


def pytest_addoption(parser):
    parser.addoption(
        "--thorough",
        action="store_true",
        help="more examples, larger inputs and the tests marked thorough, which a plain run skips",
    )
    parser.addoption(
        "--skip-repeated",
        action="store_true",
        help="with --thorough: leave out the second engine, and what the last plain run passed and would try no more",
    )


def pytest_configure(config):
    is_thorough = config.getoption("thorough")
    config.addinivalue_line("markers", "thorough: adds only scale to other tests; runs with --thorough only")
    profiles.select(is_thorough)
    settings.load_profile("thorough" if is_thorough else "quick")
    if not is_thorough and not hasattr(config, "workerinput") and config.pluginmanager.hasplugin("cacheprovider"):
        config.pluginmanager.register(PassedTests(config))


def pytest_collection_modifyitems(config, items):
    if not config.getoption("thorough"):
        for item in items:
            if is_thorough(item):
                item.add_marker(pytest.mark.skip(reason="adds only scale, or the second engine: run with --thorough"))
    elif config.getoption("skip_repeated"):
        passed = {*config.cache.get(PASSED, [])}
        repeated = [
            item for item in items if on_second_engine(item) or (item.nodeid in passed and not tries_more(item))
        ]
        config.hook.pytest_deselected(items=repeated)
        items[:] = [item for item in items if item not in {*repeated}]


PASSED = "hf_bpe/passed"


def is_thorough(item):
    """Return whether a test runs with --thorough only: marked so, or on the Python engine as the second one."""
    return on_second_engine(item) or item.get_closest_marker("thorough") is not None


def on_second_engine(item):
    engine = item.callspec.params.get("engine") if hasattr(item, "callspec") else None
    return engine == "reference" and hf_bpe.engine._dispatch.native_core() is not None


def tries_more(item):
    """Return whether a test depends on the profile: by its examples, or by a name of its module that does."""
    has_examples = getattr(item.obj, "is_hypothesis_test", False)
    return has_examples or is_thorough(item) or item.originalname in depends_on_profile(item.module)


@functools.cache
def depends_on_profile(module):
    """Return the names that a module defines by `by_profile`, themselves or by such a name."""
    mentioned = {}
    for node in ast.parse(inspect.getsource(module)).body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        for member in members:
            words = {each.id for each in ast.walk(member) if isinstance(each, ast.Name)}
            words |= {each.arg for each in ast.walk(member) if isinstance(each, ast.arg)}  # fixtures
            targets = getattr(member, "targets", [getattr(member, "target", member)])
            names = {getattr(target, "id", getattr(target, "name", "")) for target in targets}
            mentioned |= {name: mentioned.get(name, set()) | words for name in names}
    found = {"by_profile"}
    while more := {name for name, words in mentioned.items() if words & found} - found:
        found |= more
    return found


class PassedTests:
    """Notes which tests a plain run has passed."""

    def __init__(self, config):
        self.config, self.passed = config, []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def pytest_sessionfinish(self):
        self.config.cache.set(PASSED, self.passed)


@pytest.fixture(scope="session")
def test_data():
    folder = os.environ.get("HF_BPE_TEST_DATA")
    if not folder:
        pytest.skip("set HF_BPE_TEST_DATA to the folder of the test data")
    return Path(folder)


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """Return a file of the text that commands are tried on."""
    from support.commands import TEXT

    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text(TEXT, encoding="utf-8", newline="")
    return file


@pytest.fixture(scope="session")
def folder(text):
    """Return a saved tokenizer with the pattern gpt2 and the special token <|x|> as id 256."""
    from support.commands import run

    run("train", text, "-o", text.parent / "gpt2", "--vocab-size", 280, "--special-token", "<|x|>")
    return text.parent / "gpt2"


@pytest.fixture(scope="module", params=["native", "reference"])
def engine(request):
    """Run each test of a module on both engines; where the native core is not built, on one."""
    if request.param == "native":
        if hf_bpe.engine._dispatch.native_core() is None:
            pytest.skip("the native core is not built")
        yield request.param
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hf_bpe.engine._dispatch, "native_core", lambda: None)
            yield request.param


@pytest.fixture(scope="session")
def native():
    return pytest.importorskip("hf_bpe._native", reason="the native core is not built")
