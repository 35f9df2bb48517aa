# Rules of zig.cmake. CMake reads them after its own rules for a system, some of which would replace them.
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_AR> ranlib <TARGET>")
if(APPLE)
  set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS -dynamiclib) # zig makes no bundles; Python loads either
endif()
