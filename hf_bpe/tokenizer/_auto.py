"""Register BPETokenizer with AutoTokenizer, without importing what `import hf_bpe` does not need.

`transformers.models.auto` imports torch where torch is installed, which takes seconds. So the class is registered as
soon as other code imports that module: at once if it is already imported, else by a finder in `sys.meta_path` that
waits for the import and then removes itself. transformers has no entry point for this.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader

_AUTO_MODULE = "transformers.models.auto.tokenization_auto"


def register_when_imported() -> None:
    """Register BPETokenizer with AutoTokenizer now, or when AutoTokenizer is first imported."""
    module = sys.modules.get(_AUTO_MODULE)
    if module is not None and hasattr(module, "AutoTokenizer"):
        _register(module)
    elif not any(isinstance(finder, _AutoTokenizerFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AutoTokenizerFinder())


def _register(module: ModuleType) -> None:
    from transformers import PreTrainedConfig

    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

    class HfBpeConfig(PreTrainedConfig):  # type: ignore[misc]
        """A placeholder config that AutoTokenizer needs to register a class; only the name of the class matters."""

        model_type = "hf_bpe"

    module.AutoTokenizer.register(HfBpeConfig, BPETokenizer, exist_ok=True)


# Neither class has a base of `importlib.abc`, which takes longer to import than all else here.
class _AutoTokenizerFinder:
    """Delegate to the other finders for AutoTokenizer's module, and register once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _AUTO_MODULE:
            return None
        # Old finders have a different method.
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader)  # type: ignore[assignment]
        return spec


class _RegisteringLoader:
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        if name == "_loader":  # not set yet in a copy or during unpickling
            raise AttributeError(name)
        return getattr(self._loader, name)  # other methods of a loader: get_source for tracebacks, resources

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _AutoTokenizerFinder)]
        _register(module)
