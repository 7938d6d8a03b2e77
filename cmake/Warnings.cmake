# neliroute_warnings(target): every warning is an error in our own code; libraries are SYSTEM.
option(NELIROUTE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})

function(neliroute_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    $<$<BOOL:${NELIROUTE_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False alarms of GCC 12 in inlined std::string, at -O3 (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(NELIROUTE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Instrumented code confuses it (GCC says so in the manual of -fsanitize).
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()
