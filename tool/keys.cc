#include "tool/keys.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/base64.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
constexpr std::string_view kExpected = "give a file with one key per line";

Error bad(const std::string& path, std::string_view what, std::string_view to_do = kExpected) {
  return {Errc::bad_option,
          "--keys " + path + ": " + std::string{what} + "; " + std::string{to_do}};
}

bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

}  // namespace

Result<std::vector<std::string>> read_keys(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    errno = 0;
    file.open(path, std::ios::binary);
  }
  std::istream& input = path == "-" ? std::cin : file;
  std::vector<std::string> keys;
  bool first = true;
  for (std::string line; std::getline(input, line); first = false) {
    if (first && is_utf16(line)) return bad(path, "it is UTF-16", "save it as UTF-8");
    if (first && line.starts_with(kUtf8Mark)) line.erase(0, kUtf8Mark.size());
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) keys.push_back(std::move(line));
  }
  if (!input.eof()) {  // it did not open, or it is a folder, or the disk is broken
    return bad(path, errno != 0 ? std::strerror(errno) : "cannot be read",
               std::string{kExpected} + ", or - for stdin");
  }
  if (keys.empty()) return bad(path, "it contains no key");
  return keys;
}

Result<std::vector<std::string>> gather_keys(std::vector<std::string> given,
                                             const KeyOptions& options) {
  if (options.file) {
    auto more = read_keys(*options.file);
    if (!more) return more.error();
    given.insert(given.end(), std::make_move_iterator(more->begin()),
                 std::make_move_iterator(more->end()));
  }
  if (given.empty()) {
    return Error{Errc::bad_option, "no key; give one or more, or --keys FILE with one per line"};
  }
  if (!options.base64) return given;
  for (std::string& key : given) {
    auto bytes = bytes_of_base64(key);
    if (!bytes) {
      return Error{Errc::bad_option, "--base64: key " + shown(key) +
                                         " is not in base64; expected A-Z, a-z, 0-9, + and /, "
                                         "padded with = to a multiple of four"};
    }
    key = std::move(*bytes);
  }
  return given;
}

}  // namespace neliroute::tool
