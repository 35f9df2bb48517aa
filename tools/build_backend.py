"""Build hf_bpe with scikit-build-core, and without the native core where that cannot be compiled.

scikit-build-core can do so, too (`if.failed` in its overrides), but then it has no hooks for the metadata alone, and
pip compiles everything to learn a name and a version. All public names of scikit_build_core.build are passed on.
"""

from __future__ import annotations

from collections.abc import Callable

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403

# A wheel of Python files only; hf_bpe/_native_core.py uses the Python engine there.
WITHOUT_CORE = {"wheel.cmake": "false", "wheel.py-api": "py3"}

Settings = dict[str, "list[str] | str"]


def build_wheel(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel in a folder and return its name."""
    return with_fallback(build.build_wheel, wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that points to this folder, and return its name."""
    return with_fallback(build.build_editable, wheel_directory, config_settings, metadata_directory)


def with_fallback(
    hook: Callable[[str, Settings | None, str | None], str],
    wheel_directory: str,
    config_settings: Settings | None,
    metadata_directory: str | None,
) -> str:
    """Call a hook of scikit-build-core, and if CMake or the compiler fails, again without the native core."""
    try:
        return hook(wheel_directory, config_settings, metadata_directory)
    except SystemExit:  # what scikit-build-core raises after it has printed the errors of a process that failed
        print("hf_bpe: the native core cannot be compiled here (see above); installing without it", flush=True)
    # Without the folder of metadata: its file WHEEL has the tags of a wheel with the core. METADATA is the same.
    return hook(wheel_directory, {**(config_settings or {}), **WITHOUT_CORE}, None)
