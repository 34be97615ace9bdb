# Installs the library alone into SCRATCH/prefix, builds CONSUMER against it there, and runs it. Nothing
# but the target `tiffany` needs to be built for that: neither tests nor examples nor the program.
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
