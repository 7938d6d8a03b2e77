// A stage in which a sentence of a seed takes a few lines: processes by name, time in milliseconds.
//
// Threads: one.   Units: milliseconds.   Errors: a name that is not there aborts.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/scenarios/stage.h"

namespace neliroute::paper {

inline constexpr Partition kP0{0};
inline constexpr Partition kP1{1};

class Scene {
 public:
  explicit Scene(Mode mode, std::uint32_t partitions = 2) : Scene(with(mode, partitions)) {}
  explicit Scene(scenario::StageOptions options) : stage(options) {}

  /// Starts it, and has it assigned these, if any.
  rig::Process& start(const std::string& name, const std::string& partitions = "",
                      Lane lane = Lane{0}) {
    CoreOptions options = stage.rig().core_options(stage.next_id(), name);
    options.lane = lane;
    stage.start(name, std::move(options));
    if (!partitions.empty()) assign(name, partitions);
    return process(name);
  }
  rig::Process& process(const std::string& name) { return *actor(name).process; }
  scenario::Actor& actor(const std::string& name) {
    scenario::Actor* found = stage.find(name);
    if (found == nullptr) std::abort();
    return *found;
  }
  void assign(const std::string& name, const std::string& partitions) {
    stage.rig().assign(process(name), partitions);
  }
  void revoke(const std::string& name, const std::string& partitions) {
    stage.rig().revoke(process(name), partitions);
  }
  /// The group moves partitions in one go.
  void move(const std::string& partitions, const std::string& from, const std::string& to) {
    revoke(from, partitions);
    assign(to, partitions);
  }
  void crash(const std::string& name) { stage.crash(actor(name)); }
  void run(milliseconds duration) { stage.run_for(duration); }
  /// Until somebody may lead who was assigned at the very beginning, and a little longer.
  void settle_in() { run(stage.options().rig.lease + milliseconds{1000}); }

  [[nodiscard]] LocalTime now() { return stage.rig().now(); }
  [[nodiscard]] bool leads(const std::string& name, std::uint32_t partition = 0) {
    return process(name).leads(partition, now());
  }
  [[nodiscard]] std::size_t leaders(std::uint32_t partition = 0) {
    return stage.rig().leaders(partition);
  }
  [[nodiscard]] Epoch epoch(const std::string& name, Partition partition = kP0) {
    return process(name).core.epoch(partition).value_or(kNoEpoch);
  }
  [[nodiscard]] LocalTime lease_end(const std::string& name, Partition partition = kP0) {
    return process(name).core.leases()->get(partition).until;
  }
  [[nodiscard]] Route route(const std::string& name, std::uint32_t slot) {
    return actor(name).lookup->route(Slot{slot}, now());
  }
  /// Time without a leader, since there was a first one.
  [[nodiscard]] microseconds unowned(Partition partition = kP0) const {
    return stage.tally(partition).unowned;
  }
  /// Time with more than one.
  [[nodiscard]] microseconds shared(Partition partition = kP0) const {
    return stage.tally(partition).shared;
  }

  [[nodiscard]] static scenario::StageOptions with(Mode mode, std::uint32_t partitions) {
    scenario::StageOptions options = scenario::options_for(mode);
    options.rig.partitions = partitions;
    return options;
  }

  scenario::Stage stage;
};

}  // namespace neliroute::paper
