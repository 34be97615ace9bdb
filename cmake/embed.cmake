# tiffany_embed(<text file> <qualified function>): the library gets a function
# `std::string_view function() noexcept` that gives the text of the file.
function(tiffany_embed file function)
  string(REGEX REPLACE "::[^:]*$" "" space ${function})
  string(REGEX REPLACE "^.*::" "" name ${function})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Made from ${file} by cmake/embed.cmake.
#include <string_view>
namespace @space@ {
std::string_view @name@() noexcept;
std::string_view @name@() noexcept {
  return R\"embedded(@text@)embedded\";
}
}  // namespace @space@
")
  target_sources(tiffany PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
