# A toolchain file for CMake: `zig c++`, a clang that brings the libraries of every target. HF_BPE_ZIG is its program,
# HF_BPE_ZIG_TARGET what to compile for, such as x86_64-linux-gnu.2.17: with the symbols of that version of glibc.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HF_BPE_ZIG HF_BPE_ZIG_TARGET)

set(CMAKE_CXX_COMPILER "${HF_BPE_ZIG}" c++ -target "${HF_BPE_ZIG_TARGET}")
set(CMAKE_CXX_COMPILER_LAUNCHER "") # zig has a cache of its own

# The machine may have no binutils.
set(CMAKE_AR "${HF_BPE_ZIG}")
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_AR> ranlib <TARGET>")
