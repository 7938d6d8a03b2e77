# One static library a room, all made alike.
#
#   neliroute_room(<name> SOURCES ... [PUBLIC ...] [PRIVATE ...] [BUNDLE_RDKAFKA] [PRECOMPILED])
#
# makes neliroute_<name>, alias neliroute::<name>, with warnings as errors; Install.cmake
# names those that are installed. What users include stands in include/; a room's own headers are
# private. PUBLIC and PRIVATE are libraries to link: a new one must be found in Dependencies.cmake
# and again in neliroute-config.cmake.in.
# BUNDLE_RDKAFKA puts librdkafka inside, see Rdkafka.cmake. PRECOMPILED is for rooms that use Asio,
# see Precompiled.cmake.

function(neliroute_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room
    "BUNDLE_RDKAFKA;PRECOMPILED" "" "SOURCES;PUBLIC;PRIVATE")
  if(room_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "neliroute_room(${name}): what is ${room_UNPARSED_ARGUMENTS}?")
  endif()
  set(target neliroute_${name})
  set(compiled ${target})
  if(room_BUNDLE_RDKAFKA)
    set(compiled ${target}_objects)
    add_library(${compiled} OBJECT ${room_SOURCES})
    target_include_directories(${compiled} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${compiled}
      PUBLIC ${room_PUBLIC} PRIVATE ${room_PRIVATE} neliroute_rdkafka_headers)
    neliroute_bundle_rdkafka(${target} ${compiled})
  else()
    add_library(${target} STATIC ${room_SOURCES})
  endif()
  add_library(neliroute::${name} ALIAS ${target})
  neliroute_warnings(${compiled})
  if(room_PRECOMPILED)
    neliroute_precompile(${compiled} rooms)
  endif()
  # The pure rooms compute, in long simulations too; for the others compiling takes longest.
  if(NELIROUTE_SANITIZE
      AND name MATCHES "^(slots|placement|neli_core|quorum|audit|bench_placements)$")
    target_compile_options(${compiled} PRIVATE
      -O1 $<$<BOOL:${NELIROUTE_FUZZ}>:-fsanitize=fuzzer-no-link>)
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${room_PUBLIC} PRIVATE ${room_PRIVATE})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
endfunction()

# What the compilers of Debian 12 cannot do with coroutines: GCC takes what they keep for a header's
# where a unity build includes their source, and clang cannot assemble checks of functions' types.
# Of a room, or of a program that has some itself.
function(neliroute_uses_coroutines name)
  set(target ${name})
  if(TARGET neliroute_${name})
    set(target neliroute_${name})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  elseif(NELIROUTE_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=function)
  endif()
endfunction()
