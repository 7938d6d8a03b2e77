#include "tool/xds/xds_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/xds/envoy_sample.h"
#include "tool/xds/found_files.h"
#include "tool/xds/lua_filter.h"

namespace neliroute::tool {
namespace {

using boost::system::error_code;

constexpr std::chrono::milliseconds kRetry{1000};

}  // namespace

/// Of two writers each would overwrite what the other one knows. A write that never ends keeps it.
class XdsFolder::Lock {
 public:
  static Result<std::shared_ptr<const Lock>> of(const std::string& folder) {
    const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) {
      return Error{Errc::bad_option, fmt::format("--xds-dir: cannot open {}: {}", shown(folder),
                                                 std::generic_category().message(errno))};
    }
    const std::shared_ptr<const Lock> made(new Lock(file));
    // Some file systems have no locks.
    if (::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return made;
    return Error{Errc::bad_option,
                 fmt::format("--xds-dir: another process keeps the files in {}; end it, or choose "
                             "another folder",
                             shown(folder))};
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  explicit Lock(int file) : file_(file) {}
  int file_;
};

Result<std::shared_ptr<XdsFolder>> XdsFolder::open(const boost::asio::any_io_executor& executor,
                                                   const Observable& observable,
                                                   const XdsOptions& options) {
  if (!options.folder) return std::shared_ptr<XdsFolder>();
  auto made = make(executor, observable.facts(), options);
  if (made) observable.observe(*made);
  return made;
}

Result<std::shared_ptr<XdsFolder>> XdsFolder::make(const boost::asio::any_io_executor& executor,
                                                   const ObservedFacts& facts,
                                                   const XdsOptions& options, XdsSystem system) {
  auto lock = Lock::of(*options.folder);
  if (!lock) return lock.error();
  // Another process may have written there since the options were checked.
  if (const auto found = check_found(options); !found) return found.error();
  return std::shared_ptr<XdsFolder>(
      new XdsFolder(executor, facts, options, std::move(system), std::move(*lock)));
}

XdsFolder::XdsFolder(const boost::asio::any_io_executor& executor, const ObservedFacts& facts,
                     const XdsOptions& options, XdsSystem system, std::shared_ptr<const Lock> lock)
    : folder_(*options.folder),
      cluster_(options.cluster),
      origin_(admin::origin_of(facts)),
      system_(std::move(system)),
      lock_(std::move(lock)),
      timer_(executor),
      looker_(executor),
      side_(executor, 1),
      owners_(executor, facts.settings.partitions,
              {[this] { consider(); },
               [](const std::string& text) { log(Severity::warning, "xds: " + text); }},
              admin::find_by_system(executor)) {
  if (options.sample) {
    others_.push_back({.name = kSampleFile, .text = envoy_sample(folder_, cluster_)});
  }
  others_.push_back({.name = kLuaFile,
                     .text = lua_filter(facts.space, facts.settings.partitions),
                     .of_settings = true});
  remember_owners();
  owners_.begin();
  look_later();
  consider();
}

XdsFolder::~XdsFolder() {
  owners_.close();
  timer_.cancel();
  looker_.cancel();
  side_.close(system_.patience);
}

std::string XdsFolder::path_of(const std::string& name) const { return folder_ + '/' + name; }

// A partition that has no owner now had one before this process began, perhaps.
void XdsFolder::remember_owners() {
  const std::string path = path_of(kEdsFile);
  const auto text = found_text(path);
  if (!text || text->empty()) return;
  auto found =
      admin::read_eds_json(*text, cluster_, static_cast<std::uint32_t>(owners_.addresses().size()));
  if (!found) return;
  if (found->origin == origin_) {
    there_id_ = file_at(path);
    there_ = std::move(found->owners);
    return owners_.remember(*there_);
  }
  log(Severity::warning,
      fmt::format("xds: {} has the owners of {}, and not of {} (topic, lane, slots, partitions, "
                  "hash); it stays until those are known",
                  shown(path), shown(found->origin), shown(origin_)));
}

bool XdsFolder::can_tell() const {
  return owners_.has_owner() && owners_.settled();
}

bool XdsFolder::owners_due() const {
  if (!written_) return can_tell();
  return !there_ || owners_.addresses() != *written_;
}

bool XdsFolder::is_due(const File& file) const {
  return file.due && (!file.of_settings || written_ || can_tell());
}

void XdsFolder::consider() {
  if (busy_) return;  // its end considers what is new
  const bool other = std::any_of(others_.begin(), others_.end(),
                                 [this](const File& file) { return is_due(file); });
  if (!other && !owners_due()) return;
  if (Clock::now() >= next_) return write();
  timer_.expires_at(next_);
  timer_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const error_code& error) {
    if (!error && !alive.expired()) consider();
  });
}

void XdsFolder::write() {
  std::vector<Task> tasks;
  for (const File& file : others_) {
    // Keys must not be sent to partitions by another rule than that of the owners.
    if (is_due(file)) tasks.push_back({file.name, file.text, true, file.of_settings && !written_});
  }
  const bool with_owners = owners_due();
  admin::OwnerAddresses owners = owners_.addresses();
  if (with_owners && there_ != owners) {
    const std::vector<std::string> clusters{cluster_};
    tasks.push_back(
        {kEdsFile, admin::eds_json(clusters, owners, std::to_string(owners_.version()), origin_)});
  }
  run_aside([this, system = system_, folder = folder_, lock = lock_, tasks = std::move(tasks),
             with_owners, owners = std::move(owners)]() mutable -> SideThreads::Then {
    return
        [this, all = carry_out(system, folder, tasks), with_owners,
         owners = std::move(owners)]() mutable { finished(all, with_owners, std::move(owners)); };
  });
}

void XdsFolder::run_aside(const SideThreads::Job& job) {
  busy_ = true;
  busy_since_ = Clock::now();
  if (side_.run(job)) return;
  // The system has no thread left: a disk rarely hangs.
  boost::asio::post(timer_.get_executor(), [then = job(), alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) then();
  });
}

// On the thread of its own.
std::vector<XdsFolder::Done> XdsFolder::carry_out(const XdsSystem& system,
                                                  const std::string& folder,
                                                  const std::vector<Task>& tasks) {
  std::vector<Done> all;
  for (const Task& task : tasks) {
    const std::string path = folder + '/' + task.name;
    bool differed = false;
    if (task.unless_same) {
      const auto found = found_text(path);
      const auto id = file_at(path);
      if (found && id && *found == task.text) {
        all.push_back({task.name, *id});
        continue;
      }
      differed = found && !found->empty();
    }
    all.push_back({task.name, system.write(path, task.text), differed});
    if (!all.back().id && task.goes_first) break;
  }
  return all;
}

void XdsFolder::finished(const std::vector<Done>& all, bool with_owners,
                         admin::OwnerAddresses owners) {
  busy_ = false;
  std::optional<Error> trouble;
  for (const Done& done : all) {
    if (done.id) {
      note(done);
    } else {
      trouble = done.id.error();
    }
  }
  if (!all.empty() && all.back().name == kEdsFile && all.back().id) there_ = owners;
  const bool filter_stands =
      written_ || std::none_of(others_.begin(), others_.end(),
                               [](const File& file) { return file.of_settings && file.due; });
  if (with_owners && filter_stands && there_ == owners) {
    const bool first = !std::exchange(written_, std::move(owners));
    if (first) {
      ready_.store(true, std::memory_order_release);
      log_ready();
    }
  }
  if (trouble) return failed(*trouble);
  wrote();
}

void XdsFolder::note(const Done& done) {
  if (done.name == kEdsFile) {
    there_id_ = *done.id;
    return;
  }
  const auto file = std::find_if(others_.begin(), others_.end(),
                                 [&](const File& one) { return one.name == done.name; });
  file->due = false;
  file->id = *done.id;
  // Later ones are of somebody else, which lost() reports.
  if (!done.differed || !file->of_settings || written_) return;
  log(Severity::warning, fmt::format("xds: {} was another one; restart the Envoys that use it, as "
                                     "they read it with their configuration only",
                                     shown(path_of(done.name))));
}

void XdsFolder::wrote() {
  if (written_) next_ = Clock::now() + system_.apart;  // the first owners are awaited
  if (failing_.exchange(false)) {
    log(Severity::info, "xds: the files in " + shown(folder_) + " are written again");
  }
  consider();
}

void XdsFolder::failed(const Error& error) {
  next_ = Clock::now() + kRetry;
  if (!failing_.exchange(true)) {
    log(Severity::warning, fmt::format("xds: {}; Envoy goes on with what it has, and this tries "
                                       "again each second",
                                       error.message()));
  }
  consider();  // sets the timer
}

std::string XdsFolder::lacks() const {
  if (ready()) return "";
  return failing_ ? "the files of --xds-dir cannot be written; the log says why"
                  : "the files of --xds-dir are not written yet: they wait for an owner, and until "
                    "all partitions are known";
}

void XdsFolder::look_later() {
  looker_.expires_after(system_.look);
  looker_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const error_code& error) {
    if (error || alive.expired()) return;
    look();
    look_later();
  });
}

// Envoy may be started at any time, and needs them all then.
void XdsFolder::look() {
  if (busy_) {
    if (Clock::now() - busy_since_ < system_.look || failing_.exchange(true)) return;
    return log(Severity::warning,
               fmt::format("xds: a write to the files in {} does not end; Envoy goes on with what "
                           "it has",
                           shown(folder_)));
  }
  std::vector<std::pair<std::string, FileId>> kept;
  if (there_id_) kept.emplace_back(kEdsFile, *there_id_);
  for (const File& file : others_) {
    if (file.id && !file.due) kept.emplace_back(file.name, *file.id);
  }
  if (kept.empty()) return;
  run_aside([this, folder = folder_, lock = lock_, kept]() -> SideThreads::Then {
    std::vector<std::string> names;
    for (const auto& [name, id] : kept) {
      if (file_at(folder + '/' + name) != id) names.push_back(name);
    }
    return [this, names] {
      busy_ = false;
      for (const std::string& name : names) lost(name);
      consider();
    };
  });
}

void XdsFolder::lost(const std::string& name) {
  log(Severity::warning, fmt::format("xds: {} was removed, replaced or changed by somebody else; "
                                     "it is written again",
                                     shown(path_of(name))));
  if (name == kEdsFile) {
    there_.reset();
    there_id_.reset();
    return;
  }
  for (File& file : others_) {
    if (file.name == name) file.due = true;
  }
}

void XdsFolder::log_ready() const {
  std::set<admin::SocketAddress> endpoints;
  std::size_t owned = 0;
  for (const auto& address : *written_) {
    if (!address) continue;
    ++owned;
    endpoints.insert(*address);
  }
  log(Severity::info,
      fmt::format("xds: ready: {} has the owners of {} of {} partitions, at {} "
                  "endpoints",
                  shown(path_of(kEdsFile)), owned, written_->size(), endpoints.size()));
}

}  // namespace neliroute::tool
