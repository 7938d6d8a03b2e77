#include "tool/upstream/health_probe.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tool/exec/one_request.h"

namespace neliroute::tool {

HealthProbe::HealthProbe(boost::asio::any_io_executor executor, std::string address,
                         std::optional<std::string> path)
    : address_(std::move(address)), path_(std::move(path)), upstreams_(std::move(executor), {}) {}

void HealthProbe::ask(milliseconds within, Answered answered) {
  using boost::system::error_code;
  upstreams_.connect(
      address_, /*own=*/true,
      [this, alive = std::weak_ptr(alive_), within, answered = std::move(answered)](
          error_code error, const forward::UpstreamPtr& connected) {
        if (alive.expired()) return;
        if (error == boost::asio::error::operation_aborted) error = boost::asio::error::timed_out;
        if (error) return answered("accepts no connection (" + error.message() + ")");
        if (!path_) return answered("");
        get(*connected, within, answered);
      },
      within);
}

void HealthProbe::get(forward::Upstream& connected, milliseconds within,
                      const Answered& answered) const {
  get_status(std::move(connected.stream.socket()), address_, *path_, within,
             [alive = std::weak_ptr(alive_), within, path = *path_, answered](
                 boost::system::error_code error, unsigned status) {
               if (alive.expired()) return;
               if (!error && status / 100 == 2) return answered("");
               answered(error ? fmt::format("does not answer GET {} within {} ms ({})", path,
                                            within.count(), error.message())
                              : fmt::format("answers GET {} with {}, not with 2xx", path, status));
             });
}

}  // namespace neliroute::tool
