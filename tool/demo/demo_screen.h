// What the demo shows: 80 columns, colours on a terminal, plain text elsewhere.
//
// Threads: one.   Units: std::chrono.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/route.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <vector>

#include "tool/demo/demo_cast.h"
#include "tool/print/placement.h"
#include "tool/print/terminal.h"

namespace neliroute::tool {

/// A key of the list, and where it was routed.
struct Sample {
  std::string key;
  RouteCopy route;
};

class Screen {
 public:
  explicit Screen(Terminal terminal) : terminal_(terminal) {}

  void title(const DemoOptions& options);
  /// "1  A broker and three owners"
  void step(std::string_view text);
  void line(std::string_view text);
  /// Shown until cast() can be.
  void starting();
  void started();
  void cast(Cast& cast, const DemoOptions& options);

  /// A letter for each partition, on its owner's colour; after `label`.
  void strip(std::string_view label, const Owners& owners);
  /// Marks under the strip.
  void marks(std::string_view label, const std::vector<std::uint32_t>& partitions,
             std::size_t partition_count);
  /// Overwritten by the next progress() or erased by end_progress(). Prints nothing if lines stay.
  void progress(const Owners& owners, std::string_view text);
  void end_progress();

  /// A bar for each owner.
  void holdings(const std::vector<Holding>& holdings,
                const std::map<std::string, std::uint64_t>& keys);
  void samples(const std::vector<Sample>& samples);
  void failover(milliseconds after, const DemoOptions& options, milliseconds session);
  void moves(std::size_t partitions, std::uint64_t slots, std::size_t least, std::uint64_t keys);
  void stay(const Cast& cast, const DemoOptions& options);

 private:
  [[nodiscard]] std::size_t number_of(const std::string& owner);
  /// One line of up to 64 partitions, from `first` on.
  [[nodiscard]] std::string cells(const Owners& owners, std::size_t first);

  Terminal terminal_;
  std::vector<std::string> owners_;  ///< in the order in which they got their colours
  bool in_progress_ = false;
};

}  // namespace neliroute::tool
