# `cmake --install` and what find_package(tiffany) finds there: the target tiffany::tiffany.
#
# Two components. `library` (headers, library, package) needs the target `tiffany` to be built and
# nothing else; `tools` is the program `tiffany`, and is left out where it was not built:
#   cmake --build build --target tiffany && cmake --install build --component library
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tiffany)

install(TARGETS tiffany EXPORT tiffanyTargets COMPONENT library)
install(TARGETS tiffany_program COMPONENT tools OPTIONAL)
install(DIRECTORY include/tiffany DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN *.hpp)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
install(EXPORT tiffanyTargets NAMESPACE tiffany:: DESTINATION ${package_dir} COMPONENT library)

configure_package_config_file(cmake/tiffanyConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT library)
