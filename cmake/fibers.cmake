# The switch between fibers: our own on x86-64 and aarch64, Boost.Context's everywhere else.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|aarch64|arm64)$"
   OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(TIFFANY_BOOST_CONTEXT ON)
endif()
if(TIFFANY_BOOST_CONTEXT)
  find_package(Boost 1.81 REQUIRED COMPONENTS context)
  target_sources(tiffany PRIVATE src/engine/fiber_context_boost.cpp)
  target_link_libraries(tiffany PRIVATE Boost::context)
else()
  target_sources(tiffany PRIVATE src/engine/fiber_context.cpp)
  # It jumps where protected branches may only return, and must not be taken for code that knows
  # them.
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fcf-protection=none TIFFANY_HAS_CF_PROTECTION)
  if(TIFFANY_HAS_CF_PROTECTION)
    set_source_files_properties(src/engine/fiber_context.cpp PROPERTIES
      COMPILE_OPTIONS -fcf-protection=none)
  endif()
endif()
