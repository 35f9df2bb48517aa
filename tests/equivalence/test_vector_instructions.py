"""The native core finds the vector instructions that the machine has."""

import platform
from pathlib import Path

import pytest

CPUINFO = Path("/proc/cpuinfo")
# The names that Linux gives to what CMakeLists.txt compiles the *_avx2.cpp files with.
AVX2 = {"avx2", "bmi1", "bmi2", "abm"}


@pytest.mark.skipif(not CPUINFO.exists(), reason="only Linux says which instructions a machine has")
def test_the_vector_instructions_of_the_machine_are_used(native):
    flags = {*CPUINFO.read_text("utf-8").split()}
    expected = ["scalar"]
    if platform.machine() == "aarch64":
        expected += ["neon"]
    elif flags >= AVX2:
        expected += ["avx2"]
    assert native.simd_names() == expected
