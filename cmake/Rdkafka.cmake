# librdkafka: the one that scripts/setup built ("bundled"), or the system's.
#
# neliroute_rdkafka_headers  its headers, and the definitions NELIROUTE_RDKAFKA_VERSION (a string)
#                            and NELIROUTE_RDKAFKA_BUNDLED (0 or 1)
# neliroute_rdkafka_dep      the library as it is, for tests that call it themselves
# NELIROUTE_RDKAFKA_KIND, NELIROUTE_RDKAFKA_VERSION  what was chosen
set(NELIROUTE_RDKAFKA auto CACHE STRING "librdkafka: auto, bundled or system")
set_property(CACHE NELIROUTE_RDKAFKA PROPERTY STRINGS auto bundled system)
set(neliroute_deps $ENV{NELIROUTE_DEPS})
if(NOT neliroute_deps)
  set(neliroute_deps $ENV{HOME}/.cache/neliroute)
endif()
set(NELIROUTE_DEPS ${neliroute_deps} CACHE PATH "Where scripts/setup puts librdkafka")

set(neliroute_rdkafka_prefix ${NELIROUTE_DEPS}/librdkafka-2.15.1)
if(NELIROUTE_SANITIZE MATCHES "thread" AND NOT NELIROUTE_RDKAFKA STREQUAL "system")
  if(EXISTS ${neliroute_rdkafka_prefix}-tsan/recipe)
    set(neliroute_rdkafka_prefix ${neliroute_rdkafka_prefix}-tsan)
  else()
    message(WARNING "No librdkafka with ThreadSanitizer in ${NELIROUTE_DEPS}: expect false alarms. "
      "Run scripts/setup --tests.")
  endif()
endif()
pkg_check_modules(rdkafka QUIET IMPORTED_TARGET rdkafka>=2.0.2)

set(NELIROUTE_RDKAFKA_KIND ${NELIROUTE_RDKAFKA})
if(NELIROUTE_RDKAFKA STREQUAL "auto")
  if(EXISTS ${neliroute_rdkafka_prefix}/recipe)
    set(NELIROUTE_RDKAFKA_KIND bundled)
  elseif(rdkafka_FOUND)
    set(NELIROUTE_RDKAFKA_KIND system)
    if(rdkafka_VERSION VERSION_LESS 2.12)
      message(WARNING "librdkafka ${rdkafka_VERSION} knows only the classic group protocol and "
        "has no embedded broker. Run scripts/setup for a newer one.")
    endif()
  else()
    message(FATAL_ERROR "No librdkafka. Run scripts/setup.")
  endif()
endif()

if(NELIROUTE_RDKAFKA_KIND STREQUAL "bundled")
  if(NOT EXISTS ${neliroute_rdkafka_prefix}/recipe)
    message(FATAL_ERROR "No librdkafka in ${neliroute_rdkafka_prefix}. Run scripts/setup.")
  endif()
  file(STRINGS ${neliroute_rdkafka_prefix}/version NELIROUTE_RDKAFKA_VERSION LIMIT_COUNT 1)
  find_package(OpenSSL REQUIRED)
  find_package(ZLIB REQUIRED)
  pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
  set(neliroute_rdkafka_needs
    OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB PkgConfig::zstd Threads::Threads ${CMAKE_DL_LIBS} m rt)
  set(neliroute_rdkafka_include ${neliroute_rdkafka_prefix}/include)
  set(neliroute_rdkafka_archive ${neliroute_rdkafka_prefix}/lib/librdkafka.a)
  add_library(neliroute_rdkafka_dep STATIC IMPORTED)
  set_target_properties(neliroute_rdkafka_dep PROPERTIES
    IMPORTED_LOCATION ${neliroute_rdkafka_archive}
    INTERFACE_LINK_LIBRARIES "neliroute_rdkafka_headers;${neliroute_rdkafka_needs}")
elseif(NELIROUTE_RDKAFKA_KIND STREQUAL "system")
  if(NOT rdkafka_FOUND)
    message(FATAL_ERROR "The system has no librdkafka >= 2.0.2. Install librdkafka-dev, or run "
      "scripts/setup and configure with -DNELIROUTE_RDKAFKA=bundled.")
  endif()
  set(NELIROUTE_RDKAFKA_VERSION ${rdkafka_VERSION})
  set(neliroute_rdkafka_include ${rdkafka_INCLUDE_DIRS})
  add_library(neliroute_rdkafka_dep INTERFACE IMPORTED)
  target_link_libraries(neliroute_rdkafka_dep INTERFACE
    neliroute_rdkafka_headers PkgConfig::rdkafka)
else()
  message(FATAL_ERROR "NELIROUTE_RDKAFKA is auto, bundled or system, not ${NELIROUTE_RDKAFKA}.")
endif()

add_library(neliroute_rdkafka_headers INTERFACE IMPORTED)
target_include_directories(neliroute_rdkafka_headers INTERFACE ${neliroute_rdkafka_include})
string(COMPARE EQUAL ${NELIROUTE_RDKAFKA_KIND} bundled neliroute_rdkafka_bundled)
target_compile_definitions(neliroute_rdkafka_headers INTERFACE
  NELIROUTE_RDKAFKA_VERSION="${NELIROUTE_RDKAFKA_VERSION}"
  NELIROUTE_RDKAFKA_BUNDLED=${neliroute_rdkafka_bundled})
message(STATUS "librdkafka ${NELIROUTE_RDKAFKA_VERSION}, ${NELIROUTE_RDKAFKA_KIND}")

# neliroute_bundle_rdkafka(target objects): makes the STATIC library `target` of the OBJECT library
# `objects` and of librdkafka, whose symbols are made local: a program that links it needs no
# librdkafka, and may link its own. It is one object file, because local symbols are visible only
# within a file. <target>_plain is for tests that look inside: the same objects
# with librdkafka's symbols visible (never link both). The system's librdkafka is simply linked.
function(neliroute_bundle_rdkafka target objects)
  if(NELIROUTE_RDKAFKA_KIND STREQUAL "bundled")
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.o)
    set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_objects.txt)
    file(GENERATE OUTPUT ${list} CONTENT "$<JOIN:$<TARGET_OBJECTS:${objects}>,\n>\n")
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -D OUTPUT=${object} -D OBJECTS=${list}
        -D ARCHIVE=${neliroute_rdkafka_archive} -D LINKER=${CMAKE_LINKER} -D NM=${CMAKE_NM}
        -D OBJCOPY=${CMAKE_OBJCOPY} -P ${PROJECT_SOURCE_DIR}/cmake/bundle.cmake
      DEPENDS ${objects} $<TARGET_OBJECTS:${objects}> ${list} ${neliroute_rdkafka_archive}
        ${PROJECT_SOURCE_DIR}/cmake/bundle.cmake
      COMMENT "Bundling librdkafka into ${target}"
      VERBATIM)
    add_library(${target} STATIC ${object})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${target} PRIVATE ${neliroute_rdkafka_needs})
  else()
    add_library(${target} STATIC $<TARGET_OBJECTS:${objects}>)
    target_link_libraries(${target} PRIVATE PkgConfig::rdkafka)
  endif()
  add_library(${target}_plain INTERFACE)
  target_link_libraries(${target}_plain INTERFACE
    ${objects} $<TARGET_OBJECTS:${objects}> neliroute_rdkafka_dep)
endfunction()
