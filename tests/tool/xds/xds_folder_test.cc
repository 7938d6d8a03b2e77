// When the files for an Envoy are written, and when not.
#include "tool/xds/xds_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/tool/xds/temporary_folder.h"
#include "tool/print/log.h"
#include "tool/xds/envoy_sample.h"
#include "tool/xds/lua_filter.h"

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEds = "eds.json";
constexpr const char* kLua = "neliroute.lua";
constexpr const char* kA = "10.0.0.1:80";
constexpr const char* kB = "10.0.0.2:80";

ObservedFacts facts() {
  ObservedFacts made{.process = {},
                     .id = std::nullopt,
                     .topic = "routes",
                     .lane = Lane{0},
                     .settings = {},
                     .space = SlotSpace(SlotCount{64}),
                     .interval = std::nullopt};
  made.settings.partitions = 4;
  return made;
}

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
    auto made = XdsFolder::make(io.get_executor(), of, options, system);
    ASSERT_TRUE(made) << made.error().message();
    files = std::move(*made);
    rest();
  }
  void close() { files.reset(); }
  /// An owner for each partition; "": nobody owns it, "?": unknown. What is to be written at once
  /// is written then.
  void tell(const std::vector<std::string>& endpoints) {
    pass(endpoints);
    rest();
  }
  void pass(const std::vector<std::string>& endpoints) {
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
  void rest() {
    run_until([this] { return !files->busy(); });
  }
  void run_for(std::chrono::milliseconds time) {
    io.restart();
    io.run_for(time);
  }
  void run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_one_for(5ms);  // a thread's news are no work of this loop
    }
    ASSERT_TRUE(condition());
  }
  /// "10.0.0.1 - ..": what the file says.
  [[nodiscard]] std::string owners() const {
    const auto read = admin::read_eds_json(folder.text(kEds), options.cluster, 4);
    std::string text;
    for (const auto& one : read.value_or(admin::ReadOwners{}).owners) {
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
  ObservedFacts of = facts();
  XdsSystem system;
  std::shared_ptr<XdsFolder> files;
  std::vector<std::string> said;
  std::uint64_t version = 0;
};

TEST(XdsFolderTest, WritesASampleAtOnceIfItIsWanted) {
  Rig rig;
  rig.options.sample = true;
  rig.options.cluster = "our \"own\"";
  rig.open();
  const std::string sample = rig.folder.text("envoy.yaml");
  EXPECT_TRUE(sample.starts_with(kSampleHead)) << sample;
  EXPECT_THAT(sample, HasSubstr("path: \"" + rig.folder.path + "/eds.json\""));
  EXPECT_THAT(sample, HasSubstr("{filename: \"" + rig.folder.path + "/neliroute.lua\"}"));
  EXPECT_THAT(sample, HasSubstr(R"(service_name: "our \"own\"")"));
  const auto mark = sample.find("@");
  EXPECT_EQ(sample.substr(mark, 5), "@type");
  for (const char* name :
       {"@HEAD", "@KEY", "@PARTITION", "@EDS", "@LUA", "@FOLDER", "@CLUSTER", "@API"}) {
    EXPECT_EQ(sample.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(rig.file(), 0u);
  rig.close();
  rig.options.sample = false;
  std::filesystem::remove(rig.folder.of("envoy.yaml"));
  rig.open();
  EXPECT_FALSE(std::filesystem::exists(rig.folder.of("envoy.yaml")));
}

TEST(XdsFolderTest, WritesTheFilterOnceOwnersHaveTheseSettings) {
  Rig rig;
  rig.open();
  rig.tell({"?", "?", "?", "?"});  // as where the settings are not those of the owners
  EXPECT_FALSE(std::filesystem::exists(rig.folder.of(kLua)));
  rig.tell({kA, kA, kA, kA});
  const std::string text = rig.folder.text(kLua);
  EXPECT_THAT(text, HasSubstr("envoy_on_request"));
  EXPECT_TRUE(text.starts_with(kLuaHead)) << text;
  const auto written = file_at(rig.folder.of(kLua));
  rig.close();
  rig.open();
  rig.tell({kB, kA, kA, kA});
  EXPECT_EQ(file_at(rig.folder.of(kLua)), written) << "it says that already";
  rig.close();
  rig.said.clear();
  rig.of.space = SlotSpace(SlotCount{64}, {Hash::crc16, HashTags::off});
  rig.open();
  rig.tell({kA, kA, kA, "?"});
  EXPECT_EQ(rig.folder.text(kLua), text);
  rig.said.clear();
  rig.tell({kA, kA, kA, ""});
  EXPECT_THAT(rig.folder.text(kLua), HasSubstr("crc16"));
  EXPECT_THAT(rig.said, ElementsAre(HasSubstr("restart the Envoys"), HasSubstr("ready")));
}

TEST(XdsFolderTest, WritesNoOwnersForAnotherFilter) {
  Rig rig;
  std::filesystem::create_directory(rig.folder.of("neliroute.lua.tmp"));
  rig.open();
  rig.tell({kA, kA, kA, kA});
  EXPECT_EQ(rig.file(), 0u);
  EXPECT_FALSE(rig.files->ready());
  std::filesystem::remove(rig.folder.of("neliroute.lua.tmp"));
  rig.run_until([&] { return rig.files->ready(); });
  EXPECT_EQ(rig.owners(), "10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.1");
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
  rig.tell({"?", "", "", "?"});
  EXPECT_EQ(rig.file(), old);
  EXPECT_FALSE(rig.files->ready());
  rig.tell({"?", "", "", kB});
  EXPECT_TRUE(rig.files->ready());
  EXPECT_EQ(rig.owners(), "10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.2") << "who had them last";
  rig.close();
  const auto newer = rig.file();
  rig.open();
  rig.tell({kA, kA, kA, kB});
  EXPECT_TRUE(rig.files->ready());
  EXPECT_EQ(rig.file(), newer) << "it said that already";
  EXPECT_EQ(rig.said.size(), 2u);
}

TEST(XdsFolderTest, WaitsForWhatItNeitherKnowsNorRemembers) {
  Rig rig;
  rig.open();
  rig.tell({kA, kA, "", kA});
  rig.close();
  const auto old = rig.file();
  rig.open();
  rig.tell({"?", "?", "?", kB});
  EXPECT_FALSE(rig.files->ready()) << "of the third there is no word at all";
  EXPECT_THAT(rig.files->lacks(), HasSubstr("until all partitions are known"));
  EXPECT_EQ(rig.file(), old);
  rig.tell({"?", "?", kB, kB});
  EXPECT_TRUE(rig.files->ready());
  EXPECT_EQ(rig.owners(), "10.0.0.1 10.0.0.1 10.0.0.2 10.0.0.2");
}

TEST(XdsFolderTest, DoesNotTakeOwnersOfAnotherLaneForItsOwn) {
  for (const auto& change : std::vector<std::function<void(ObservedFacts&)>>{
           [](ObservedFacts& of) { of.topic = "others"; },
           [](ObservedFacts& of) { of.lane = Lane{1}; },
           [](ObservedFacts& of) { of.space = SlotSpace(SlotCount{128}); },
           [](ObservedFacts& of) { of.settings.partitions = 5; }}) {
    Rig rig;
    rig.open();
    rig.tell({kA, kA, kA, kA});
    rig.close();
    const auto old = rig.file();
    rig.said.clear();
    change(rig.of);
    rig.open();
    EXPECT_THAT(rig.said, ElementsAre(HasSubstr("and not of ")));
    rig.tell({kB, "?", "?", "?"});
    EXPECT_EQ(rig.file(), old) << "less than an Envoy may know already";
    std::vector<std::string> all(rig.of.settings.partitions);
    all[0] = kB;
    rig.tell(all);
    EXPECT_EQ(rig.owners(), "10.0.0.2 - - -");
  }
}

TEST(XdsFolderTest, ReplacesNoFileOfOthers) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {kLua, "function envoy_on_request(handle) end\n"},
           {"envoy.yaml", "admin: {}\n"},
           {kEds, "no JSON"},
           {kEds, R"({"resources":[]})"},
           {kEds, std::string(1000, '[')},
           {kEds, R"({"resources":[{"cluster_name":"other","endpoints":[]}]})"}}) {
    Rig rig;
    rig.options.sample = true;
    rig.folder.write(name, text);
    const auto made = XdsFolder::make(rig.io.get_executor(), rig.of, rig.options);
    ASSERT_FALSE(made) << name << text;
    EXPECT_THAT(made.error().message(), HasSubstr(rig.folder.of(name)));
    EXPECT_THAT(made.error().message(), HasSubstr("move it away"));
    EXPECT_EQ(rig.options.settle().error().message(), made.error().message()) << "asks no broker";
    EXPECT_EQ(rig.folder.text(name), text);
    rig.folder.write(name, "");
    rig.open();
    rig.tell({kA, kA, kA, kA});
    EXPECT_EQ(rig.owners(), "10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.1") << "nothing was in it";
    rig.close();
  }
  Rig rig;
  rig.folder.write("envoy.yaml", "admin: {}\n");
  rig.open();
  std::filesystem::create_directories(rig.folder.of("eds.json/x"));
  EXPECT_THAT(rig.options.settle().error().message(), HasSubstr("something else than a file"));
}

TEST(XdsFolderTest, WritesMovesTogetherAndOnlyThose) {
  Rig rig;
  rig.system.apart = 300ms;
  rig.open();
  rig.tell({kA, kA, kA, kA});
  const auto first = rig.file();
  for (int turn = 0; turn < 100; ++turn) rig.pass({kB, kA, turn % 2 == 0 ? kB : kA, ""});
  EXPECT_EQ(rig.file(), first) << "another one was written just now";
  rig.run_until([&] { return rig.file() != first; });
  EXPECT_EQ(rig.owners(), "10.0.0.2 10.0.0.1 10.0.0.1 10.0.0.1");
  const auto second = rig.file();
  rig.tell({kB, "", kB, ""});
  rig.tell({kB, kA, kA, ""});  // and back
  rig.run_for(500ms);
  EXPECT_EQ(rig.file(), second) << "nothing has changed";
}

TEST(XdsFolderTest, TriesAgainAndReportsOnce) {
  Rig rig;
  std::filesystem::create_directory(rig.folder.of("eds.json.tmp"));
  rig.open();
  rig.tell({kA, kA, kA, kA});
  rig.tell({kB, kA, kA, kA});
  EXPECT_FALSE(rig.files->ready());
  rig.run_for(1100ms);
  EXPECT_THAT(rig.said, ElementsAre(HasSubstr("cannot write")));
  EXPECT_THAT(rig.said[0], HasSubstr(rig.folder.of("eds.json.tmp")));
  EXPECT_THAT(rig.files->lacks(), HasSubstr("cannot be written; the log says why"));
  std::filesystem::remove(rig.folder.of("eds.json.tmp"));
  rig.run_until([&] { return rig.files->ready(); });
  EXPECT_EQ(rig.files->lacks(), "");
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
  const auto second = XdsFolder::make(rig.io.get_executor(), rig.of, rig.options);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("another process keeps the files in"));
  rig.close();
  EXPECT_TRUE(XdsFolder::make(rig.io.get_executor(), rig.of, rig.options));
}

TEST(XdsFolderTest, WritesAgainWhatOthersRemovedOrReplaced) {
  Rig rig;
  rig.system.look = 20ms;
  rig.options.sample = true;
  rig.open();
  rig.tell({kA, kA, kA, kA});
  rig.run_for(100ms);
  EXPECT_THAT(rig.said, Not(Contains(HasSubstr("removed")))) << "all are there";
  for (const char* name : {kEds, kLua, "envoy.yaml"}) {
    const std::string text = rig.folder.text(name);
    std::filesystem::remove(rig.folder.of(name));
    rig.run_until([&] { return rig.folder.text(name) == text; });
    rig.folder.write("other", "of somebody else");
    std::filesystem::rename(rig.folder.of("other"), rig.folder.of(name));
    rig.run_until([&] { return rig.folder.text(name) == text; });
    EXPECT_THAT(rig.said, Contains(HasSubstr(rig.folder.of(name) + " was removed, replaced")));
    rig.folder.write(name, "of somebody else, in the same file");
    rig.run_until([&] { return rig.folder.text(name) == text; });
  }
}

/// Writes that end when the test lets them.
struct Disk {
  std::mutex mutex;
  std::condition_variable changed;
  bool hangs = true;
  std::vector<std::string> texts;

  Result<FileId> write(const std::string& path, std::string_view text) {
    std::unique_lock lock(mutex);
    texts.emplace_back(text);
    changed.notify_all();
    changed.wait_for(lock, 60s, [this] { return !hangs; });
    return replace_file(path, text);
  }
  void go_on() {
    const std::lock_guard lock(mutex);
    hangs = false;
    changed.notify_all();
  }
  [[nodiscard]] std::size_t begun() {
    const std::lock_guard lock(mutex);
    return texts.size();
  }
};

TEST(XdsFolderTest, IsNotHeldUpByADiskThatHangs) {
  Rig rig;
  rig.open();
  rig.tell({kA, kA, kA, kA});
  rig.close();
  const auto disk = std::make_shared<Disk>();
  rig.system.write = [disk](const std::string& path, std::string_view text) {
    return disk->write(path, text);
  };
  rig.system.look = 20ms;
  rig.system.patience = 20ms;
  rig.said.clear();
  rig.open();
  rig.pass({kB, kA, kA, kA});
  for (int turn = 0; turn < 100; ++turn) rig.pass({kB, kB, turn % 2 == 0 ? kB : kA, kA});
  rig.run_until([&] { return !rig.said.empty() && disk->begun() > 0; });
  EXPECT_THAT(rig.said, ElementsAre(HasSubstr("does not end")));
  EXPECT_EQ(disk->begun(), 1u);
  disk->go_on();
  rig.run_until([&] { return rig.owners() == "10.0.0.2 10.0.0.2 10.0.0.1 10.0.0.1"; });
  rig.rest();
  EXPECT_EQ(disk->begun(), 2u) << "only the newest of a hundred";

  disk->hangs = true;
  rig.pass({kA, kA, kA, kA});
  rig.run_until([&] { return disk->begun() == 3; });
  const auto before = std::chrono::steady_clock::now();
  rig.close();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 30s) << "the write takes 60 s";
  const auto second = XdsFolder::make(rig.io.get_executor(), rig.of, rig.options);
  ASSERT_FALSE(second) << "the write might end after one of its own";
  EXPECT_THAT(second.error().message(), HasSubstr("another process keeps the files in"));
  disk->go_on();
  rig.run_until([&] { return rig.owners() == "10.0.0.1 10.0.0.1 10.0.0.1 10.0.0.1"; });
}

TEST(XdsFolderTest, LeavesNothingBehindThatRuns) {
  Rig rig;
  rig.system.apart = 100ms;
  rig.open();
  rig.tell({kA, kA, kA, kA});
  rig.tell({kB, kA, kA, kA});
  rig.close();
  rig.run_for(200ms);
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
