"""A process in which hf_bpe has an option that is made up, as for someone who adds it."""

import subprocess
import sys

_HELPERS = """
import contextlib, dataclasses, inspect, io, re, sys, typing
from pathlib import Path

_, folder, *names = sys.argv
folder, dataclass = Path(folder), dataclasses.dataclass

def with_made_up(cls):
    if cls.__name__ in names:
        from hf_bpe._utils.arguments import at_least
        cls.__annotations__["made_up"] = int
        module = sys.modules[cls.__module__]
        cls.made_up = module.option(3, at_least(1), "fancy")
        module.TypedDict = typing.TypedDict("TypedDict", {"made_up": int})  # of the keywords, which follow the class
        cls.__doc__ = re.sub("Args:\\n( +)", r"\\g<0>made_up: make it up. Or not.\\n\\1", cls.__doc__)
    return cls

dataclasses.dataclass = lambda cls=None, **options: (
    dataclass(with_made_up(cls)) if cls else lambda cls: dataclass(with_made_up(cls), **options)
)

def default_of(function):
    parameter = inspect.signature(function).parameters["made_up"]
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return parameter.default

def refused(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except ValueError as error:
        return str(error)
    raise AssertionError("not refused")

def run(*command):
    from hf_bpe.cli.program import app
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()):
        app([str(each) for each in command], standalone_mode=False)
    return output.getvalue()
"""


def check_with_made_up(program, folder, *names):
    """Run a program, with the functions above, where dataclasses with these names have the option made_up."""
    command = [sys.executable, "-c", _HELPERS + program, folder, *names]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
