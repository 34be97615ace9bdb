# cmake -D COMPILER= -D SOURCE= -D PRECOMPILED= -D INCLUDE= [-D SENTENCE= [-D ALONE=1]]
#   -P compile.cmake
#
# With a SENTENCE (a regular expression): SOURCE must not compile and an error must say that; ALONE:
# and no other error may follow.
# Without: SOURCE must compile.
set(first)
if(PRECOMPILED)
  set(first -include ${PRECOMPILED})
endif()
execute_process(
  COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Werror ${first}
    -I ${INCLUDE} ${SOURCE}
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(NOT DEFINED SENTENCE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} must compile, but the compiler said:\n${output}")
  endif()
elseif(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must not compile, but it did.")
elseif(NOT output MATCHES "error: [^\n]*${SENTENCE}")
  message(FATAL_ERROR
    "${SOURCE} did not compile, as it should, but no error that was printed matches\n"
    "  ${SENTENCE}\nThe compiler said:\n${output}")
elseif(ALONE)
  string(REGEX MATCHALL "error: " errors "${output}")
  list(LENGTH errors count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${SOURCE} gave ${count} errors, and one is enough:\n${output}")
  endif()
endif()
