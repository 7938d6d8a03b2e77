#include "tool/exec/posting.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
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

class Posting : public std::enable_shared_from_this<Posting> {
 public:
  Posting(const boost::asio::any_io_executor& executor, const NotifyUrl& url,
          const std::string& body, Posted done)
      : stream_(executor), done_(std::move(done)) {
    request_.method(http::verb::post);
    request_.target(url.target);
    request_.version(11);
    request_.set(http::field::host, url.host);
    request_.set(http::field::content_type, "application/json");
    request_.set(http::field::user_agent, "neliroute");
    request_.keep_alive(false);
    request_.body() = body;
    request_.prepare_payload();
    parser_.body_limit(kAnswerMost);
  }

  void start(const boost::asio::ip::tcp::endpoint& at, milliseconds bound) {
    stream_.expires_after(bound);  // of all of it
    stream_.async_connect(at, [self = shared_from_this()](const error_code& error) {
      if (error) return self->finish(error);
      self->send();
    });
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
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  boost::beast::flat_buffer received_{2 * kAnswerMost};
  Posted done_;
};

}  // namespace

void post_json(const boost::asio::any_io_executor& executor, const NotifyUrl& url,
               const std::string& body, milliseconds bound, Posted done) {
  std::make_shared<Posting>(executor, url, body, std::move(done))->start(url.at, bound);
}

}  // namespace neliroute::tool
