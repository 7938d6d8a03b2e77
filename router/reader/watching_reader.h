// A Watcher's reader: it owns nothing. It restarts tails after a gap, asks silent logs for a sign
// of life, and compares its settings with the owners'. Private.
//
// Threads: the strand, unless stated otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <neliroute/error.h>
#include <neliroute/settings.h>
#include <optional>

#include "neli_core/assigner/lane_reader.h"
#include "neli_core/settings_agreement.h"
#include "router/reader/reader.h"

namespace neliroute {

using ChangeHandler = std::function<void(Partition)>;
using FailureHandler = std::function<void(const Error&)>;

class WatchingReader : public Reader {
 public:
  /// `settings`: what is compared with the records that are read.
  WatchingReader(ReaderParts parts, Settings settings);

  // Any thread.
  void set_change_handler(ChangeHandler handler);
  void set_failure_handler(FailureHandler handler);
  [[nodiscard]] Settings settings() const override;

 private:
  /// Only the strand writes it.
  [[nodiscard]] const Settings& settings_on_strand() const noexcept override { return settings_; }
  void step(const Event& event, LocalTime now) override;
  void own_tick(LocalTime now) override { lane_.tick(now); }
  [[nodiscard]] LocalTime own_deadline() const override;
  void carry_out(LocalTime now) override;
  [[nodiscard]] const KnownLane* known_lane() const override { return &lane_.known(); }
  [[nodiscard]] bool tells_changes() const override { return on_change_ != nullptr; }
  void tell_change(Partition partition) const override;
  void tell_application(const Error& error) override;
  void begin_drain(milliseconds) override { close_ledger(); }

  void learn(const Record& record);
  void compare_settings(LocalTime now);
  void tell_difference();
  void probe_silent_logs(LocalTime now);
  [[nodiscard]] std::shared_ptr<WatchingReader> self() {
    return std::static_pointer_cast<WatchingReader>(shared_from_this());
  }

  LaneReader lane_;
  SettingsAgreement agreement_;
  mutable std::mutex settings_mutex_;
  Settings settings_;
  bool difference_told_ = false;
  ChangeHandler on_change_;
  FailureHandler on_failure_;
  std::uint64_t question_ = 0;
  LocalTime next_probe_ = kLongAgo;
};

}  // namespace neliroute
