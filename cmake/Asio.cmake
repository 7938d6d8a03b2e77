# neliroute::asio: Boost.Asio compiled once, here, instead of in every file that includes it.
# Targets that link it see only the declarations. An application that itself uses Asio header-only
# gets each function twice, inline and not, and the linker keeps one.
neliroute_room(asio
  SOURCES ${PROJECT_SOURCE_DIR}/cmake/asio.cc
  PUBLIC Boost::headers Threads::Threads)
target_compile_definitions(neliroute_asio PUBLIC BOOST_ASIO_SEPARATE_COMPILATION)
