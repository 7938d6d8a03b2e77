// The bodies of Boost.Beast's functions; see Asio.cmake.
#include <boost/beast/src.hpp>
