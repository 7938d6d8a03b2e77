// Keeps the files of --xds-dir: the owners of all partitions as Envoy reads them (eds.json), the
// filter that finds a key's partition (neliroute.lua), and a configuration (envoy.yaml).
//
// eds.json is first written when every partition is known to have an owner or none, and one has.
// Until then what is there stays, and its owners count as the last known ones. A change is written
// at once, but not sooner than 50 ms after the change before. If a file cannot be written, that is
// reported once, and tried again each second; Envoy goes on with what it has.
//
// Threads: one (the executor's, and the watcher's).   Units: std::chrono.
// Errors: open() returns what is wrong with the folder; later ones are logged.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/observable.h>
#include <neliroute/slot_space.h>
#include <optional>
#include <string>
#include <vector>

#include "admin/envoy/known_owners.h"
#include "tool/xds/xds_options.h"

namespace neliroute::tool {

class XdsFolder : public Observer {
 public:
  /// Null if it is not requested. The options are settled. Follows what is observed from now on.
  [[nodiscard]] static Result<std::shared_ptr<XdsFolder>> open(
      const boost::asio::any_io_executor& executor, const Observable& observable,
      const XdsOptions& options);
  /// The same for an observer of whatever; the folder is given.
  [[nodiscard]] static Result<std::shared_ptr<XdsFolder>> make(
      const boost::asio::any_io_executor& executor, const SlotSpace& space,
      std::uint32_t partitions, const XdsOptions& options);
  ~XdsFolder() override;
  XdsFolder(const XdsFolder&) = delete;
  XdsFolder& operator=(const XdsFolder&) = delete;

  void on_view(const ViewChange& change) override { owners_.take(change.routes); }
  /// Whether eds.json is there and says what is known.
  [[nodiscard]] bool ready() const noexcept { return written_.has_value(); }

 private:
  struct File {
    std::string name;
    std::string text;
  };
  XdsFolder(const boost::asio::any_io_executor& executor, const SlotSpace& space,
            std::uint32_t partitions, const XdsOptions& options, int lock);

  [[nodiscard]] std::string path_of(const std::string& name) const;
  void remember_owners();
  [[nodiscard]] bool is_due() const;
  void consider();
  [[nodiscard]] Result<void> write();
  void wrote();
  void failed(const Error& error);
  void log_ready() const;

  using Clock = std::chrono::steady_clock;
  std::string folder_;
  std::string cluster_;
  int lock_;
  boost::asio::steady_timer timer_;
  admin::KnownOwners owners_;
  std::vector<File> others_;                      ///< that are still to be written
  std::optional<admin::OwnerAddresses> there_;    ///< in the file, whoever wrote it
  std::optional<admin::OwnerAddresses> written_;  ///< the same, once it was found right
  Clock::time_point next_ = Clock::time_point::min();
  bool failing_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace neliroute::tool
