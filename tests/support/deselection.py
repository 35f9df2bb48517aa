"""Tests that a run leaves out and why, and the line about it at the end.

What the profile or the environment leaves out is deselected rather than skipped: it is thousands of tests, and a few
options make them run.
"""

import importlib.util
import os
import re
from collections import Counter

import pytest

from support.servers.chromium import find_chromium
from support.servers.web import is_web_built

HOW_TO_RUN = {
    "no core": "on the native core, which is not built (it needs a C++20 compiler)",
    "thorough": "thorough (--thorough)",
    "no data": "with real text and files (set HF_BPE_TEST_DATA)",
    "no browser": "in a browser (install chromium)",
    "no web build": "of the core in JavaScript (install node and run web/build.sh)",
    "passed": "that plain runs have passed (without --skip-repeated)",
}
"""Why tests are left out → what the last lines of the run say of them, after their number."""

PASSED = "hf_bpe/passed"  # in pytest's cache: the tests that plain runs have passed
IS_BUILT = importlib.util.find_spec("hf_bpe._native") is not None


def deselect(config, items):
    """Leave out some of the collected tests, and count them for the summary."""
    passed = {*config.cache.get(PASSED, [])} if config.getoption("skip_repeated") else set()
    reasons = {item: why for item in items if (why := reason(item, config, passed))}
    config.hook.pytest_deselected(items=[*reasons])
    items[:] = [item for item in items if item not in reasons]
    config.pluginmanager.get_plugin(Summary.__name__).left_out = Counter(reasons.values())


def reason(item, config, passed):
    """Return why a test is left out, as a key of `HOW_TO_RUN`, or None; `passed` are the tests to leave out."""
    is_thorough = config.getoption("thorough")
    if "native" in item.fixturenames and not IS_BUILT:
        return "no core"
    if item.get_closest_marker("thorough") and not is_thorough:
        return "thorough"
    if "test_data" in item.fixturenames and not os.environ.get("HF_BPE_TEST_DATA"):
        return "no data"
    if "web_build" in item.fixturenames and not is_web_built():
        return "no web build"
    if "browser" in item.fixturenames and find_chromium() is None:
        return "no browser"
    if item.nodeid in passed and not (is_thorough and depends_on_profile(item)):
        return "passed"
    return None


def depends_on_profile(item):
    """Return whether a test tries more with --thorough: by its examples, or as it is marked."""
    return getattr(item.obj, "is_hypothesis_test", False) or item.get_closest_marker("scaled") is not None


class PassedTests:
    """Notes which tests plain runs have passed: the last one, and those with --skip-repeated after it."""

    def __init__(self, config):
        self.config = config
        self.passed = config.cache.get(PASSED, []) if config.getoption("skip_repeated") else []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def pytest_sessionfinish(self):
        self.config.cache.set(PASSED, self.passed)


class Summary:
    """Writes at the end what was left out or skipped and why, and, if a test has failed, which took longest."""

    def __init__(self, config):
        self.config, self.left_out = config, Counter()

    def pytest_sessionfinish(self):
        if hasattr(self.config, "workeroutput"):  # in a process of pytest-xdist
            self.config.workeroutput["left_out"] = dict(self.left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.left_out |= Counter(getattr(node, "workeroutput", {}).get("left_out"))  # every process collects the same

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        parts = [f"{self.left_out[why]:,} {how}" for why, how in HOW_TO_RUN.items() if self.left_out[why]]
        parts += summary_of_skips(skip_reason(report) for report in terminalreporter.getreports("skipped"))
        if parts:
            terminalreporter.write_line(f"left out: {', '.join(parts)}")
        if exitstatus == pytest.ExitCode.TESTS_FAILED:
            calls = [each for kind in ("passed", "failed") for each in terminalreporter.getreports(kind)]
            calls.sort(key=lambda report: -report.duration)
            for report in calls[:3]:
                terminalreporter.write_line(f"slowest: {report.duration:.1f} s, {report.nodeid}")


def summary_of_skips(reasons):
    """Yield what the last line of a run says of skipped tests, by the packages that they need and by other reasons."""
    packages, other_reasons = Counter(), Counter()
    for why in reasons:
        match = _NEEDS_PACKAGE.search(why)
        if match is None:
            other_reasons[why] += 1
        else:
            packages[next(filter(None, match.groups())).split(".")[0]] += 1
    for counter, what, most in ((packages, "for want of a package", 4), (other_reasons, "for other reasons", 1)):
        if counter:
            shown = [why for why, _ in counter.most_common(most)]
            more = [f"{len(counter) - most} more, see -rs"] if len(counter) > most else []
            yield f"{sum(counter.values()):,} {what} ({', '.join([*shown, *more])})"


_NEEDS_PACKAGE = re.compile(
    r"could not import '([^']+)'|^([\w.-]+) cannot be imported|^([\w.-]+) is not installed|\bneeds? ([\w.-]+)$"
)


def skip_reason(report):
    """Return the reason of a skip without what pytest puts before it."""
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
