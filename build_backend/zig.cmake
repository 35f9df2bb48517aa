# A toolchain file for CMake: `zig c++`, a clang that brings the libraries of every target. HF_BPE_ZIG is its program,
# HF_BPE_ZIG_TARGET what to compile for, such as x86_64-linux-gnu.2.17: with the symbols of that version of glibc.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HF_BPE_ZIG HF_BPE_ZIG_TARGET)

set(CMAKE_CXX_COMPILER "${HF_BPE_ZIG}" c++ -target "${HF_BPE_ZIG_TARGET}")
set(CMAKE_CXX_COMPILER_LAUNCHER "") # zig has a cache of its own

# The machine may have no binutils.
set(CMAKE_AR "${HF_BPE_ZIG}")
set(CMAKE_USER_MAKE_RULES_OVERRIDE_CXX "${CMAKE_CURRENT_LIST_DIR}/zig_rules.cmake")

# Otherwise CMake takes the machine that compiles for the one that the result runs on.
string(REGEX MATCH "^([^-]+)-([^-.]+)" _ "${HF_BPE_ZIG_TARGET}")
set(processor "${CMAKE_MATCH_1}")
set(system "${CMAKE_MATCH_2}")
string(REPLACE "arm64" "aarch64" host_processor "${CMAKE_HOST_SYSTEM_PROCESSOR}")
set(name_of_linux Linux)
set(name_of_macos Darwin)
set(name_of_windows Windows)
if(NOT DEFINED name_of_${system})
  message(FATAL_ERROR "HF_BPE_ZIG_TARGET is '${HF_BPE_ZIG_TARGET}', not one for linux, macos or windows")
endif()
if(NOT "${name_of_${system}} ${processor}" STREQUAL "${CMAKE_HOST_SYSTEM_NAME} ${host_processor}")
  set(CMAKE_SYSTEM_NAME "${name_of_${system}}")
  set(CMAKE_SYSTEM_PROCESSOR "${processor}")
elseif(system STREQUAL "linux")
  # Debian's pyconfig.h includes a file by its path from here, where zig does not look. All of zig's headers come first.
  set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
endif()
