# Lines of native stacks, in the reports of a watchdog (observe/watchdog.hpp): libbacktrace, which
# is a part of GCC. Where it is not found, or does not link, reports have the names of exported
# functions only.
file(GLOB gcc_directories /usr/lib/gcc/*/*)
list(SORT gcc_directories COMPARE NATURAL ORDER DESCENDING)
find_library(TIFFANY_BACKTRACE_LIBRARY NAMES libbacktrace.a PATHS ${gcc_directories})
find_path(TIFFANY_BACKTRACE_INCLUDE backtrace.h
  PATHS ${gcc_directories} PATH_SUFFIXES include NO_DEFAULT_PATH)
mark_as_advanced(TIFFANY_BACKTRACE_LIBRARY TIFFANY_BACKTRACE_INCLUDE)
if(TIFFANY_BACKTRACE_LIBRARY AND TIFFANY_BACKTRACE_INCLUDE)
  # The header is copied: beside it are headers that belong to one compiler.
  configure_file(${TIFFANY_BACKTRACE_INCLUDE}/backtrace.h
    ${CMAKE_CURRENT_BINARY_DIR}/backtrace/backtrace.h COPYONLY)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${CMAKE_CURRENT_BINARY_DIR}/backtrace)
  set(CMAKE_REQUIRED_LIBRARIES ${TIFFANY_BACKTRACE_LIBRARY})
  check_cxx_source_compiles(
    "#include <backtrace.h>
    int main() { return backtrace_create_state(nullptr, 1, nullptr, nullptr) == nullptr; }"
    TIFFANY_HAS_LIBBACKTRACE)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(TIFFANY_HAS_LIBBACKTRACE)
  target_compile_definitions(tiffany PRIVATE TIFFANY_LIBBACKTRACE)
  target_include_directories(tiffany SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/backtrace)
  target_link_libraries(tiffany PRIVATE ${TIFFANY_BACKTRACE_LIBRARY})
endif()
