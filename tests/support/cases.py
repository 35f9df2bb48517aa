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
