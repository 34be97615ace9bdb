# Runs PROGRAM, which must succeed, and compares what it prints (kept in ACTUAL) with EXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_FILE ${ACTUAL} COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${EXPECTED})
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${EXPECTED} ${ACTUAL}
    RESULT_VARIABLE different)
  if(different)
    execute_process(COMMAND diff -u ${EXPECTED} ${ACTUAL})
    message(FATAL_ERROR "The output is not what ${EXPECTED} says.")
  endif()
endif()
