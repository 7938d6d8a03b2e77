// The part of Asio that speaks TLS, compiled once, as cmake/asio.cc does with the rest.
#include <boost/asio/ssl/impl/src.hpp>
