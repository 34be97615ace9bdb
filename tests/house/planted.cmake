# cmake -D CHECK= -D SCRATCH= -P planted.cmake
#
# tools/check_house.py finds each violation that is planted in a repository made for it in SCRATCH.
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
file(REMOVE_RECURSE ${SCRATCH})
string(REPEAT "x" 101 long)
file(WRITE ${SCRATCH}/src/core/upward.cpp "#include \"tiffany/durable/host.hpp\"\n")
file(WRITE ${SCRATCH}/src/attic/lost.cpp "\n")
file(WRITE ${SCRATCH}/src/base/wide.cpp "// ${long}\n")
file(WRITE ${SCRATCH}/docs/page.md "# Page\n\n[gone](gone.md) and [no heading](page.md#nowhere)\n")
file(WRITE ${SCRATCH}/docs/good.md "[page](page.md#page)\n\n| ${long} |\n")
execute_process(COMMAND git init -q ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CHECK} ${SCRATCH} RESULT_VARIABLE status OUTPUT_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "The planted violations were not found.")
endif()
expect_in("${output}"
    "src/core/upward.cpp:1: core may not include durable, which comes after it"
    "src/attic/lost.cpp:1: attic is not a module"
    "src/base/wide.cpp:1: 104 columns"
    "docs/page.md:3: links to gone.md, which does not exist"
    "docs/page.md:3: links to page.md#nowhere, and page.md has no such heading")
if(output MATCHES "good.md")
  message(FATAL_ERROR "A page without a violation was complained about:\n${output}")
endif()
