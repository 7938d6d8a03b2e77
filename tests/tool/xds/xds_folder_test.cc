// When the files for an Envoy are written, and when not.
#include "tool/xds/xds_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/tool/xds/temporary_folder.h"
#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kEds = "eds.json";

struct Rig {
  Rig() {
    divert_log([this](std::string_view line) { said.emplace_back(line); });
    options.folder = folder.path;
  }
  ~Rig() {
    close();
    divert_log({});
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  void open() {
    auto made = XdsFolder::make(io.get_executor(), SlotSpace(SlotCount{64}), 4, options);
    ASSERT_TRUE(made) << made.error().message();
    files = std::move(*made);
  }
  void close() { files.reset(); }
  /// An owner for each partition; "": nobody owns it, "?": unknown.
  void tell(const std::vector<std::string>& endpoints) {
    std::vector<ChangedRoute> routes;
    for (std::uint32_t p = 0; p < endpoints.size(); ++p) {
      ObservedRoute route;
      route.verdict = endpoints[p].empty()  ? Verdict::unowned
                      : endpoints[p] == "?" ? Verdict::unknown
                                            : Verdict::remote;
      if (route.verdict == Verdict::remote) {
        route.owner = std::make_shared<const Peer>(Peer{ProcessId{1}, {"p", endpoints[p], {}}});
      }
      routes.push_back({Partition{p}, route});
    }
    files->on_view({LocalTime{}, ++version, 0, routes});
  }
  void run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_one_for(1s);
    }
    ASSERT_TRUE(condition());
  }
  /// "10.0.0.1 - ..": what the file says.
  [[nodiscard]] std::string owners() const {
    const auto read = admin::read_eds_json(folder.text(kEds), options.cluster, 4);
    std::string text;
    for (const auto& one : read.value_or(admin::OwnerAddresses{})) {
      text += (text.empty() ? "" : " ") + (one ? one->ip : "-");
    }
    return text;
  }
  /// Another one is another file.
  [[nodiscard]] ino_t file() const {
    struct stat found {};
    return ::stat(folder.of(kEds).c_str(), &found) == 0 ? found.st_ino : 0;
  }

  TemporaryFolder folder;
  boost::asio::io_context io;
  XdsOptions options;
  std::shared_ptr<XdsFolder> files;
  std::vector<std::string> said;
  std::uint64_t version = 0;
};

constexpr const char* kA = "10.0.0.1:80";
constexpr const char* kB = "10.0.0.2:80";

TEST(XdsFolderTest, WritesWhatEnvoyNeedsBesideTheOwnersAtOnce) {
  Rig rig;
  rig.options.sample = true;
  rig.options.cluster = "our \"own\"";
  rig.open();
  EXPECT_THAT(rig.folder.text("neliroute.lua"), HasSubstr("envoy_on_request"));
  const std::string sample = rig.folder.text("envoy.yaml");
  EXPECT_THAT(sample, HasSubstr("path: \"" + rig.folder.path + "/eds.json\""));
  EXPECT_THAT(sample, HasSubstr("{filename: \"" + rig.folder.path + "/neliroute.lua\"}"));
  EXPECT_THAT(sample, HasSubstr(R"(service_name: "our \"own\"")"));
  const auto mark = sample.find("@");
  EXPECT_EQ(sample.substr(mark, 5), "@type");
  for (const char* name : {"@KEY", "@PARTITION", "@EDS", "@LUA", "@FOLDER", "@CLUSTER", "@API"}) {
    EXPECT_EQ(sample.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(rig.file(), 0u);
  rig.close();
  rig.options.sample = false;
  std::filesystem::remove(rig.folder.of("envoy.yaml"));
  rig.open();
  EXPECT_FALSE(std::filesystem::exists(rig.folder.of("envoy.yaml")));
}

TEST(XdsFolderTest, WritesOwnersOnceAllAreKnownAndThereAreAny) {
  Rig rig;
  rig.open();
  rig.tell({"", "", "", ""});
  EXPECT_EQ(rig.file(), 0u) << "a file without owners would make Envoy refuse everything";
  rig.tell({kA, "?", "?", "?"});
  EXPECT_EQ(rig.owners(), "10.0.0.1 - - -") << "the others are known to be unowned";
  EXPECT_TRUE(rig.files->ready());
  EXPECT_THAT(rig.said, ElementsAre(HasSubstr("owners of 1 of 4 partitions, at 1 endpoints")));
  Rig other;
  other.open();
  other.tell({kA, kA, kA, "?"});
  EXPECT_EQ(other.file(), 0u);
  EXPECT_FALSE(other.files->ready());
  other.tell({kA, kA, kA, ""});
  EXPECT_EQ(other.owners(), "10.0.0.1 10.0.0.1 10.0.0.1 -");
}

TEST(XdsFolderTest, KeepsWhatIsThereUntilItKnowsBetter) {
  Rig rig;
  rig.open();
  rig.tell({kA, kA, kA, kA});
  rig.close();
  const auto old = rig.file();
  rig.said.clear();
  rig.open();
  rig.tell({"?", "", "", kB});
  EXPECT_EQ(rig.file(), old);
  rig.tell({"", "", "", kB});
  EXPECT_EQ(rig.owners(), "10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.2") << "who had them last";
  rig.close();
  const auto newer = rig.file();
  rig.open();
  rig.tell({kA, kA, kA, kB});
  EXPECT_TRUE(rig.files->ready());
  EXPECT_EQ(rig.file(), newer) << "it said that already";
  EXPECT_EQ(rig.said.size(), 2u);
  rig.close();
  for (const std::string& text :
       {std::string("no JSON"), std::string(R"({"resources":[]})"), std::string(1000, '[')}) {
    rig.folder.write(kEds, text);
    rig.said.clear();
    rig.open();
    EXPECT_THAT(rig.said, ElementsAre(HasSubstr("has no owners of a cluster neliroute")));
    rig.tell({"", "", "", ""});
    EXPECT_EQ(rig.folder.text(kEds), text);
    rig.tell({kA, "", "", ""});
    EXPECT_EQ(rig.owners(), "10.0.0.1 - - -");
    rig.close();
  }
}

TEST(XdsFolderTest, WritesMovesTogetherAndOnlyThose) {
  Rig rig;
  rig.open();
  rig.tell({kA, kA, kA, kA});
  const auto first = rig.file();
  for (int turn = 0; turn < 100; ++turn) rig.tell({kB, kA, turn % 2 == 0 ? kB : kA, ""});
  EXPECT_EQ(rig.file(), first) << "another one was written just now";
  rig.run_until([&] { return rig.file() != first; });
  EXPECT_EQ(rig.owners(), "10.0.0.2 10.0.0.1 10.0.0.1 10.0.0.1");
  const auto second = rig.file();
  rig.tell({kB, "", kB, ""});
  rig.tell({kB, kA, kA, ""});  // and back
  boost::asio::steady_timer later(rig.io, 200ms);
  bool passed = false;
  later.async_wait([&](boost::system::error_code) { passed = true; });
  rig.run_until([&] { return passed; });
  EXPECT_EQ(rig.file(), second) << "nothing has changed";
}

TEST(XdsFolderTest, TriesAgainAndReportsOnce) {
  Rig rig;
  std::filesystem::create_directory(rig.folder.of("eds.json.tmp"));
  rig.open();
  rig.tell({kA, kA, kA, kA});
  rig.tell({kB, kA, kA, kA});
  EXPECT_FALSE(rig.files->ready());
  boost::asio::steady_timer later(rig.io, 1100ms);
  bool passed = false;
  later.async_wait([&](boost::system::error_code) { passed = true; });
  rig.run_until([&] { return passed; });
  EXPECT_THAT(rig.said, ElementsAre(HasSubstr("cannot write")));
  EXPECT_THAT(rig.said[0], HasSubstr(rig.folder.of("eds.json.tmp")));
  std::filesystem::remove(rig.folder.of("eds.json.tmp"));
  rig.run_until([&] { return rig.files->ready(); });
  EXPECT_EQ(rig.owners(), "10.0.0.2 10.0.0.1 10.0.0.1 10.0.0.1");
  EXPECT_THAT(rig.said.back(), HasSubstr("written again"));
  EXPECT_EQ(rig.said.size(), 3u);
  std::filesystem::remove_all(rig.folder.path);
  rig.tell({kB, kB, kA, kA});
  rig.run_until([&] { return rig.said.size() == 4; });
  std::filesystem::create_directory(rig.folder.path);
  rig.run_until([&] { return rig.owners() == "10.0.0.2 10.0.0.2 10.0.0.1 10.0.0.1"; });
}

TEST(XdsFolderTest, IsKeptByOneProcess) {
  Rig rig;
  rig.open();
  const auto second =
      XdsFolder::make(rig.io.get_executor(), SlotSpace(SlotCount{64}), 4, rig.options);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("another process keeps the files in"));
  rig.close();
  EXPECT_TRUE(XdsFolder::make(rig.io.get_executor(), SlotSpace(SlotCount{64}), 4, rig.options));
}

TEST(XdsFolderTest, LeavesNothingBehindThatRuns) {
  Rig rig;
  rig.open();
  rig.tell({kA, kA, kA, kA});
  rig.tell({kB, kA, kA, kA});
  rig.close();
  rig.io.run_for(200ms);
  EXPECT_EQ(rig.owners(), "10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.1");
  EXPECT_THAT(rig.said, ElementsAre(HasSubstr("ready")));
}

TEST(XdsOptionsTest, AreCheckedTogether) {
  const TemporaryFolder folder;
  XdsOptions options;
  EXPECT_TRUE(options.settle());
  options.sample = true;
  EXPECT_THAT(options.settle().error().message(), HasSubstr("need --xds-dir"));
  options.folder = folder.of("none");
  EXPECT_THAT(options.settle().error().message(), HasSubstr("is no folder"));
  folder.write("file", "");
  options.folder = folder.of("file");
  EXPECT_THAT(options.settle().error().message(), HasSubstr("is no folder"));
  std::filesystem::create_directory(folder.of("\xff"));
  options.folder = folder.of("\xff");
  EXPECT_THAT(options.settle().error().message(), HasSubstr("is not UTF-8"));
  options.folder = folder.path + "/./x/..//";
  std::filesystem::create_directory(folder.of("x"));
  ASSERT_TRUE(options.settle());
  EXPECT_EQ(options.folder, folder.path);
  options.folder = ".";
  ASSERT_TRUE(options.settle());
  EXPECT_EQ(options.folder, std::filesystem::current_path().native());
}

}  // namespace
}  // namespace neliroute::tool
