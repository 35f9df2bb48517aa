"""Stands for tokenizers where it has no wheel, so that tests that do not use it can run.

Everything but `AddedToken` raises an error when it is made.
"""

import sys
import types
from importlib.metadata import version
from typing import Any

__version__ = version("tokenizers")


class AddedToken:
    """A token with the flags that it has in tokenizers."""

    def __init__(
        self,
        content: str = "",
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        special: bool = False,
        normalized: bool | None = None,
    ) -> None:
        self.content, self.single_word, self.lstrip, self.rstrip = content, single_word, lstrip, rstrip
        self.special, self.normalized = special, not special if normalized is None else normalized

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return f"AddedToken({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddedToken) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.content)


class _Absent:
    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("tokenizers is not installed: this Python has no wheel of it")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (_Absent,), {})


for _name in ("decoders", "implementations", "models", "normalizers", "pre_tokenizers", "processors", "trainers"):
    _module = types.ModuleType(f"tokenizers.{_name}")
    _module.__getattr__ = __getattr__  # type: ignore[method-assign]
    sys.modules[_module.__name__] = globals()[_name] = _module
