#include "bench/routing/programs/store_link.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "bench/routing/programs/program.h"

namespace neliroute::bench {

using boost::asio::ip::tcp;
using boost::system::error_code;

StoreLink::StoreLink(boost::asio::io_context& io, const tcp::endpoint& store, std::string_view name)
    : socket_(io) {
  error_code error;
  socket_.connect(store, error);
  if (error) fail("cannot connect to the store: " + error.message());
  socket_.set_option(tcp::no_delay(true), error);
  StoreHello hello;
  name = name.substr(0, hello.name.size());
  std::copy(name.begin(), name.end(), hello.name.begin());
  append_frame(requests_, hello);
  write();
  read();
}

void StoreLink::increment(const StoreRequest& request, Handler handler) {
  append_frame(requests_, request);
  waiting_.push_back(std::move(handler));
  write();
}

void StoreLink::read() {
  socket_.async_read_some(boost::asio::buffer(chunk_), [this](error_code error, std::size_t size) {
    if (error == boost::asio::error::operation_aborted) return;
    if (error) fail("the store closed: " + error.message());
    received_.append(chunk_.data(), size);
    take_all();
    read();
  });
}

void StoreLink::take_all() {
  std::string_view rest = received_;
  while (const auto answer = take_frame<StoreAnswer>(rest)) {
    if (waiting_.empty()) fail("the store answered what nobody asked");
    const Handler handler = std::move(waiting_.front());
    waiting_.pop_front();
    handler(*answer);
  }
  received_.erase(0, received_.size() - rest.size());
}

void StoreLink::write() {
  if (!sending_.empty() || requests_.empty()) return;
  sending_.swap(requests_);
  boost::asio::async_write(socket_, boost::asio::buffer(sending_),
                           [this](error_code error, std::size_t) {
                             if (error) return;  // reading says why
                             sending_.clear();
                             write();
                           });
}

}  // namespace neliroute::bench
