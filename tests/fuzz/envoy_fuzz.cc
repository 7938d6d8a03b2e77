// What an Envoy asks the admin port for, and the file that a watcher finds in its folder: any
// bytes. What is read is within its bounds, and is the same when it is written and read again.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <variant>
#include <vector>

#include "admin/envoy/discovery_request.h"
#include "admin/envoy/eds_json.h"
#include "tests/fuzz/bytes.h"

namespace neliroute::fuzz {
namespace {

using admin::OwnerAddresses;
using admin::ReadOwners;
using admin::Refusal;

constexpr std::uint32_t kPartitions = 300;
constexpr std::uint32_t kFewer = 7;

void check_owners(const ReadOwners& read, const std::vector<std::string>& clusters) {
  const std::string text = admin::eds_json(clusters, read.owners, "1", read.origin);
  for (const std::string& cluster : clusters) {
    const auto again = admin::read_eds_json(text, cluster, kPartitions);
    FUZZ_CHECK(again && again->owners == read.owners, "as they were written, under each name");
    FUZZ_CHECK(again->origin == read.origin, "and whose they are");
  }
}

void check_file(std::string_view bytes) {
  const auto read = admin::read_eds_json(bytes, admin::kEdsCluster, kPartitions);
  const auto fewer = admin::read_eds_json(bytes, admin::kEdsCluster, kFewer);
  FUZZ_CHECK(fewer.has_value() == read.has_value(), "however many partitions there are");
  if (!read) return;
  const OwnerAddresses& owners = read->owners;
  FUZZ_CHECK(owners.size() == kPartitions, "one for each partition");
  const OwnerAddresses first(owners.begin(), owners.begin() + kFewer);
  FUZZ_CHECK(fewer->owners == first && fewer->origin == read->origin, "the same ones");
  for (const auto& owner : owners) {
    if (!owner) continue;
    FUZZ_CHECK(owner->port != 0, "somebody can be reached there");
    FUZZ_CHECK(admin::ip_of(owner->ip) == owner->ip, "an address, written as everybody writes it");
  }
  check_owners(*read, {std::string(admin::kEdsCluster)});
}

void check_question(std::string_view bytes) {
  const auto question = admin::read_discovery(bytes);
  if (const auto* refusal = std::get_if<Refusal>(&question)) {
    FUZZ_CHECK(refusal->status == 400 && !refusal->error.empty(), "it hears what was wrong");
    return;
  }
  const auto& names = std::get<std::vector<std::string>>(question);
  FUZZ_CHECK(names.size() <= admin::kClustersMost, "an answer has bounds");
  boost::json::array list;
  for (const std::string& name : names) {
    FUZZ_CHECK(!name.empty() && name.size() <= admin::kClusterBytesMost, "a name");
    list.emplace_back(name);
  }
  const auto again = admin::read_discovery(
      boost::json::serialize(boost::json::object{{"resource_names", std::move(list)}}));
  FUZZ_CHECK(again.index() == 0 && std::get<0>(again) == names, "as they were written");
  ReadOwners read{OwnerAddresses(kPartitions), "t/0"};
  read.owners[kFewer] = admin::SocketAddress{"10.0.0.7", 1};
  check_owners(read, names);
}

}  // namespace
}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  neliroute::fuzz::check_question(bytes);
  neliroute::fuzz::check_file(bytes);
  return 0;
}
