#include "tests/unit/voter/server_rig.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "tests/unit/ledgers/free_port.h"
#include "voter/posix_files.h"

namespace neliroute {

class SickFiles final : public FilePort {
 public:
  Result<void> make_folder(const std::string& path) override { return files_.make_folder(path); }
  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override {
    return files_.lock(folder);
  }
  Result<std::vector<std::string>> list(const std::string& folder) override {
    return files_.list(folder);
  }
  Result<std::string> read(const std::string& path) override { return files_.read(path); }
  Result<std::unique_ptr<File>> open(const std::string& path) override {
    auto opened = files_.open(path);
    if (!opened) return opened.error();
    return std::unique_ptr<File>(std::make_unique<SickFile>(*this, std::move(*opened)));
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Result<void> remove(const std::string& path) override { return files_.remove(path); }
  Result<void> sync_folder(const std::string& folder) override {
    return files_.sync_folder(folder);
  }

  std::atomic<milliseconds> sync_takes{milliseconds{0}};
  std::atomic<bool> sync_fails{false};

 private:
  class SickFile final : public File {
   public:
    SickFile(SickFiles& files, std::unique_ptr<File> file)
        : files_(files), file_(std::move(file)) {}
    Result<void> append(std::string_view bytes) override { return file_->append(bytes); }
    Result<void> truncate(std::size_t size) override { return file_->truncate(size); }
    Result<void> sync() override {
      std::this_thread::sleep_for(files_.sync_takes.load());
      if (files_.sync_fails) return Error(Errc::system_refused, "cannot sync: the disk is broken");
      return file_->sync();
    }

   private:
    SickFiles& files_;
    std::unique_ptr<File> file_;
  };

  PosixFiles files_;
};

ServerRig::ServerRig(int voters, Change change) : change_(std::move(change)) {
  std::string name = (std::filesystem::temp_directory_path() / "neliroute-voters-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  folder_ = name;
  for (int i = 0; i < voters; ++i) {
    nodes_.push_back(std::make_unique<Node>());
    nodes_.back()->files = std::make_shared<SickFiles>();
  }
  // Distinct, and in the order of their addresses.
  std::vector<std::uint16_t> ports;
  while (ports.size() < nodes_.size()) {
    const std::uint16_t port = free_port();
    if (std::ranges::find(ports, port) == ports.end() && port >= 10'000) ports.push_back(port);
  }
  std::ranges::sort(ports);
  for (std::size_t i = 0; i < ports.size(); ++i) nodes_[i]->port = ports[i];
}

ServerRig::~ServerRig() {
  for (int i = 0; i < size(); ++i) stop(i);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

VoterServerOptions ServerRig::options(int i) const {
  VoterServerOptions made;
  made.name = "main";
  for (int one = 0; one < size(); ++one) made.voters.push_back(address(one));
  made.address = address(i);
  made.folder = (folder_ / std::to_string(i)).string();
  made.election = milliseconds(200);
  if (change_) change_(made);
  return made;
}

void ServerRig::start(int i) {
  Node& of = node(i);
  VoterServer::Handlers handlers;
  handlers.notice = [&of](const Notice& notice) {
    const std::lock_guard lock(of.mutex);
    of.notices.push_back(notice.text);
  };
  handlers.ended = [&of](const Error&) { ++of.ended; };
  auto started = VoterServer::start_on(of.files, options(i), std::move(handlers));
  ASSERT_TRUE(started) << started.error();
  of.server = std::move(*started);
}

void ServerRig::start_all() {
  for (int i = 0; i < size(); ++i) {
    if (!runs(i)) start(i);
  }
}

void ServerRig::wipe(int i) { std::filesystem::remove_all(options(i).folder); }

void ServerRig::slow_down(int i, milliseconds sync) { node(i).files->sync_takes = sync; }

void ServerRig::break_disk(int i) { node(i).files->sync_fails = true; }

std::vector<std::string> ServerRig::notices(int i) const {
  const std::lock_guard lock(node(i).mutex);
  return node(i).notices;
}

bool ServerRig::has_notice(int i, const std::string& part) const {
  return std::ranges::any_of(notices(i), [&](const std::string& text) {
    return text.find(part) != std::string::npos;
  });
}

void ServerRig::pause() { std::this_thread::sleep_for(milliseconds(5)); }

int ServerRig::leader_now(std::uint32_t log) {
  for (int i = 0; i < size(); ++i) {
    if (!runs(i)) continue;
    VoterClient client(port(i), options(i).key);
    const auto welcome = client.greet(options(i).name, log);
    if (welcome && welcome->leads) return i;
  }
  return -1;
}

int ServerRig::leader(std::uint32_t log) {
  int found = -1;
  EXPECT_TRUE(wait([&] { return (found = leader_now(log)) >= 0; })) << "nobody leads";
  return found;
}

std::unique_ptr<VoterClient> ServerRig::client(std::uint32_t log) {
  std::unique_ptr<VoterClient> client;
  const bool found = wait([&] {
    for (int i = 0; i < size(); ++i) {
      if (!runs(i)) continue;
      client = std::make_unique<VoterClient>(port(i), options(i).key);
      const auto welcome = client->greet(options(i).name, log);
      if (welcome && welcome->leads) return true;
    }
    return false;
  });
  EXPECT_TRUE(found) << "nobody leads";
  return client;
}

std::optional<quorum::Index> ServerRig::append(const std::string& record, std::uint32_t log) {
  std::optional<quorum::Index> index;
  const bool appended = wait([&] {
    const auto leader = client(log);
    if (!leader->say(quorum::AppendRecord{7, record})) return false;
    const auto said = leader->hear_one<quorum::Appended>();
    if (said) index = said->index;
    return said.has_value();
  });
  EXPECT_TRUE(appended) << record;
  return index;
}

std::optional<quorum::Answer> ServerRig::ask(const quorum::Ask& ask, std::uint32_t log) {
  std::optional<quorum::Answer> answer;
  const bool answered = wait([&] {
    const auto leader = client(log);
    if (leader->say(ask)) answer = leader->hear_one<quorum::Answer>();
    return answer.has_value();
  });
  EXPECT_TRUE(answered);
  return answer;
}

std::vector<std::string> ServerRig::records(std::uint32_t log) {
  std::vector<std::string> all;
  const auto leader = client(log);
  if (!leader->say(quorum::Ask{1, 0, std::nullopt, 0})) return all;
  const auto answer = leader->hear_one<quorum::Answer>();
  if (!answer || !leader->say(quorum::Follow{answer->first})) return all;
  for (quorum::Index next = answer->first; next < answer->end;) {
    const auto entries = leader->hear_one<quorum::Entries>();
    if (!entries) break;
    if (entries->entries.empty()) continue;
    EXPECT_EQ(entries->index, next);
    for (const quorum::Entry& entry : entries->entries) {
      if (const auto* record = std::get_if<std::string>(&entry.what)) all.push_back(*record);
    }
    next = entries->index + std::ssize(entries->entries);
  }
  return all;
}

}  // namespace neliroute
