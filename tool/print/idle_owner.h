// Why an owner that has started leads nothing yet: said once in the log, a second after its start.
//
// Threads: one (the router's executor).   Units: partitions.   Errors: none.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <neliroute/observer.h>
#include <neliroute/router.h>
#include <string>
#include <vector>

namespace neliroute::tool {

/// What an idle process sees of its lane.
struct IdleView {
  std::uint32_t partitions = 0;
  std::uint32_t looking = 0;  ///< that it claimed
  std::map<std::string, std::uint32_t> others;  ///< how many each other process leads
  bool assigner = false;      ///< a member assigns, and no group
  milliseconds lease{0};
};

/// What it waits for, and for how long at most where that is known.
[[nodiscard]] std::string why_idle(const IdleView& view);

/// Kept alive until it is told or the process leads something; an observer of its router.
class IdleOwner : public Observer {
 public:
  IdleOwner(boost::asio::io_context& io, const Router& router, bool assigner);
  void on_view(const ViewChange& change) override;

 private:
  void tell() const;

  const Router& router_;
  bool assigner_;
  std::vector<ObservedRoute> routes_;
  boost::asio::steady_timer timer_;
};

}  // namespace neliroute::tool
