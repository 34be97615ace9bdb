# The modules up to io once more, as a library in which transitions of tasks are neither counted nor
# told: what bench/observe compares with (detail/core/observer.hpp). Built when a program needs it.
get_target_property(sources tiffany SOURCES)
list(FILTER sources INCLUDE REGEX "src/(base|core|engine|structure|sync|world|io)/")
list(FILTER sources EXCLUDE REGEX "src/io/tls")
add_library(tiffany_without_seam STATIC EXCLUDE_FROM_ALL ${sources})
target_compile_features(tiffany_without_seam PUBLIC cxx_std_20)
target_compile_definitions(tiffany_without_seam PUBLIC TIFFANY_WITHOUT_SEAM)
target_include_directories(tiffany_without_seam PUBLIC include PRIVATE src)
foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES UNITY_BUILD
    UNITY_BUILD_MODE)
  get_target_property(value tiffany ${property})
  if(value)
    set_property(TARGET tiffany_without_seam PROPERTY ${property} ${value})
  endif()
endforeach()
get_target_property(libraries tiffany LINK_LIBRARIES)
target_link_libraries(tiffany_without_seam PRIVATE ${libraries})
