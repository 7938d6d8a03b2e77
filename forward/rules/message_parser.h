// Beast's parser of a message whose body is taken in parts.
//
// Trailers are dropped: Beast would put them among the fields of the head, where they would count
// as such. Chunk extensions and trailers of a message have at most kNotesMost bytes together.
//
// Threads: values, any.   Units: bytes.
// Errors: http::error::buffer_overflow: there are more of them.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>

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
    if (received.size() > 0 && !is_too_short(received)) {
      received.consume(this->put(received.data(), error));
    }
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

  /// Beast 1.81 asserts that the last chunk's line has 5 bytes when it looks at it again, and so
  /// aborts in builds with assertions if fewer came first.
  [[nodiscard]] bool is_too_short(const boost::beast::flat_buffer& received) const {
    const string_view text(static_cast<const char*>(received.data().data()), received.size());
    return text.size() < 5 && text.front() == '0' && text.find("\r\n") != text.npos &&
           this->is_header_done() && this->chunked();
  }
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

}  // namespace neliroute::forward
