// A folder for one test.
//
// Threads: one.   Units: none.   Errors: fail the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT: mkdtemp

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace neliroute::tool {

struct TemporaryFolder {
  TemporaryFolder() {
    std::string made = ::testing::TempDir() + "neliroute.XXXXXX";
    EXPECT_NE(::mkdtemp(made.data()), nullptr);
    path = made;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string of(const std::string& name) const { return path + '/' + name; }
  /// Empty if it is not there.
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(of(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(of(name), std::ios::binary) << text;
  }

  std::string path;
};

}  // namespace neliroute::tool
