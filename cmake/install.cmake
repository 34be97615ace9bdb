# `cmake --install` and what is found there: the target tiffany::tiffany by find_package(tiffany),
# flags by pkg-config, and the script for gdb (tools/gdb).
#
# Two components. `library` (headers, library, packages, script) needs the target `tiffany` to be
# built and nothing else; `tools` is the programs `tiffany` and `tiffany-run`, left out where
# they were not built:
#   cmake --build build --target tiffany && cmake --install build --component library
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tiffany)

install(TARGETS tiffany EXPORT tiffanyTargets COMPONENT library)
install(TARGETS tiffany_run COMPONENT tools OPTIONAL)
if(TIFFANY_APP)
  install(TARGETS tiffany_program COMPONENT tools OPTIONAL)
  install(TARGETS scripted_model COMPONENT tools OPTIONAL)  # when it was built
endif()
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

# For pkg-config. What a static library needs is needed by every program that is linked with it.
get_target_property(kind tiffany TYPE)
set(needed "")
if(kind STREQUAL SHARED_LIBRARY)
  set(needed .private)
endif()
set(packages "")
set(libraries "")
set(archives "")
if(TIFFANY_HAS_LIBBACKTRACE AND NOT kind STREQUAL SHARED_LIBRARY)
  set(archives " ${TIFFANY_BACKTRACE_LIBRARY}")  # it has no file for pkg-config either
endif()
if(TIFFANY_URING)
  list(APPEND packages liburing)
endif()
if(TIFFANY_TLS)
  list(APPEND packages openssl)
endif()
if(TIFFANY_PLANS)
  list(APPEND packages yaml-cpp)
endif()
if(TIFFANY_SERVE AND TIFFANY_PLANS AND TIFFANY_NCURSES)
  list(APPEND packages ncursesw)
endif()
if(TIFFANY_APP)
  list(APPEND packages libgit2 sqlite3)
endif()
if(TIFFANY_BOOST_CONTEXT)
  set(libraries -lboost_context)  # it has no file for pkg-config
endif()
list(JOIN packages ", " packages)
configure_file(cmake/tiffany.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tiffany.pc @ONLY)
# The directory is known only when it is installed: `cmake --install --prefix` may name another.
install(CODE "
  file(READ \"${CMAKE_CURRENT_BINARY_DIR}/tiffany.pc\" text)
  string(REGEX REPLACE \"^prefix=[^\\n]*\" \"prefix=\${CMAKE_INSTALL_PREFIX}\" text \"\${text}\")
  file(WRITE \"${CMAKE_CURRENT_BINARY_DIR}/installed/tiffany.pc\" \"\${text}\")"
  COMPONENT library)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/installed/tiffany.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
install(FILES tools/gdb/tiffany_gdb.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/tiffany/gdb COMPONENT library)
