# The headers that take longest to compile: compiled once for all rooms, and once for all tests.
# Every file still includes what it uses: tidy compiles each header alone, and preset dev compiles
# every file without this.
option(NELIROUTE_PRECOMPILE "Precompile the headers of other projects" OFF)

set(neliroute_asio_headers
  <boost/asio/any_io_executor.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp>
  <boost/asio/post.hpp> <boost/asio/steady_timer.hpp> <boost/system/result.hpp>)
# See Asio.cmake.
set(neliroute_asio_definitions BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION)
set(neliroute_std_headers
  <algorithm> <chrono> <functional> <map> <memory> <optional> <set> <string> <vector>)

# neliroute_precompile(target source): target is compiled with the precompiled headers of source,
# "rooms" or "tests", which must have the same options: a precompiled header that does not fit is
# an error (-Winvalid-pch).
function(neliroute_precompile target source)
  if(NELIROUTE_PRECOMPILE)
    target_compile_definitions(${target} PRIVATE ${neliroute_asio_definitions})
    target_precompile_headers(${target} REUSE_FROM neliroute_precompiled_${source})
    if(source STREQUAL "tests")  # programs: they need what the headers only declare
      target_link_libraries(${target} PRIVATE neliroute::asio)
    endif()
  endif()
endfunction()

function(neliroute_precompiled name)
  if(NELIROUTE_PRECOMPILE)
    set(target neliroute_precompiled_${name})
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc CONTENT "")
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
    target_compile_definitions(${target} PRIVATE ${neliroute_asio_definitions})
    target_link_libraries(${target} PRIVATE Boost::headers Threads::Threads)
    target_precompile_headers(${target} PRIVATE
      ${neliroute_std_headers} ${neliroute_asio_headers} ${ARGN})
    neliroute_warnings(${target})
  endif()
endfunction()
