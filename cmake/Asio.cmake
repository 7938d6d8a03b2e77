# neliroute::asio: Boost.Asio and Boost.Beast compiled once, here, instead of in every file that
# includes them. Targets that link it see only the declarations. An application that itself uses
# them header-only gets each function twice, inline and not, and the linker keeps one.
neliroute_room(asio
  SOURCES ${PROJECT_SOURCE_DIR}/cmake/asio.cc ${PROJECT_SOURCE_DIR}/cmake/beast.cc
  PUBLIC Boost::headers Threads::Threads)
target_compile_definitions(neliroute_asio PUBLIC ${neliroute_asio_definitions})
# Each an object of its own, for an application that has the bodies of one of them itself.
set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/beast.cc PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON)
