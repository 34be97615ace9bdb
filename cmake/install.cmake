# `cmake --install` and what find_package(tiffany) finds there: the target tiffany::tiffany.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tiffany)

install(TARGETS tiffany EXPORT tiffanyTargets)
install(TARGETS tiffany_program)
install(DIRECTORY include/tiffany DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.hpp)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT tiffanyTargets NAMESPACE tiffany:: DESTINATION ${package_dir})

configure_package_config_file(cmake/tiffanyConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tiffanyConfigVersion.cmake
  DESTINATION ${package_dir})
