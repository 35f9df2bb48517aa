"""The options, the choice of tests, and the table of the contract suite.

The suite runs in the tests of the repository, and by itself against an installed hf_bpe:

    pytest -c tests/contract/pytest.ini tests/contract [--thorough]
"""

import os
import shutil
from collections import Counter, defaultdict
from contextlib import suppress

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def pytest_addoption(parser):
    with suppress(ValueError):  # the tests of the repository have the option
        parser.addoption("--thorough", action="store_true", help="all artifacts, ways to load and texts")


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: adds only scale to other tests; runs with --thorough only")
    config.pluginmanager.register(Table(config), "contract-table")


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


class Table:
    """Comparisons and seconds by way to load and group of artifacts, printed at the end of a run of the suite."""

    def __init__(self, config):
        self.is_whole = config.getoption("thorough")
        self.numbers, self.artifacts = defaultdict(Counter), set()

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties if report.when == "call" else ():
            if name == "contract":
                way, artifact, group, number, seconds = value
                self.numbers[way] += Counter({"artifacts": 1, group: number, "comparisons": number})
                self.numbers[way]["seconds"] += seconds
                self.artifacts.add(artifact)

    def pytest_terminal_summary(self, terminalreporter):
        if not self.numbers:
            return
        total = sum(row["comparisons"] for row in self.numbers.values())
        line = f"contract: {total:,} comparisons, {len(self.numbers)} ways to load, {len(self.artifacts)} artifacts"
        terminalreporter.write_line(line)
        if self.is_whole:
            columns = ("artifacts", "trained", "families", "real files", "comparisons", "seconds")
            terminalreporter.write_line(f"{'way to load':42}" + "".join(f"{name:>12}" for name in columns))
            for way, row in self.numbers.items():
                terminalreporter.write_line(f"{way:42}" + "".join(f"{round(row[name]):12,}" for name in columns))
