"""`functools.cached_property` without its lock, as it is from Python 3.12 on.

Until 3.11 all instances of a class share a lock while a property is computed. A process that is forked meanwhile
inherits the locked lock, and hangs when it reads the property.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property  # noqa: TID251
else:

    class cached_property:
        """A property that is computed once and kept in the `__dict__` of its instance."""

        def __init__(self, function):
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value
