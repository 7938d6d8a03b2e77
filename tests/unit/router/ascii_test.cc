// Names are compared whatever their case, and nothing beyond them is read.
#include "router/text/ascii.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace neliroute {
namespace {

/// A text behind which there is no memory.
class AtTheEnd {
 public:
  explicit AtTheEnd(std::string_view text)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        begin_(static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(begin_ + page_, page_, PROT_NONE);
    std::copy(text.begin(), text.end(), begin_ + page_ - text.size());
    text_ = {begin_ + page_ - text.size(), text.size()};
  }
  ~AtTheEnd() { munmap(begin_, 2 * page_); }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::size_t page_;
  char* begin_;
  std::string_view text_;
};

TEST(Ascii, names_are_the_same_whatever_their_case) {
  EXPECT_TRUE(is_same_name("Content-Length", "cONTENT-lENGTH"));
  EXPECT_TRUE(is_same_name("", ""));
  EXPECT_FALSE(is_same_name("a", "ab"));
  EXPECT_FALSE(is_same_name("a-b", "a_b"));
  EXPECT_FALSE(is_same_name("[", "{")) << "no letters";
  EXPECT_FALSE(is_same_name("\xc4", "\xe4")) << "no ASCII";
}

TEST(Ascii, nothing_behind_a_name_is_read) {
  const AtTheEnd upper("HTTP://");
  const AtTheEnd lower("http://");
  EXPECT_TRUE(is_same_name(upper.text(), lower.text()));
  EXPECT_FALSE(is_same_name(upper.text(), AtTheEnd("https:/").text()));
}

}  // namespace
}  // namespace neliroute
