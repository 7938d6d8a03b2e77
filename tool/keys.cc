#include "tool/keys.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace neliroute::tool {

Result<std::vector<std::string>> read_keys(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    errno = 0;
    file.open(path, std::ios::binary);
  }
  std::istream& input = path == "-" ? std::cin : file;
  std::vector<std::string> keys;
  for (std::string line; std::getline(input, line);) keys.push_back(std::move(line));
  if (!input.eof()) {  // it did not open, or it is a folder, or the disk is broken
    return Error{Errc::bad_option, "--keys " + path + ": " +
                                       (errno != 0 ? std::strerror(errno) : "cannot be read") +
                                       "; give a file with one key per line, or - for stdin"};
  }
  if (keys.empty()) {
    return Error{Errc::bad_option, "--keys " + path +
                                       ": it contains no key; give a file with one key per line"};
  }
  return keys;
}

Result<std::vector<std::string>> gather_keys(std::vector<std::string> given,
                                             const std::optional<std::string>& file) {
  if (file) {
    auto more = read_keys(*file);
    if (!more) return more.error();
    given.insert(given.end(), std::make_move_iterator(more->begin()),
                 std::make_move_iterator(more->end()));
  }
  if (given.empty()) {
    return Error{Errc::bad_option, "no key; give one or more, or --keys FILE with one per line"};
  }
  return given;
}

}  // namespace neliroute::tool
