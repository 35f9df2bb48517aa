import gc
import importlib.util
import os
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, settings

if importlib.util.find_spec("hf_bpe._native") is None:  # so that no test, nor what it starts, is warned of it
    os.environ.setdefault("HF_BPE_ENGINE", "reference")

from support import deselection, profiles

common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # how fast a machine is proves nothing
# The same examples in each quick run, and in CI: so a failure is due to a change, not to chance.
settings.register_profile("quick", common, max_examples=10, derandomize=True)
settings.register_profile("thorough", common, max_examples=30, derandomize=bool(os.environ.get("CI")))


def pytest_addoption(parser):
    parser.addoption(
        "--thorough",
        action="store_true",
        help="more examples, larger inputs and the tests marked thorough, which a plain run leaves out",
    )
    parser.addoption(
        "--skip-repeated",
        action="store_true",
        help="leave out what plain runs have passed and this one would not try more",
    )


def pytest_configure(config):
    is_thorough = config.getoption("thorough")
    config.addinivalue_line("markers", "thorough: adds only scale to other tests; runs with --thorough only")
    config.addinivalue_line("markers", "scaled: tries more with --thorough, which --skip-repeated does not leave out")
    profiles.select(is_thorough)
    settings.load_profile("thorough" if is_thorough else "quick")
    config.pluginmanager.register(deselection.Summary(config), deselection.Summary.__name__)
    if not is_thorough and not hasattr(config, "workerinput") and config.pluginmanager.hasplugin("cacheprovider"):
        config.pluginmanager.register(deselection.PassedTests(config))


def pytest_collection_finish():
    # A tenth of the time was spent on looking for garbage among modules and tests, which are none. With hypothesis from
    # 6.100 to 6.112 some examples would be flaky.
    if hypothesis.__version_info__ >= (6, 150):
        gc.freeze()


@pytest.hookimpl(trylast=True)  # after -k and -m, so that what they leave out is not counted
def pytest_collection_modifyitems(config, items):
    deselection.deselect(config, items)


@pytest.fixture(scope="session", autouse=True)
def _unsynced():
    """Leave files to the system, which keeps them whatever becomes of a process; disks take their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


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


@pytest.fixture(scope="session")
def browser():
    """Return the class of browsers. No test imports it, for tests are left out by this fixture where there is none."""
    from support.servers.chromium import Chromium

    return Chromium


@pytest.fixture(scope="module")
def chromium(browser):
    with browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def phone(browser):
    with browser(360, 740, is_phone=True, dark=True) as phone:
        yield phone


@pytest.fixture(scope="session")
def native():
    return pytest.importorskip("hf_bpe._native", reason="the native core is not built")
