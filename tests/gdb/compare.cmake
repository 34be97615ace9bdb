# Run by ctest with -D GDB -D PROGRAM -D SCRIPT -D WORK; see CMakeLists.txt.
if(NOT GDB)
  message("Skipped: gdb is not installed")
  return()
endif()

function(run_gdb output)
  execute_process(COMMAND ${GDB} -q -nx -batch -iex "set debuginfod enabled off" ${ARGN}
    OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(text MATCHES "ptrace: Operation not permitted" OR errors MATCHES "ptrace")
    message("Skipped: gdb may not trace processes here")
    set(${output} "" PARENT_SCOPE)
    return()
  endif()
  set(${output} "${text}\n${errors}" PARENT_SCOPE)
endfunction()

# What lies between the marks that gdb was told to print.
function(between_marks output text)
  if(NOT text MATCHES "=== begin\n(.*)=== end")
    message(FATAL_ERROR "gdb did not get that far:\n${text}")
  endif()
  set(${output} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

set(show -ex "source ${SCRIPT}" -ex "echo === begin\\n" -ex "tiffany tasks" -ex "echo === end\\n")

run_gdb(live -ex "break stop_here" -ex "run > ${WORK}/stopped.txt" ${show}
  -ex "generate-core-file ${WORK}/stopped.core" -ex "kill" ${PROGRAM})
if(live STREQUAL "")
  return()
endif()
file(READ ${WORK}/stopped.txt expected)
string(REGEX REPLACE "\n      waits for [^\n]*" "" expected "${expected}")
string(REGEX REPLACE "\n\n$" "\n" expected "${expected}")
between_marks(shown "${live}")
if(NOT shown STREQUAL expected)
  message(FATAL_ERROR "dump_text():\n${expected}\ngdb, live:\n${shown}")
endif()

run_gdb(dead -core ${WORK}/stopped.core ${show} ${PROGRAM})
between_marks(shown "${dead}")
if(NOT shown STREQUAL expected)
  message(FATAL_ERROR "dump_text():\n${expected}\ngdb, from a core file:\n${shown}")
endif()
file(REMOVE ${WORK}/stopped.core)
message("${shown}")
