"""Build hf_bpe with scikit-build-core: by the compiler of the machine, else by zig, else without the native core.

scikit-build-core can build without the core, too (`if.failed` in its overrides), but then it has no hooks for the
metadata alone, and pip compiles everything to learn a name and a version. Its other public hooks are passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403
from scikit_build_core.errors import ScikitBuildError

from build_backend import compilers, editable
from build_backend.compilers import NoCompilerError, Settings

# A wheel of Python files only; hf_bpe/_native_core.py uses the reference there.
WITHOUT_CORE: Settings = {"wheel.cmake": "false", "wheel.py-api": "py3"}


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    """Return what else a build needs: CMake and Ninja where there are none, zig where there is no compiler."""
    return requirements(build.get_requires_for_build_wheel, config_settings or {})


def get_requires_for_build_editable(config_settings: Settings | None = None) -> list[str]:
    """Return what else an editable build needs."""
    return requirements(build.get_requires_for_build_editable, config_settings or {})


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings | None = None) -> str:
    """Write the metadata of a wheel into a folder, and return the name of the folder in it."""
    return metadata(build.prepare_metadata_for_build_wheel, metadata_directory, config_settings or {})


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Settings | None = None) -> str:
    """Write the metadata of an editable wheel into a folder, and return the name of the folder in it."""
    return metadata(build.prepare_metadata_for_build_editable, metadata_directory, config_settings or {})


def build_wheel(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel in a folder and return its name."""
    return built(build.build_wheel, wheel_directory, config_settings or {}, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that points to this folder, and return its name."""
    name = built(build.build_editable, wheel_directory, config_settings or {}, metadata_directory)
    editable.keep_folders_off_the_path(Path(wheel_directory, name))
    return name


def requirements(hook: Callable[[Settings], list[str]], settings: Settings) -> list[str]:
    """Return what scikit-build-core and the compiler need, or without the core if that cannot be had here."""
    try:
        found = hook(settings) + compilers.requirements(settings)
        compilers.check_available(found)
    except NoCompilerError as error:
        report(str(error))
        return hook({**settings, **WITHOUT_CORE})
    return found


def metadata(hook: Callable[[str, Settings], str], folder: str, settings: Settings) -> str:
    """Write the metadata, for which scikit-build-core wants CMake to be there if the core is to be built."""
    try:
        return hook(folder, settings)
    except ScikitBuildError:
        return hook(folder, {**settings, **WITHOUT_CORE})


def built(
    hook: Callable[[str, Settings, str | None], str], folder: str, settings: Settings, metadata_directory: str | None
) -> str:
    """Build with the native core, and if nothing here can compile it, without."""
    try:
        name, settings_for_it = compilers.choose(settings)
        print(f"hf_bpe: compiling the native core: {name}", flush=True)
        return hook(folder, {**settings_for_it, **settings}, metadata_directory)
    except (NoCompilerError, ScikitBuildError) as error:  # the latter without CMake or Ninja
        report(str(error))
    except SystemExit:  # what scikit-build-core raises after it has printed the errors of a process that failed
        report("it cannot be compiled here (see above)")
    # Without the folder of metadata: its file WHEEL has the tags of a wheel with the core. METADATA is the same.
    return hook(folder, {**settings, **WITHOUT_CORE}, None)


def report(reason: str) -> None:
    """Print why the core is left out. pip shows it with -v only; hf_bpe warns when it is used."""
    print(f"hf_bpe: installing without the native core: {reason}", flush=True)
