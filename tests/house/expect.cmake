# expect_in(<output> <sentence>...): fails when one of the sentences is not in the output.
function(expect_in output)
  foreach(sentence ${ARGN})
    string(FIND "${output}" "${sentence}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "\"${sentence}\" is missing in:\n${output}")
    endif()
  endforeach()
endfunction()
