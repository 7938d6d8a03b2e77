// What a tail learns from the log lines of its client.
#include "ledgers/kafka/tail/tail.h"

#include <gtest/gtest.h>

namespace neliroute {
namespace {

TEST(TopicIdTest, IsReadFromTheLineThatTellsOfAnother) {
  EXPECT_EQ(topic_id_in("[thrd:main]: Topic t changed id from AAAA to XpWOfOFMQvurENHXNaqZcQ", "t"),
            "XpWOfOFMQvurENHXNaqZcQ");
}

TEST(TopicIdTest, OfAnotherTopicIsNotOurs) {
  EXPECT_EQ(topic_id_in("[thrd:main]: Topic not-t changed id from AAAA to BBBB", "t"), "");
  EXPECT_EQ(topic_id_in("[thrd:main]: Topic t2 changed id from AAAA to BBBB", "t"), "");
  EXPECT_EQ(topic_id_in("t changed id from AAAA to BBBB", "t"), "");
}

TEST(TopicIdTest, IsNotInAnyOtherLine) {
  EXPECT_EQ(topic_id_in("", "t"), "");
  EXPECT_EQ(topic_id_in("[thrd:main]: Topic t partition count changed from 4 to 0", "t"), "");
  EXPECT_EQ(topic_id_in("[thrd:main]: Topic t changed id from AAAA", "t"), "");
}

}  // namespace
}  // namespace neliroute
