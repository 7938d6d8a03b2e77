// An answer of a proxy's own: a status, and a line of text that says why.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

namespace neliroute::forward {

using TextAnswer = boost::beast::http::response<boost::beast::http::string_body>;

/// `head`: its request was a HEAD. Shared, as it must live until it is written.
[[nodiscard]] inline std::shared_ptr<TextAnswer> text_answer(unsigned status,
                                                             const std::string& text, bool head,
                                                             bool keep_alive) {
  using boost::beast::http::field;
  const auto made = std::make_shared<TextAnswer>();
  made->version(11);
  made->result(status);
  made->set(field::content_type, "text/plain; charset=utf-8");
  made->set(field::cache_control, "no-store");
  if (!keep_alive) made->set(field::connection, "close");
  if (status == 503) made->set(field::retry_after, "1");
  if (status == 405) made->set(field::allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  const std::string line = text + "\n";
  made->content_length(line.size());
  if (!head) made->body() = line;
  return made;
}

}  // namespace neliroute::forward
