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

# tiffany_embed_dashboard(<directory>): the library gets tiffany::app::embedded_dashboard()
# (src/app/web.hpp), which gives the text files of the directory with their names.
function(tiffany_embed_dashboard directory)
  file(GLOB names RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/${directory}
    ${directory}/*.html ${directory}/*.js ${directory}/*.css ${directory}/*.svg)
  set(files "")
  foreach(name IN LISTS names)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${directory}/${name})
    file(READ ${directory}/${name} text)
    string(APPEND files "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/dashboard.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"// Made from ${directory} by cmake/embed.cmake.
#include \"app/web.hpp\"
namespace tiffany::app {
namespace {
constexpr WebFile kFiles[] = {
@files@};
}  // namespace
std::span<const WebFile> embedded_dashboard() noexcept { return kFiles; }
}  // namespace tiffany::app
")
  target_sources(tiffany PRIVATE ${source})
  # A literal may be longer than the 65,536 bytes that a C++ compiler must take.
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()
