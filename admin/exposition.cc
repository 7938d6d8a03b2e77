#include "admin/exposition.h"

#include <prometheus/text_serializer.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <utility>

#include "admin/peer_json.h"
#include "router/text/json_text.h"

namespace neliroute::admin {
namespace {

void put_counts(boost::json::object& row, const ProxiedRequests& counts) {
  row["source"] = "proxy";
  row["served"] = counts.served;
  row["forwarded"] = counts.forwarded;
  row["misdirected"] = counts.misdirected;
  row["waited"] = counts.waited;
  row["refused"] = counts.refused;
  row["unowned"] = counts.unowned;
  row["unreachable"] = counts.unreachable;
  row["failed"] = counts.failed;
}

// What the application does with a request that it should send on, or refuse, only it knows.
void put_counts(boost::json::object& row, const AdmissionCounts& counts) {
  const auto count = [&counts](Admit answer) { return counts[static_cast<std::size_t>(answer)]; };
  row["source"] = "admit";
  row["served"] = count(Admit::serve);
  row["redirected"] = count(Admit::redirect);
  row["waited"] = count(Admit::wait);
  row["refused"] = count(Admit::refuse);
}

}  // namespace

std::string exposed(std::vector<prometheus::MetricFamily> families,
                    const Collectables& collectables) {
  for (const auto& weak : collectables) {
    const auto one = weak.lock();
    if (!one) continue;
    std::vector<prometheus::MetricFamily> more = one->Collect();
    std::move(more.begin(), more.end(), std::back_inserter(families));
  }
  return prometheus::TextSerializer().Serialize(families);
}

std::string Exposition::metrics() const { return exposed(own_->Collect(), others_); }

std::string Exposition::requests(LocalTime now) const {
  boost::json::object row;
  put_text(row, "process", observable_.facts().process.name);
  if (proxied_) {
    put_counts(row, proxied_());
  } else if (observable_.facts().id) {
    put_counts(row, observable_.admissions());
  } else {
    row["source"] = "none";
  }
  return "{\"at\":" + at_text(now) + ',' + boost::json::serialize(row).substr(1);
}

}  // namespace neliroute::admin
