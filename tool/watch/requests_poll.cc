#include "tool/watch/requests_poll.h"

#include <neliroute/time.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

#include "router/text/listen_address.h"

namespace neliroute::tool {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr milliseconds kEvery{2000};
constexpr milliseconds kBound{2000};
constexpr std::size_t kAnswerMost = std::size_t{64} * 1024;

}  // namespace

Result<std::vector<AskedPort>> parse_asked_ports(std::string_view text) {
  std::vector<AskedPort> made;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    auto found = resolve_listen(one);
    if (!found) return found.error();
    made.push_back({std::string(one), *found});
    at = end + 1;
  }
  return made;
}

struct RequestsPoll::Shared {
  OnRows on_rows;
  std::vector<RequestRow> rows;
  std::vector<std::shared_ptr<Asking>> all;

  void tell() const {
    if (on_rows) on_rows(rows);
  }
};

/// One port, asked again and again, each time on a connection of its own.
class RequestsPoll::Asking : public std::enable_shared_from_this<Asking> {
 public:
  Asking(const boost::asio::any_io_executor& executor, boost::asio::ip::tcp::endpoint at,
         std::weak_ptr<Shared> shared, std::size_t row)
      : stream_(executor),
        again_(executor),
        at_(std::move(at)),
        shared_(std::move(shared)),
        row_(row) {
    request_.method(http::verb::get);
    request_.target("/v1/requests");
    request_.version(11);
    // An address, which an admin port that is for its own machine only accepts.
    request_.set(http::field::host, address_text(at_));
    request_.set(http::field::user_agent, "neliroute");
    request_.keep_alive(false);
  }

  void ask() {
    answer_.emplace();
    answer_->body_limit(kAnswerMost);
    received_.clear();
    stream_.expires_after(kBound);  // of all of it
    stream_.async_connect(at_, [self = shared_from_this()](const error_code& error) {
      if (error) return self->lose(error.message());
      http::async_write(self->stream_, self->request_,
                        [self](const error_code& failed, std::size_t) {
                          failed ? self->lose(failed.message()) : self->read();
                        });
    });
  }
  void end() {
    again_.cancel();
    stream_.close();
  }

 private:
  void read() {
    http::async_read(stream_, received_, *answer_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       error ? self->lose(error.message()) : self->on_answer();
                     });
  }
  void on_answer() {
    const unsigned status = answer_->get().result_int();
    if (status != 200) return lose("answers " + std::to_string(status));
    auto counts = parse_request_counts(answer_->get().body());
    if (!counts) return lose("is no admin port");
    const auto shared = shared_.lock();
    if (!shared) return;
    RequestRow& row = shared->rows[row_];
    row.process = counts->process;
    row.trouble = counts->source == "none" ? "counts no requests" : "";
    rates_.take(std::move(*counts));
    row.per_second = rates_.per_second();
    rest(*shared);
  }
  void lose(std::string why) {
    const auto shared = shared_.lock();
    if (!shared) return;
    rates_.lose();
    RequestRow& row = shared->rows[row_];
    row.trouble = std::move(why);
    row.per_second = {};
    rest(*shared);
  }
  void rest(const Shared& shared) {
    stream_.close();
    again_.expires_after(kEvery);
    again_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error && !self->shared_.expired()) self->ask();
    });
    shared.tell();
  }

  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer again_;
  boost::asio::ip::tcp::endpoint at_;
  std::weak_ptr<Shared> shared_;
  std::size_t row_;
  http::request<http::empty_body> request_;
  std::optional<http::response_parser<http::string_body>> answer_;
  boost::beast::flat_buffer received_{2 * kAnswerMost};
  RequestRates rates_;
};

RequestsPoll::RequestsPoll(boost::asio::any_io_executor executor, std::vector<AskedPort> ports,
                           OnRows on_rows)
    : shared_(std::make_shared<Shared>()) {
  shared_->on_rows = std::move(on_rows);
  for (AskedPort& port : ports) {
    shared_->rows.push_back({std::move(port.text), "", "not asked yet", {}});
    shared_->all.push_back(
        std::make_shared<Asking>(executor, port.at, shared_, shared_->all.size()));
  }
  shared_->tell();
  for (const auto& one : shared_->all) one->ask();
}

RequestsPoll::~RequestsPoll() {
  shared_->on_rows = nullptr;
  for (const auto& one : shared_->all) one->end();
}

}  // namespace neliroute::tool
