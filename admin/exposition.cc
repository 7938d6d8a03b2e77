#include "admin/exposition.h"

#include <prometheus/text_serializer.h>

#include <iterator>
#include <utility>

namespace neliroute::admin {

std::string Exposition::text() const {
  std::vector<prometheus::MetricFamily> all = own_->Collect();
  for (const auto& weak : others_) {
    const auto other = weak.lock();
    if (!other) continue;
    std::vector<prometheus::MetricFamily> more = other->Collect();
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace neliroute::admin
