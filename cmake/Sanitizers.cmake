# NELIROUTE_SANITIZE: what all of the build is instrumented with, tests included.
set(NELIROUTE_SANITIZE "" CACHE STRING "Sanitizers: empty, address,undefined or thread")

option(NELIROUTE_FUZZ "Build the fuzzers, which need clang" OFF)

if(NELIROUTE_SANITIZE)
  add_compile_options(-fsanitize=${NELIROUTE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${NELIROUTE_SANITIZE})
  if(NELIROUTE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(NELIROUTE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Asio uses atomic_thread_fence, which GCC warns is not modelled.
    add_compile_options(-Wno-error=tsan)
  endif()
endif()
