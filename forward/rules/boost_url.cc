// Boost.URL, compiled once, as cmake/asio.cc does with Asio: Debian has its library in a package of
// its own.
#include <boost/url/src.hpp>
