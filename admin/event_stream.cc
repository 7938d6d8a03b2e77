#include "admin/event_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/detail/socket_option.hpp>

namespace neliroute::admin {
namespace {

// The client is read only to notice that it has gone.
constexpr std::size_t kReceivedMax = 64 * 1024;

}  // namespace

std::string event_text(std::string_view event, std::string_view data) {
  std::string text = "event: ";
  text += event;
  text += "\ndata: ";
  text += data;
  text += "\n\n";
  return text;
}

void EventStream::start(std::string header, Kept first, std::size_t limit) {
  // A client whose machine has gone acknowledges nothing.
  using Timeout = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>;
  boost::system::error_code ignored;
  stream_.socket().set_option(Timeout(static_cast<int>(patience_.count())), ignored);
  stream_.expires_never();  // it need not send anything
  watch();
  send({std::make_shared<const std::string>(std::move(header)), nullptr}, limit);
  send(std::move(first), limit);
}

void EventStream::send(Kept kept, std::size_t limit) {
  if (closed()) return;
  queued_ += kept.text->size();
  queue_.push_back(std::move(kept));
  if (queue_.size() == 1) write();
  if (queued_ > limit) close();
}

void EventStream::write() {
  const std::string& text = *queue_.front().text;
  stream_.expires_after(patience_);  // for this write only: reading has begun already
  stream_.async_write_some(
      boost::asio::buffer(text.data() + begun_, text.size() - begun_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t sent) {
        self->on_written(error, sent);
      });
}

void EventStream::on_written(const boost::system::error_code& error, std::size_t sent) {
  if (error || closed()) {
    queue_.clear();
    return close();
  }
  begun_ += sent;
  queued_ -= sent;
  if (begun_ == queue_.front().text->size()) {
    queue_.pop_front();
    begun_ = 0;
  }
  if (!queue_.empty()) write();
}

void EventStream::watch() {
  stream_.async_read_some(
      boost::asio::buffer(ignored_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t read) {
        self->received_ += read;
        if (error || self->received_ > kReceivedMax) return self->close();
        self->watch();
      });
}

// The text that is being written is kept until on_written().
void EventStream::close() {
  place_.reset();
  stream_.close();
}

}  // namespace neliroute::admin
