// Beast's parser of a message whose body is taken in parts, and what reads such a body.
//
// Trailers are dropped: Beast would put them among the fields of the head, where they would count
// as such. Chunk extensions and trailers of a message have at most kNotesMost bytes together.
//
// Threads: one (an executor of its own).   Units: bytes.
// Errors: http::error::buffer_overflow: there are more of them.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "forward/stream.h"

namespace neliroute::forward {

/// What is read and passed on at a time.
inline constexpr std::size_t kPart = std::size_t{16} * 1024;
inline constexpr std::size_t kNotesMost = std::size_t{4} * 1024;

using BodyBuffer = boost::beast::http::buffer_body;
/// What is parsed next of a body goes there, as far as there is room.
template <class Bytes>
void give_room(BodyBuffer::value_type& body, Bytes& room) {
  body.data = room.data();
  body.size = room.size();
}

template <bool kIsRequest>
class MessageParser : public boost::beast::http::parser<kIsRequest, BodyBuffer> {
 public:
  using Error = boost::system::error_code;

  /// The header, or the next piece of a body, if all of it has come; else http::error::need_more.
  [[nodiscard]] Error take(boost::beast::flat_buffer& received) {
    namespace http = boost::beast::http;
    constexpr std::size_t kChunkLine = 64;  // without its extensions
    Error error = http::error::need_more;
    if (received.size() > 0) received.consume(this->put(received.data(), error));
    const bool is_short = !this->is_header_done() || received.size() <= kNotesMost + kChunkLine;
    return error != http::error::need_more || is_short ? error : http::error::buffer_overflow;
  }
  /// What has come of the body, as far as there is room; no error: it is done, or nothing is left.
  [[nodiscard]] Error take_body(boost::beast::flat_buffer& received) {
    Error error;
    while (!error && received.size() > 0 && !this->is_done()) error = take(received);
    return error;
  }

 private:
  using string_view = boost::beast::string_view;

  void on_field_impl(boost::beast::http::field name, string_view text, string_view value,
                     Error& error) override {
    constexpr std::size_t kMarks = 4;  // ": " and the line's end
    if (this->is_header_done()) return count(text.size() + value.size() + kMarks, error);
    this->get().insert(name, text, value);
  }
  void on_chunk_header_impl(std::uint64_t, string_view extensions, Error& error) override {
    count(extensions.size(), error);
  }
  void count(std::size_t bytes, Error& error) {
    notes_ += bytes;
    if (notes_ > kNotesMost) error = boost::beast::http::error::buffer_overflow;
  }

  std::size_t notes_ = 0;
};

/// Reads until a part of the body is there, or its end: then calls `then`, never from inside.
/// need_buffer: there is no room for what has come.
template <bool kIsRequest>
void read_body(Stream& stream, boost::beast::flat_buffer& received,
               MessageParser<kIsRequest>& parser, Stream::Moved then) {
  using Error = boost::system::error_code;
  constexpr std::size_t kReadMost = std::size_t{64} * 1024;
  const std::size_t room = parser.get().body().size;
  const auto taken = [&received, &parser, room](Error& error) {
    error = parser.take_body(received);
    if (error == boost::beast::http::error::need_more) error = {};
    return error || parser.is_done() || parser.get().body().size < room;
  };
  if (Error error; taken(error)) {
    return boost::asio::post(stream.get_executor(),
                             [then = std::move(then), error] { then(error, 0); });
  }
  stream.async_read_some(
      received.prepare(boost::beast::read_size(received, kReadMost)),
      Stream::Moved([&stream, &received, &parser, taken, then = std::move(then)](
                        Error error, std::size_t count) mutable {
        received.commit(count);
        if (error == boost::asio::error::eof) {
          parser.put_eof(error);
          return then(error, 0);
        }
        if (error || taken(error)) return then(error, 0);
        read_body(stream, received, parser, std::move(then));
      }));
}

}  // namespace neliroute::forward
