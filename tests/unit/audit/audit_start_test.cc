// The auditor on logs whose beginning is gone: epochs that were claimed below what is read.
#include "tests/unit/neli_core/claimed/forged_log.h"

namespace neliroute::forged {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AuditStart : public AuditTest {
 protected:
  AuditStart() { next_ = 100; }
};

TEST_F(AuditStart, who_leads_on_behind_a_claim_that_was_read_first_overstays) {
  at(0, b_.claim("0"));  // behind a_'s, which lies below the start
  lead(a_, 40, "0", 100, 1000);
  EXPECT_THAT(certain(), IsEmpty()) << "its lease may have been renewed below the start";
  at(2000, a_.leads(40, "0"));
  EXPECT_THAT(certain(), IsEmpty()) << "it may have been long under way";
  lead(a_, 40, "0", 2100, 3000);
  ASSERT_THAT(certain(), ElementsAre(FindingKind::overstay));
  EXPECT_EQ(found_.front().evidence.back().epoch, (Epoch{kInc, 40}));
}

TEST_F(AuditStart, a_release_alone_makes_way) {
  at(0, a_.release(40, "0"));
  const auto f = at(10, b_.claim("0"));
  at(20, b_.leads(f, "0"));
  EXPECT_THAT(found_, IsEmpty());
  at(30, a_.leads(40, "0"));
  EXPECT_THAT(certain(), testing::Contains(FindingKind::resumed));
}

// A late record of a former topic, which had another process's claim at the same offset.
TEST_F(AuditStart, a_former_topics_word_does_not_make_the_owners_epoch_false) {
  Forger former{3};
  former.incarnation = kInc - 1;
  at(0, former.release(40, "0"));
  const auto e = at(10, a_.claim("1"));
  at(20, a_.looks(e, "1"));  // so it knows this log
  at(30, a_.leads(40, "0"));
  EXPECT_THAT(found_, IsEmpty());
  at(40, b_.claim("0"));
  const auto f = at(50, a_.claim("1"));
  at(60, a_.looks(f, "1"));  // so it has read b_'s claim
  at(70, a_.leads(40, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::overstay)) << "its epoch is judged as any other";
}

TEST_F(AuditStart, one_epoch_below_the_start_has_one_owner) {
  at(0, a_.leads(40, "0"));
  const auto e = at(10, b_.claim("1"));
  at(20, b_.looks(e, "1"));
  at(30, b_.leads(40, "0"));
  EXPECT_THAT(certain(), ElementsAre(FindingKind::false_epoch));
}

TEST_F(AuditStart, a_record_whose_incarnation_nobody_believes_is_ignored) {
  Forger liar{3};
  liar.incarnation = kIncarnationMax;
  at(0, liar.leads(40, "0"));
  EXPECT_EQ(auditor_.totals().ignored, 1U);
  EXPECT_EQ(auditor_.totals().records, 0U);
  const auto e = at(10, a_.claim("0"));
  at(2000, a_.leads(e, "0"));
  EXPECT_THAT(found_, IsEmpty());
}

}  // namespace
}  // namespace neliroute::forged
