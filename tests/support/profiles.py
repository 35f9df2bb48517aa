"""The amount that the tests try: a little in every run, and much more with `pytest --thorough`, as CI runs them."""

import pytest

thorough = pytest.mark.thorough
"""Marks a test that takes long and adds only scale to what other tests prove: it runs with --thorough only."""

scaled = pytest.mark.scaled
"""Marks a test without examples of hypothesis that tries more with --thorough, by `by_profile`."""

_options = {"thorough": False}


def select(is_thorough: bool) -> None:
    """Choose the profile; conftest.py does so before any test module is imported."""
    _options["thorough"] = is_thorough


def by_profile(*, quick, thorough):
    """Return a number of examples, documents or bytes that depends on the profile of this run."""
    return thorough if _options["thorough"] else quick
