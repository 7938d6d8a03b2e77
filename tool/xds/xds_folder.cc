#include "tool/xds/xds_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/xds/atomic_file.h"
#include "tool/xds/envoy_sample.h"
#include "tool/xds/lua_filter.h"

namespace neliroute::tool {
namespace {

using boost::system::error_code;

constexpr std::chrono::milliseconds kApart{50};
constexpr std::chrono::milliseconds kRetry{1000};
// A file of 65,536 partitions with as many owners is a tenth of that.
constexpr std::size_t kReadMost = std::size_t{64} << 20;

constexpr const char* kEds = "eds.json";

/// The folder, locked: of two writers each would overwrite what the other one knows.
Result<int> lock_folder(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) {
    return Error{Errc::bad_option, fmt::format("--xds-dir: cannot open {}: {}", shown(folder),
                                               std::generic_category().message(errno))};
  }
  // Some file systems have no locks.
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(file);
    return Error{Errc::bad_option,
                 fmt::format("--xds-dir: another process keeps the files in {}; end it, or choose "
                             "another folder",
                             shown(folder))};
  }
  return file;
}

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char part[64 * 1024];
  while (file && text.size() <= kReadMost) {
    file.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(file.gcount()));
  }
  return text.size() <= kReadMost ? text : std::string();
}

}  // namespace

Result<std::shared_ptr<XdsFolder>> XdsFolder::open(const boost::asio::any_io_executor& executor,
                                                   const Observable& observable,
                                                   const XdsOptions& options) {
  if (!options.folder) return std::shared_ptr<XdsFolder>();
  const ObservedFacts& facts = observable.facts();
  auto made = make(executor, facts.space, facts.settings.partitions, options);
  if (made) observable.observe(*made);
  return made;
}

Result<std::shared_ptr<XdsFolder>> XdsFolder::make(const boost::asio::any_io_executor& executor,
                                                   const SlotSpace& space, std::uint32_t partitions,
                                                   const XdsOptions& options) {
  const auto lock = lock_folder(*options.folder);
  if (!lock) return lock.error();
  return std::shared_ptr<XdsFolder>(new XdsFolder(executor, space, partitions, options, *lock));
}

XdsFolder::XdsFolder(const boost::asio::any_io_executor& executor, const SlotSpace& space,
                     std::uint32_t partitions, const XdsOptions& options, int lock)
    : folder_(*options.folder),
      cluster_(options.cluster),
      lock_(lock),
      timer_(executor),
      owners_(executor, partitions,
              {[this] { consider(); },
               [](const std::string& text) { log(Severity::warning, "xds: " + text); }},
              admin::system_names(executor)) {
  others_.push_back({"neliroute.lua", lua_filter(space, partitions)});
  if (options.sample) others_.push_back({"envoy.yaml", envoy_sample(folder_, cluster_)});
  remember_owners();
  owners_.begin();
  consider();
}

XdsFolder::~XdsFolder() {
  owners_.close();
  timer_.cancel();
  ::close(lock_);
}

std::string XdsFolder::path_of(const std::string& name) const { return folder_ + '/' + name; }

// A partition that has no owner now had one before this process began, perhaps.
void XdsFolder::remember_owners() {
  const std::string text = text_in(path_of(kEds));
  if (text.empty()) return;
  there_ =
      admin::read_eds_json(text, cluster_, static_cast<std::uint32_t>(owners_.addresses().size()));
  if (there_) return owners_.remember(*there_);
  log(Severity::warning, fmt::format("xds: {} has no owners of a cluster {}; it stays until those "
                                     "are known",
                                     shown(path_of(kEds)), shown(cluster_)));
}

bool XdsFolder::is_due() const {
  if (written_) return owners_.addresses() != *written_;
  return owners_.settled() && owners_.has_owner();
}

void XdsFolder::consider() {
  if (others_.empty() && !is_due()) return;
  const auto now = Clock::now();
  if (now < next_) {
    timer_.expires_at(next_);
    timer_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const error_code& error) {
      if (!error && !alive.expired()) consider();
    });
    return;
  }
  if (const auto done = write(); done) {
    wrote();
  } else {
    failed(done.error());
  }
}

Result<void> XdsFolder::write() {
  Result<void> all;
  std::erase_if(others_, [&](const File& file) {
    auto done = replace_file(path_of(file.name), file.text);
    if (!done) all = done;
    return done.has_value();
  });
  if (!is_due()) return all;
  const admin::OwnerAddresses& owners = owners_.addresses();
  if (there_ != owners) {
    const std::vector<std::string> clusters{cluster_};
    const auto done = replace_file(
        path_of(kEds), admin::eds_json(clusters, owners, std::to_string(owners_.version())));
    if (!done) return done;
  }
  there_ = owners;
  const bool first = !written_;
  written_ = owners;
  if (first) log_ready();
  return all;
}

void XdsFolder::wrote() {
  if (written_) next_ = Clock::now() + kApart;  // the first owners are awaited
  if (!std::exchange(failing_, false)) return;
  log(Severity::info, "xds: the files in " + shown(folder_) + " are written again");
}

void XdsFolder::failed(const Error& error) {
  next_ = Clock::now() + kRetry;
  if (!std::exchange(failing_, true)) {
    log(Severity::warning, fmt::format("xds: {}; Envoy goes on with what it has, and this tries "
                                       "again each second",
                                       error.message()));
  }
  consider();  // sets the timer
}

void XdsFolder::log_ready() const {
  std::set<admin::SocketAddress> endpoints;
  std::size_t owned = 0;
  for (const auto& address : *written_) {
    if (!address) continue;
    ++owned;
    endpoints.insert(*address);
  }
  log(Severity::info, fmt::format("xds: ready: {} has the owners of {} of {} partitions, at {} "
                                  "endpoints",
                                  shown(path_of(kEds)), owned, written_->size(), endpoints.size()));
}

}  // namespace neliroute::tool
