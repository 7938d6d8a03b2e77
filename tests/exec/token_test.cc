// The token of --control, and the options around it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tool/exec/control_options.h"

namespace neliroute::tool {
namespace {

/// A folder of its own, removed at the end.
struct TokenFile : testing::Test {
  TokenFile() {
    std::string name = testing::TempDir() + "token.XXXXXX";
    folder = ::mkdtemp(name.data());
    path = folder / "token";
  }
  ~TokenFile() override { std::filesystem::remove_all(folder); }
  void write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path) << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  void expect_refused(const std::string& why) const {
    const auto read = read_token(path);
    ASSERT_FALSE(read) << why;
    EXPECT_EQ(read.error().code(), Errc::bad_option);
    EXPECT_NE(read.error().message().find(why), std::string::npos) << read.error();
    EXPECT_NE(read.error().message().find(path.string()), std::string::npos) << read.error();
  }

  std::filesystem::path folder;
  std::filesystem::path path;
};

TEST_F(TokenFile, is_read_without_its_line_end) {
  for (const char* text : {"secret", "secret\n", "secret\r\n", "\n secret \n"}) {
    write(text);
    const auto read = read_token(path);
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, "secret");
  }
  write("secret", 0640);
  EXPECT_TRUE(read_token(path)) << "a group of its own may read it";
}

TEST_F(TokenFile, that_is_missing_or_says_nothing_is_refused) {
  expect_refused("cannot be read");
  for (const char* text : {"", "\n", " \t\r\n"}) {
    write(text);
    expect_refused("is empty");
  }
  for (const char* text : {"two words", "a\nb", "\x01", "\xc3\xa9"}) {
    write(text);
    expect_refused("visible ASCII");
  }
  write(std::string(5000, 'a'));
  expect_refused("longer than 4 KiB");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  expect_refused("is no file");
}

TEST_F(TokenFile, that_everybody_can_use_is_refused) {
  for (const mode_t mode : {0644U, 0604U, 0602U, 0666U}) {
    write("secret", mode);
    expect_refused("chmod 600");
  }
}

TEST_F(TokenFile, is_required_where_others_can_connect) {
  ControlOptions options;
  EXPECT_EQ(options.token(std::nullopt).value(), "") << "control is off";
  options.wanted = true;
  const auto refused = [&options](const std::optional<std::string>& http) {
    const auto read = options.token(http);
    return read ? "" : read.error().message();
  };
  EXPECT_NE(refused(std::nullopt).find("give --http"), std::string::npos);
  EXPECT_NE(refused("0.0.0.0:0").find("--control-token FILE"), std::string::npos);
  for (const char* here : {"0", ":0", "127.0.0.1:0", "[::1]:0", "localhost:0"}) {
    EXPECT_EQ(refused(here), "") << here;
  }
  write("secret\n");
  options.token_file = path;
  for (const char* any : {"0", "0.0.0.0:0"}) EXPECT_EQ(options.token(any).value(), "secret");
  options.wanted = false;
  EXPECT_NE(refused("0").find("give --control"), std::string::npos);
}

}  // namespace
}  // namespace neliroute::tool
