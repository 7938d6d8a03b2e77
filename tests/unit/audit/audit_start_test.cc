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
