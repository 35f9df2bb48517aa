"""Functions of the operating system that tests put others in the place of."""

import os
import pathlib
import sys


def replace_system_call(name, function):
    """Have `os` and `pathlib` call another function in the place of `os.NAME`, until the process ends."""
    setattr(os, name, function)
    if sys.version_info < (3, 11):  # which keeps the functions of `os` as they were when it was imported
        setattr(pathlib._NormalAccessor, name, staticmethod(function))
