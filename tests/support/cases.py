"""Many values in one test, whose failure names the value."""

from contextlib import contextmanager

import pytest


@contextmanager
def case(*values):
    """Name the values in a failure of the block.

    Examples:
        >>> with case("gpt2", 3):
        ...     assert 1 + 1 == 3
        Traceback (most recent call last):
        AssertionError: failed with 'gpt2', 3
    """
    try:
        yield
    except (Exception, pytest.fail.Exception) as error:  # of pytest.raises, too
        raise AssertionError(f"failed with {', '.join(map(repr, values))}") from error


def check_refusals(rows, call, error=ValueError):
    """Check that a call refuses each value: rows have the value, the type of another error, and the message."""
    for value, *others, message in rows:
        with case(value, message), pytest.raises(others[0] if others else error, match=message):
            call(value)
