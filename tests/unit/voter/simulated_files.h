// Files on a simulated disk. What was not synced survives a crash in part: each name that changed
// or not, of each file the old bytes, the new ones, or a mixture with holes.
//
// Threads: one.   Units: bytes, operations.   Errors: those that it is told to return.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/random.h"
#include "voter/file_port.h"

namespace neliroute {

class SimulatedFiles final : public FilePort {
 public:
  enum class Operation { append, truncate, sync, sync_folder, open, rename, remove, make_folder };

  Result<void> make_folder(const std::string& path) override;
  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override;
  Result<std::vector<std::string>> list(const std::string& folder) override;
  Result<std::string> read(const std::string& path) override;
  Result<std::unique_ptr<File>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_folder(const std::string& folder) override;

  /// The machine stops when so many operations more are done; all later ones fail.
  void stop_after(int operations) { left_ = operations; }
  [[nodiscard]] bool stopped() const { return left_ == 0; }
  /// After a stop: what is on disk now is chance.
  void restart(sim::Random& chance);

  /// The next operation of this kind fails, once. An append has written half by then; what a sync
  /// did not write, no later one writes.
  void fail_next(Operation operation, std::string reason) { fails_ = {operation, reason}; }

  [[nodiscard]] std::string bytes(const std::string& path) const;
  [[nodiscard]] bool contains(const std::string& path) const { return names_.contains(path); }
  /// On disk, at once.
  void write(const std::string& path, const std::string& bytes);
  void forget(const std::string& path);

  /// Since it was cleared.
  std::vector<Operation> done;

 private:
  friend class SimulatedFile;
  struct Content {
    std::string now;
    std::string stored;
    /// Bytes that a sync failed to write, and that no other one tries to.
    bool lost = false;
  };
  using Names = std::map<std::string, std::shared_ptr<Content>>;
  struct Change {
    std::string folder;
    std::function<void(Names&)> make;
  };

  [[nodiscard]] std::optional<Error> fault(Operation operation, const std::string& path);
  void change(const std::vector<std::string>& paths, const std::function<void(Names&)>& make);

  Names names_;
  Names stored_;
  std::vector<Change> changes_;
  std::set<std::string> folders_;
  std::set<std::string> locked_;
  int left_ = -1;
  std::optional<std::pair<Operation, std::string>> fails_;
};

}  // namespace neliroute
