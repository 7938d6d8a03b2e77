// A lane, as an operator's command has it: reads all logs, knows members, owners and overrides,
// and appends overrides to log 0. It is no member, owns nothing and joins no group.
//
// Threads: one.   Units: LocalTime is CLOCK_BOOTTIME.
// Errors: open() returns what is wrong; failure() is what went wrong later.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <optional>

#include "neli_core/assigner/lane_reader.h"
#include "neli_core/ledger.h"
#include "router/view/directory.h"
#include "tool/command_line/options.h"

namespace neliroute::tool {

class LaneLink {
 public:
  /// `writes`: it will append an override, for which it needs an owner's rights.
  [[nodiscard]] static Result<std::unique_ptr<LaneLink>> open(const CommonOptions& options,
                                                              bool writes);
  ~LaneLink();
  LaneLink(const LaneLink&) = delete;
  LaneLink& operator=(const LaneLink&) = delete;

  /// Runs until done() is true, which is looked at after everything that is read, and now and then.
  /// False: the deadline passed, or it failed.
  bool run_until(const std::function<bool()>& done, LocalTime deadline);

  [[nodiscard]] const LaneReader& reader() const noexcept { return reader_; }
  [[nodiscard]] Directory& directory() noexcept { return directory_; }
  /// What the newest process that says so runs with; no value: none was heard.
  [[nodiscard]] const std::optional<Settings>& settings() const noexcept { return settings_; }
  /// The longest lease that was heard, and as long as none was, what is assumed.
  [[nodiscard]] milliseconds lease() const noexcept { return lease_; }
  /// When the logs were read to their ends; kNever: they are not.
  [[nodiscard]] LocalTime caught_up_at() const noexcept { return caught_up_; }
  [[nodiscard]] std::uint32_t partitions() const noexcept { return partitions_; }
  [[nodiscard]] std::uint32_t logs() const noexcept { return logs_; }
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

  /// Appends it. offset() is where it stands, once that is known.
  void append(const Override& override);
  [[nodiscard]] std::optional<std::int64_t> offset() const noexcept { return offset_; }
  [[nodiscard]] ProcessId id() const noexcept { return id_; }

 private:
  LaneLink(const CommonOptions& options, std::uint32_t partitions, std::uint32_t logs,
           milliseconds lease);
  void on_event(const Event& event, LocalTime now);
  void note(const Received& event);
  void write();

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<Ledger> ledger_;
  Lane lane_;
  std::uint32_t partitions_;
  std::uint32_t logs_;
  ProcessId id_;
  LaneReader reader_;
  Directory directory_;
  std::optional<Settings> settings_;
  milliseconds lease_;
  bool lease_heard_ = false;
  LocalTime caught_up_ = kNever;
  LocalTime now_ = kLongAgo;
  std::optional<Error> failure_;
  std::string text_;  ///< the record
  std::uint64_t seq_ = 0;
  std::optional<std::int64_t> offset_;
};

}  // namespace neliroute::tool
