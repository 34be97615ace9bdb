# Configures CONSUMER, which has Tiffany as a directory, and compiles its source with what the
# target tiffany::tiffany says. The library itself is not compiled a second time: ninja only says
# what it would do, and that must end in linking the program.
file(REMOVE_RECURSE ${SCRATCH})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH} -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER}
  -D TIFFANY=${TIFFANY})
execute_process(COMMAND ninja -C ${SCRATCH} -t targets all
  OUTPUT_VARIABLE targets COMMAND_ERROR_IS_FATAL ANY)
if(NOT targets MATCHES "(CMakeFiles/consumer[^:\n]*\\.cpp\\.o):")
  message(FATAL_ERROR "The program of the project is not compiled:\n${targets}")
endif()
run(ninja -C ${SCRATCH} ${CMAKE_MATCH_1})
execute_process(COMMAND ninja -C ${SCRATCH} -n -v consumer
  OUTPUT_VARIABLE planned COMMAND_ERROR_IS_FATAL ANY)
if(NOT planned MATCHES "-o consumer [^\n]*libtiffany")
  message(FATAL_ERROR "The program would not be linked with the library:\n${planned}")
endif()
