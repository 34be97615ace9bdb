# Warnings for our own code only; users of the library do not inherit them.
add_library(tiffany_warnings INTERFACE)
target_compile_options(tiffany_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Woverloaded-virtual
  $<$<BOOL:${TIFFANY_WERROR}>:-Werror>
  # Source locations name files as they are in the repository, whoever builds it wherever.
  -fmacro-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=
  # The library's own are known by this (core/site.hpp). The last option that fits counts.
  -fmacro-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/src/=tiffany:)
