#include "tool/exec/one_request.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <memory>
#include <utility>

namespace neliroute::tool {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// Nobody reads what the server says besides its status; but it must be able to say it.
constexpr std::size_t kAnswerMost = 64 * 1024;

class OneRequest : public std::enable_shared_from_this<OneRequest> {
 public:
  OneRequest(boost::asio::ip::tcp::socket connected, const std::string& host,
             const std::string& target, Asked done)
      : stream_(std::move(connected)), done_(std::move(done)) {
    request_.method(http::verb::get);
    request_.target(target);
    request_.version(11);
    request_.set(http::field::host, host);
    request_.set(http::field::user_agent, "neliroute");
    request_.keep_alive(false);
    parser_.body_limit(kAnswerMost);
  }

  void start(milliseconds bound) {
    stream_.expires_after(bound);
    send();
  }

 private:
  void send() {
    http::async_write(stream_, request_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        // It may have answered without reading all of it.
                        if (error == boost::beast::error::timeout) return self->finish(error);
                        self->read();
                      });
  }
  void read() {
    http::async_read(stream_, received_, parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       // Its status is what counts, however the rest ends.
                       self->finish(self->parser_.is_header_done() ? error_code() : error);
                     });
  }
  void finish(error_code error) {
    const unsigned status = error ? 0 : parser_.get().result_int();
    stream_.close();
    done_(error, status);
  }

  boost::beast::tcp_stream stream_;
  http::request<http::empty_body> request_;
  http::response_parser<http::string_body> parser_;
  boost::beast::flat_buffer received_{2 * kAnswerMost};
  Asked done_;
};

}  // namespace

void get_status(boost::asio::ip::tcp::socket connected, const std::string& host,
                const std::string& target, milliseconds bound, Asked done) {
  std::make_shared<OneRequest>(std::move(connected), host, target, std::move(done))->start(bound);
}

}  // namespace neliroute::tool
