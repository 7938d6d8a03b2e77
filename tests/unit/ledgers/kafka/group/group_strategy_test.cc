// What a group's assignors mean for who joins it: pure functions.
#include "ledgers/kafka/group/group_strategy.h"

#include <gmock/gmock.h>

namespace neliroute {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

constexpr char kStrategy[] = "partition.assignment.strategy";

KafkaOptions beside_goneli(const std::string& strategy = "range,roundrobin") {
  KafkaOptions options;
  options.group = "G";
  options.variation = Variation::broadcast;
  options.mode = Mode::exclusive;
  if (!strategy.empty()) options.properties[kStrategy] = strategy;
  return options;
}

std::optional<std::string> warning(const KafkaOptions& options, milliseconds lease,
                                   GroupProtocol protocol = GroupProtocol::classic) {
  return eager_lease_warning(options, protocol, lease);
}

TEST(GroupStrategy, an_eager_assignor_with_a_lease_not_above_gonelis_heartbeat_is_warned_of) {
  for (const char* strategy : {"range,roundrobin", "roundrobin", "range"}) {
    for (const milliseconds lease : {milliseconds{375}, milliseconds{3000}}) {
      EXPECT_THAT(warning(beside_goneli(strategy), lease),
                  Optional(AllOf(HasSubstr(std::string{kStrategy} + "=" + strategy + " with a "),
                                 HasSubstr("lease of " + std::to_string(lease.count()) + " ms"),
                                 HasSubstr("goNELI"), HasSubstr("`timing.lease` 5s"))));
    }
    EXPECT_EQ(warning(beside_goneli(strategy), milliseconds{3001}), std::nullopt);
    EXPECT_EQ(warning(beside_goneli(strategy), seconds{5}), std::nullopt) << "the recipe";
  }
}

TEST(GroupStrategy, whoever_may_overlap_or_is_revoked_one_by_one_is_not_warned) {
  auto claimed = beside_goneli();
  claimed.variation = Variation::claimed;
  EXPECT_EQ(warning(claimed, seconds{1}), std::nullopt) << "it hears of others by their claims";
  auto both_may_lead = beside_goneli();
  both_may_lead.mode = Mode::non_exclusive;
  EXPECT_EQ(warning(both_may_lead, seconds{1}), std::nullopt);
  EXPECT_EQ(warning(beside_goneli(""), seconds{1}), std::nullopt) << "ours is cooperative";
  EXPECT_EQ(warning(beside_goneli("cooperative-sticky"), seconds{1}), std::nullopt);
  EXPECT_EQ(warning(beside_goneli(), seconds{1}, GroupProtocol::consumer), std::nullopt)
      << "the broker assigns, and no strategy of a client's counts";
}

TEST(GroupStrategy, who_is_refused_by_a_classic_group_reads_what_it_offers_and_what_to_do) {
  constexpr char error[] = "INCONSISTENT_GROUP_PROTOCOL";
  EXPECT_THAT(inconsistent_group(beside_goneli("roundrobin"), GroupProtocol::classic, error),
              AllOf(HasSubstr("group G has"), HasSubstr("partition.assignment.strategy=roundrobin"),
                    HasSubstr("INCONSISTENT_GROUP_PROTOCOL"), HasSubstr("`kafka.properties`")));
  EXPECT_THAT(inconsistent_group(beside_goneli(""), GroupProtocol::classic, error),
              HasSubstr("partition.assignment.strategy=cooperative-sticky"));
  auto lane = beside_goneli();
  lane.lane = Lane{2};
  EXPECT_THAT(inconsistent_group(lane, GroupProtocol::classic, error), HasSubstr("group G.lane-2"));
}

TEST(GroupStrategy, who_is_refused_by_a_group_of_another_protocol_reads_of_no_assignor) {
  EXPECT_THAT(inconsistent_group(beside_goneli(), GroupProtocol::consumer, "GROUP_ID_NOT_FOUND"),
              AllOf(HasSubstr("speaks another group protocol than consumer"),
                    HasSubstr("GROUP_ID_NOT_FOUND"), HasSubstr("`group_protocol`"),
                    Not(HasSubstr("assignor"))));
}

TEST(GroupStrategy, a_killed_member_is_waited_for_two_sessions_at_least_half_a_minute) {
  Timing timing;
  for (const auto& [session, bound] : {std::pair{milliseconds{500}, milliseconds{30'000}},
                                       std::pair{milliseconds{15'000}, milliseconds{30'000}},
                                       std::pair{milliseconds{15'001}, milliseconds{30'002}},
                                       std::pair{milliseconds{45'000}, milliseconds{90'000}}}) {
    timing.session = session;
    EXPECT_EQ(inconsistent_group_bound(timing), bound);
  }
}

}  // namespace
}  // namespace neliroute
