"""The seconds of `regex` are those of all processors; the limit is one of time, whatever other threads do."""

import pytest
import regex

from hf_bpe.pretokenizers import _matching
from hf_bpe.pretokenizers._matching import Matcher

PATTERN = r"(?:a|aa)+b"


class Impatient:
    """A compiled expression that counts processor time of other threads: what takes 1 s gets none until it has 8."""

    def __init__(self, compiled, asked):
        self._compiled, self._asked = compiled, asked
        self.groups = compiled.groups

    def __getattr__(self, name):
        def method(*args, timeout):
            self._asked.append(timeout)
            if timeout is not None and timeout < 8 * self._asked[0]:
                raise TimeoutError("regex timed out")
            return getattr(self._compiled, name)(*args)

        return method


@pytest.mark.parametrize("text", ["aab aab", "x" * (1 << 20) + "aab"], ids=["short", "long"])
@pytest.mark.parametrize("method", ["split", "find"])
def test_time_of_other_threads_does_not_count(monkeypatch, text, method):
    asked = []
    compiled = Impatient(regex.compile(PATTERN), asked)
    expected = {
        "split": [found for found in regex.split(f"({PATTERN})", text) if found],
        "find": [match.span() for match in regex.finditer(PATTERN, text)],
    }[method]
    monkeypatch.setattr(_matching, "_compiled", lambda expression: (compiled, False))
    matcher = Matcher(text)
    args = (PATTERN,) if method == "split" else (PATTERN, text)
    assert getattr(matcher, method)(*args) == expected
    assert asked[1] == pytest.approx(2 * asked[0])
