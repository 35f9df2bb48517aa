"""The options and the choice of tests of the contract suite.

The suite runs in the tests of the repository, and by itself against an installed hf_bpe:

    pytest -c tests/contract/pytest.ini tests/contract [--thorough]
"""

import os
import shutil
from contextlib import suppress

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def pytest_addoption(parser):
    with suppress(ValueError):  # the tests of the repository have the option
        parser.addoption("--thorough", action="store_true", help="all artifacts, ways to load and texts")


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: adds only scale to other tests; runs with --thorough only")


def pytest_collection_modifyitems(config, items):
    """Leave out what only the whole form has; the tests of the repository do so themselves."""
    if config.getoption("thorough") or config.pluginmanager.hasplugin("Summary"):
        return
    left_out = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in {*left_out}]


@pytest.fixture(autouse=True, scope="session")
def _deleted_at_the_end():
    """Delete what was saved: two gigabytes in the whole form."""
    yield
    from contract.loading import root

    shutil.rmtree(root())


@pytest.fixture
def form(request):
    """Return which texts are compared."""
    return "all" if request.config.getoption("thorough") else "quick"


@pytest.fixture(autouse=True)
def _quiet():
    """Leave out what transformers logs, in the tests of this suite only."""
    import transformers

    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    yield
    transformers.logging.set_verbosity(before)
