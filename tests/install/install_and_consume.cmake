# Installs the library alone into SCRATCH/prefix, builds CONSUMER against it there, and runs it.
# Once by find_package, once by pkg-config.
# Nothing but the target `tiffany` needs to be built for that: neither tests nor examples nor the
# program. A library without AddressSanitizer then refuses a program that has it, with a sentence.
file(REMOVE_RECURSE ${SCRATCH}/prefix ${SCRATCH}/consumer)
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${TIFFANY_BUILD} --component library --prefix ${SCRATCH}/prefix)
if(EXISTS ${SCRATCH}/prefix/bin)
  message(FATAL_ERROR "The component library has installed programs.")
endif()
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH}/consumer -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --build ${SCRATCH}/consumer)
run(${SCRATCH}/consumer/consumer)

# The same through pkg-config, without CMake.
set(ENV{PKG_CONFIG_PATH} ${SCRATCH}/prefix/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs "tiffany >= 0.1"
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
separate_arguments(own UNIX_COMMAND "${FLAGS}")
run(${COMPILER} ${own} ${CONSUMER}/consumer.cpp -o ${SCRATCH}/by_pkg_config ${flags})
run(${SCRATCH}/by_pkg_config)

if(NOT EXISTS ${SCRATCH}/prefix/share/tiffany/gdb/tiffany_gdb.py)
  message(FATAL_ERROR "The script for gdb was not installed.")
endif()

if(NOT FLAGS MATCHES "-fsanitize")
  execute_process(
    COMMAND ${COMPILER} -std=c++20 -fsanitize=address -I ${SCRATCH}/prefix/include
      ${CONSUMER}/consumer.cpp -o ${SCRATCH}/sanitized ${LIBRARY}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES
      "undefined [^\n]*this_program_is_built_with_fsanitize_address_so_build_tiffany_with_it_too")
    message(FATAL_ERROR "A sanitized program must not link, and be told why:\n${output}")
  endif()
endif()
