// The bodies of Boost.Asio's functions; see Asio.cmake.
#include <boost/asio/impl/src.hpp>
