#include "tests/unit/voter/simulated_files.h"

#include <algorithm>

namespace neliroute {
namespace {

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

class SimulatedLock final : public FolderLock {
 public:
  SimulatedLock(std::set<std::string>& locked, std::string folder)
      : locked_(locked), folder_(std::move(folder)) {
    locked_.insert(folder_);
  }
  ~SimulatedLock() override { locked_.erase(folder_); }

 private:
  std::set<std::string>& locked_;
  std::string folder_;
};

/// What may be on disk of a file that was `old` at its last sync and is `now` since.
std::string survivor(const std::string& old, const std::string& now, sim::Random& chance) {
  constexpr std::size_t kSector = 16;  // small, so that short frames have several
  if (old == now || chance.percent(25)) {
    return old;
  }
  if (chance.percent(25)) {
    return now;
  }
  const auto [low, high] = std::minmax({std::ssize(old), std::ssize(now)});
  std::string mixed(static_cast<std::size_t>(chance.between(low, high)), '\0');
  for (std::size_t at = 0; at < mixed.size(); at += kSector) {
    const std::string& from = chance.percent(60) ? now : old;
    for (std::size_t i = at; i < std::min(at + kSector, mixed.size()); ++i) {
      mixed[i] = i < from.size() ? from[i] : '\0';
    }
  }
  return mixed;
}

}  // namespace

class SimulatedFile final : public File {
 public:
  using Operation = SimulatedFiles::Operation;
  SimulatedFile(SimulatedFiles& files, std::string path,
                std::shared_ptr<SimulatedFiles::Content> content)
      : files_(files), path_(std::move(path)), content_(std::move(content)) {}

  Result<void> append(std::string_view bytes) override {
    if (auto error = files_.fault(Operation::append, path_)) {
      content_->now += bytes.substr(0, bytes.size() / 2);
      return *error;
    }
    content_->now += bytes;
    return {};
  }
  Result<void> truncate(std::size_t size) override {
    if (auto error = files_.fault(Operation::truncate, path_)) {
      return *error;
    }
    content_->now.resize(size);
    content_->lost = content_->lost && size > content_->stored.size();
    return {};
  }
  Result<void> sync() override {
    if (auto error = files_.fault(Operation::sync, path_)) {
      content_->lost = !files_.stopped();
      return *error;
    }
    if (!content_->lost) {
      content_->stored = content_->now;
    }
    return {};
  }

 private:
  SimulatedFiles& files_;
  std::string path_;
  std::shared_ptr<SimulatedFiles::Content> content_;
};

std::optional<Error> SimulatedFiles::fault(Operation operation, const std::string& path) {
  if (left_ == 0) {
    return Error(Errc::system_refused, "the machine has stopped");
  }
  if (fails_ && fails_->first == operation) {
    return Error(Errc::system_refused, "`" + path + "`: " + std::exchange(fails_, {})->second);
  }
  left_ -= left_ > 0 ? 1 : 0;
  done.push_back(operation);
  return std::nullopt;
}

/// Of names. What concerns two folders is on disk when either is synced.
void SimulatedFiles::change(const std::vector<std::string>& paths,
                            const std::function<void(Names&)>& make) {
  make(names_);
  changes_.push_back({folder_of(paths.front()), make});
}

void SimulatedFiles::restart(sim::Random& chance) {
  for (const Change& change : changes_) {
    if (chance.percent(50)) {
      change.make(stored_);
    }
  }
  changes_.clear();
  names_ = stored_;
  for (auto& [path, content] : names_) {
    content->now = content->stored =
        content->lost ? content->stored : survivor(content->stored, content->now, chance);
    content->lost = false;
  }
  locked_.clear();
  left_ = -1;
}

Result<void> SimulatedFiles::make_folder(const std::string& path) {
  if (!folders_.contains(path)) {
    if (auto error = fault(Operation::make_folder, path)) {
      return *error;
    }
    folders_.insert(path);
  }
  return {};
}

Result<std::unique_ptr<FolderLock>> SimulatedFiles::lock(const std::string& folder) {
  if (locked_.contains(folder)) {
    return Error(Errc::bad_option, "`" + folder + "` is used");
  }
  return std::unique_ptr<FolderLock>(std::make_unique<SimulatedLock>(locked_, folder));
}

Result<std::vector<std::string>> SimulatedFiles::list(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& [path, content] : names_) {
    if (folder_of(path) == folder) {
      names.push_back(path.substr(folder.size() + 1));
    }
  }
  for (const std::string& path : folders_) {
    if (folder_of(path) == folder) {
      names.push_back(path.substr(folder.size() + 1));
    }
  }
  return names;
}

Result<std::string> SimulatedFiles::read(const std::string& path) {
  const auto found = names_.find(path);
  if (found == names_.end()) {
    return Error(Errc::system_refused, "`" + path + "` is not there");
  }
  return found->second->now;
}

Result<std::unique_ptr<File>> SimulatedFiles::open(const std::string& path) {
  if (auto error = fault(Operation::open, path)) {
    return *error;
  }
  if (!names_.contains(path)) {
    const auto content = std::make_shared<Content>();
    change({path}, [=](Names& names) { names[path] = content; });
  }
  return std::unique_ptr<File>(std::make_unique<SimulatedFile>(*this, path, names_.at(path)));
}

Result<void> SimulatedFiles::rename(const std::string& from, const std::string& to) {
  if (auto error = fault(Operation::rename, from)) {
    return *error;
  }
  const auto content = names_.at(from);
  change({from, to}, [=](Names& names) {
    names.erase(from);
    names[to] = content;
  });
  return {};
}

Result<void> SimulatedFiles::remove(const std::string& path) {
  if (auto error = fault(Operation::remove, path)) {
    return *error;
  }
  change({path}, [=](Names& names) { names.erase(path); });
  return {};
}

Result<void> SimulatedFiles::sync_folder(const std::string& folder) {
  if (auto error = fault(Operation::sync_folder, folder)) {
    return *error;
  }
  std::erase_if(changes_, [&](const Change& change) {
    if (change.folder != folder) {
      return false;
    }
    change.make(stored_);
    return true;
  });
  return {};
}

std::string SimulatedFiles::bytes(const std::string& path) const { return names_.at(path)->now; }

void SimulatedFiles::write(const std::string& path, const std::string& bytes) {
  auto& content = names_[path];
  content = std::make_shared<Content>(Content{bytes, bytes, false});
  stored_[path] = content;
}

void SimulatedFiles::forget(const std::string& path) {
  names_.erase(path);
  stored_.erase(path);
}

}  // namespace neliroute
