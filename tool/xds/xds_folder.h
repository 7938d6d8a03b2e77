// Keeps the files of --xds-dir: the owners of all partitions as Envoy reads them (eds.json), the
// filter that finds a key's partition (neliroute.lua), and a configuration (envoy.yaml).
//
// eds.json is first written when an owner is known, and either every partition is known to have an
// owner or none, or the file is there with owners of the same origin: those count as the last known
// ones, and until then it stays as it is. The filter is written just before it, as nobody knows
// sooner that the settings are the owners'. A change is written at once, but not sooner than 10 ms
// after the change before. If a file cannot be written, that is reported once, and tried again each
// second; one that others removed, replaced or changed is written again when that is noticed.
// Meanwhile Envoy goes on with what it has.
//
// Threads: one (the executor's, and the watcher's), except for ready() and lacks(). Disks may hang:
// a thread of its own writes, one text after the other, each the newest.   Units: std::chrono.
// Errors: open() returns what is wrong with the folder; later ones are logged.
#pragma once

#include <neliroute/error.h>
#include <neliroute/observable.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/envoy/known_owners.h"
#include "base/side_threads.h"
#include "tool/xds/atomic_file.h"
#include "tool/xds/xds_options.h"

namespace neliroute::tool {

/// What tests replace.
struct XdsSystem {
  std::function<Result<FileId>(const std::string& path, std::string_view text)> write =
      replace_file;
  milliseconds look{30'000};     ///< whether the files are still there
  milliseconds apart{10};        ///< one change of the owners from the next
  milliseconds patience{1'000};  ///< for a write that is under way at the end
};

class XdsFolder : public Observer {
 public:
  /// Null if it is not requested. The options are settled. Follows what is observed from now on.
  [[nodiscard]] static Result<std::shared_ptr<XdsFolder>> open(
      const boost::asio::any_io_executor& executor, const Observable& observable,
      const XdsOptions& options);
  /// The same for an observer of whatever; the folder is given.
  [[nodiscard]] static Result<std::shared_ptr<XdsFolder>> make(
      const boost::asio::any_io_executor& executor, const ObservedFacts& facts,
      const XdsOptions& options, XdsSystem system = {});
  ~XdsFolder() override;
  XdsFolder(const XdsFolder&) = delete;
  XdsFolder& operator=(const XdsFolder&) = delete;

  void on_view(const ViewChange& change) override { owners_.take(change.routes); }
  /// Whether eds.json, with what was known then, and the filter have been written, or were found
  /// right. Any thread.
  [[nodiscard]] bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
  /// Why it is not; empty: it is. Any thread.
  [[nodiscard]] std::string lacks() const;
  /// Whether the thread is at work; what it did is known when it is not.
  [[nodiscard]] bool busy() const noexcept { return busy_; }

 private:
  class Lock;
  /// One that is not eds.json.
  struct File {
    std::string name;
    std::string text;
    bool of_settings = false;  ///< it says what only the owners can confirm
    bool due = true;
    std::optional<FileId> id{};  ///< as it was written, or found right
  };
  struct Task {
    std::string name;
    std::string text;
    bool unless_same = false;  ///< it stays if it has this text
    bool goes_first = false;   ///< if it cannot be written, the later ones are not
  };
  struct Done {
    std::string name;
    Result<FileId> id;
    bool differed = false;  ///< there was one with another text
  };
  XdsFolder(const boost::asio::any_io_executor& executor, const ObservedFacts& facts,
            const XdsOptions& options, XdsSystem system, std::shared_ptr<const Lock> lock);

  [[nodiscard]] std::string path_of(const std::string& name) const;
  void remember_owners();
  [[nodiscard]] bool can_tell() const;
  [[nodiscard]] bool owners_due() const;
  [[nodiscard]] bool is_due(const File& file) const;
  void consider();
  void write();
  void run_aside(const SideThreads::Job& job);
  [[nodiscard]] static std::vector<Done> carry_out(const XdsSystem& system,
                                                   const std::string& folder,
                                                   const std::vector<Task>& tasks);
  void finished(const std::vector<Done>& all, bool with_owners, admin::OwnerAddresses owners);
  void note(const Done& done);
  void wrote();
  void failed(const Error& error);
  void look_later();
  void look();
  void lost(const std::string& name);
  void log_ready() const;

  using Clock = std::chrono::steady_clock;
  std::string folder_;
  std::string cluster_;
  std::string origin_;
  XdsSystem system_;
  std::shared_ptr<const Lock> lock_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer looker_;
  SideThreads side_;
  admin::KnownOwners owners_;
  std::vector<File> others_;
  std::optional<admin::OwnerAddresses> there_;    ///< in the file, whoever wrote it
  std::optional<FileId> there_id_;                ///< that file
  std::optional<admin::OwnerAddresses> written_;  ///< the same, once it was found right
  std::atomic<bool> ready_ = false;
  bool busy_ = false;
  Clock::time_point busy_since_ = Clock::time_point::min();
  Clock::time_point next_ = Clock::time_point::min();
  std::atomic<bool> failing_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace neliroute::tool
