# cmake -P: links the object files listed in OBJECTS and what they use of ARCHIVE into the one
# object file OUTPUT, and makes ARCHIVE's symbols local to it.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(
  COMMAND ${NM} --extern-only --defined-only --no-sort --format=posix ${ARCHIVE}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[^\n]*:\n" "" symbols "${symbols}")       # the names of the files
string(REGEX REPLACE " [^\n]*\n" "\n" symbols "${symbols}")     # type, address and size
file(WRITE ${OUTPUT}.symbols "${symbols}")

run(${LINKER} -r -o ${OUTPUT}.visible @${OBJECTS} ${ARCHIVE})
run(${OBJCOPY} --localize-symbols=${OUTPUT}.symbols ${OUTPUT}.visible ${OUTPUT})
file(REMOVE ${OUTPUT}.visible)
