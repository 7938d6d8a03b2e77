// Where a ledger is, as its address says it.
#include "ledgers/ledger_address.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace neliroute {
namespace {

KafkaConnection on_kafka(std::string_view ledger, const KafkaConnection& rest = {}) {
  const auto address = ledger_address(ledger, rest);
  EXPECT_TRUE(address) << (address ? "" : address.error().message());
  return address ? std::get<KafkaConnection>(*address) : KafkaConnection{};
}

std::string why_not(std::string_view ledger, const KafkaConnection& rest = {}) {
  const auto address = ledger_address(ledger, rest);
  if (address) return "";
  EXPECT_EQ(address.error().code(), Errc::bad_option);
  return address.error().message();
}

TEST(LedgerAddressTest, WithoutOneTheConnectionSaysIt) {
  KafkaConnection rest;
  rest.brokers = "b:1";
  rest.topic = "t";
  EXPECT_EQ(on_kafka("", rest).brokers, "b:1");
  EXPECT_EQ(on_kafka("", rest).topic, "t");
}

TEST(LedgerAddressTest, KafkaIsBrokersAndATopic) {
  KafkaConnection rest;
  rest.properties["security.protocol"] = "ssl";
  rest.timeout = milliseconds{7};
  const KafkaConnection found = on_kafka("kafka://a:9092,[::1]:9093/shop.slots", rest);
  EXPECT_EQ(found.brokers, "a:9092,[::1]:9093");
  EXPECT_EQ(found.topic, "shop.slots");
  EXPECT_EQ(found.properties, rest.properties) << "an address has none of these";
  EXPECT_EQ(found.timeout, rest.timeout);
  EXPECT_EQ(on_kafka("kafka://a:9092").topic, KafkaConnection{}.topic) << "the default";
}

TEST(LedgerAddressTest, EtcdIsServersAndAPrefix) {
  KafkaConnection rest;
  rest.timeout = milliseconds{1234};
  const auto address = ledger_address("etcd://a:1,[::1]:2,c/shop", rest);
  ASSERT_TRUE(address) << address.error().message();
  const auto& etcd = std::get<EtcdConnection>(*address);
  EXPECT_EQ(etcd.servers, (std::vector<EtcdServer>{{"a", "1"}, {"::1", "2"}, {"c", "2379"}}));
  EXPECT_EQ(etcd.prefix, "shop");
  EXPECT_EQ(etcd.timeout, rest.timeout);
  EXPECT_EQ(etcd.user, "");
}

TEST(LedgerAddressTest, EtcdWithTlsMayNameFiles) {
  const auto address =
      ledger_address("etcds://a:1/shop?authorities=/ca&certificate=/crt&key=/key", {});
  ASSERT_TRUE(address) << address.error().message();
  const auto& etcd = std::get<EtcdConnection>(*address);
  EXPECT_TRUE(etcd.tls);
  EXPECT_EQ(etcd.prefix, "shop");
  EXPECT_EQ(etcd.authorities, "/ca");
  EXPECT_EQ(etcd.certificate, "/crt");
  EXPECT_EQ(etcd.key, "/key");
  EXPECT_EQ(describe(*address), "etcds://a:1/shop");
  EXPECT_FALSE(std::get<EtcdConnection>(*ledger_address("etcd://a:1/shop", {})).tls);
}

PostgresConnection on_postgres(std::string_view ledger) {
  const auto address = ledger_address(ledger, {});
  EXPECT_TRUE(address) << (address ? "" : address.error().message());
  return address ? std::get<PostgresConnection>(*address) : PostgresConnection{};
}

TEST(LedgerAddressTest, PostgresIsAnUriOfLibpqWithSomeParametersOfOurs) {
  const PostgresConnection found = on_postgres(
      "postgres://ann@a:1,b:2/shop?topic=t&sslmode=require&schema=s&create=1&notify=off"
      "&assume=durable");
  EXPECT_EQ(found.uri, "postgres://ann@a:1,b:2/shop?sslmode=require");
  EXPECT_EQ(found.topic, "t");
  EXPECT_EQ(found.schema, "s");
  EXPECT_TRUE(found.create);
  EXPECT_FALSE(found.notify);
  EXPECT_TRUE(found.assume_durable);
  EXPECT_EQ(found.shown, "postgres://a:1,b:2/shop?topic=t&schema=s");
  const PostgresConnection plain = on_postgres("postgresql://");
  EXPECT_EQ(plain.topic, "neliroute");
  EXPECT_EQ(plain.schema, "neliroute");
  EXPECT_FALSE(plain.create);
  EXPECT_TRUE(plain.notify);
  EXPECT_FALSE(plain.assume_durable);
  EXPECT_TRUE(positions_are_dense(LedgerAddress{plain}));
}

TEST(LedgerAddressTest, OfPostgresNoSecretIsShown) {
  const PostgresConnection found =
      on_postgres("postgres://ann:heim@a/shop?password=heim&topic=t");
  EXPECT_EQ(found.shown, "postgres://a/shop?topic=t");
  EXPECT_EQ(on_postgres("postgres://ann:heim?topic=x@a/s?topic=t").shown,
            "postgres://a/s?topic=t") << "as libpq reads it";
  for (const char* one : {"postgres://ann:heim@a:x/shop", "postgres://ann:heim@a/s?topic=t/u",
                          "postgres://a/shop?password=heim&nosuch=1",
                          "postgres://ann:heim@a/s?password=heim&schema=A",
                          "postgres://ann:heim@[a/s", "postgres://ann:%heim@a/s",
                          "postgres://ann:1/heim@a/s", "postgres://ann:heim/x@a/s",
                          "postgres://ann:x@heim@a/s", "postgres://ann:heim@a:x/s"}) {
    const std::string why = why_not(one);
    EXPECT_NE(why, "") << one;
    EXPECT_EQ(why.find("heim"), std::string::npos) << why;
  }
}

TEST(LedgerAddressTest, NoSecretIsShown) {
  ASSERT_EQ(setenv("NELIROUTE_ETCD_PASSWORD", "geheim", 1), 0);
  const auto address = ledger_address("etcd://ann@a:1/shop", {});
  ASSERT_TRUE(address) << address.error().message();
  ASSERT_EQ(unsetenv("NELIROUTE_ETCD_PASSWORD"), 0);
  EXPECT_NE(why_not("etcd://ann@a:1/shop").find("NELIROUTE_ETCD_PASSWORD is not set"),
            std::string::npos);
  EXPECT_EQ(std::get<EtcdConnection>(*address).user, "ann");
  EXPECT_EQ(std::get<EtcdConnection>(*address).password, "geheim");
  EXPECT_EQ(describe(*address), "etcd://a:1/shop");
  EXPECT_EQ(why_not("etcd://ann:geheim@a:1/shop"),
            "`ledger` \"etcd://...@a:1/shop\": expected the name of a user before @; its password "
            "comes from NELIROUTE_ETCD_PASSWORD in the environment");
  for (const char* one : {"etcd://ann:geheim@a:1", "etcd://ann:geheim@a:1/s?x=1",
                          "etcd://ann:geheim@a:0/s", "etcd://ann:geheim@a:1/s/t",
                          "etcd://ann:ge/heim@a:1/s", "etdc://ann:geheim@a:1/s"}) {
    EXPECT_EQ(why_not(one).find("heim"), std::string::npos) << one;
  }
  EXPECT_NE(why_not("etcd://@a:1/shop").find("a user before @"), std::string::npos);
}

QuorumConnection on_quorum(std::string_view ledger) {
  const auto address = ledger_address(ledger, {});
  EXPECT_TRUE(address) << (address ? "" : address.error().message());
  return address ? std::get<QuorumConnection>(*address) : QuorumConnection{};
}

/// A file with a key, as a test may have it.
class KeyFile {
 public:
  explicit KeyFile(const std::string& text, const char* name = "key") : path_(
      testing::TempDir() + "neliroute-" + std::to_string(getpid()) + "-" + name) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), 0600);
  }
  ~KeyFile() { std::remove(path_.c_str()); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

TEST(LedgerAddressTest, AQuorumIsVotersAndAName) {
  KafkaConnection rest;
  rest.timeout = milliseconds{1234};
  const auto address =
      ledger_address("quorum://localhost:7002,127.0.0.9,[::1]:7001/shop?dir=/var/shop", rest);
  ASSERT_TRUE(address) << address.error().message();
  const auto& quorum = std::get<QuorumConnection>(*address);
  EXPECT_EQ(quorum.voters,
            (std::vector<std::string>{"127.0.0.9:7100", "[::1]:7001", "localhost:7002"}))
      << "sorted, and each with its port";
  EXPECT_EQ(quorum.name, "shop");
  EXPECT_EQ(quorum.folder, "/var/shop");
  EXPECT_EQ(quorum.timeout, rest.timeout);
  EXPECT_FALSE(quorum.tls);
  EXPECT_EQ(describe(*address), "quorum://127.0.0.9:7100,[::1]:7001,localhost:7002/shop");
  EXPECT_EQ(topic_of(*address), "shop");
  EXPECT_FALSE(positions_are_dense(*address)) << "leaders' own entries have positions, too";
  EXPECT_EQ(on_quorum("quorum://a:1/s?insecure=1").voters.size(), 1U);
}

TEST(LedgerAddressTest, OfVotersThatOthersReachClientsMustProveSomething) {
  const std::string why = why_not("quorum://localhost:1,a:1,127.0.0.1:1/s");
  EXPECT_NE(why.find("add key-file=FILE"), std::string::npos) << why;
  EXPECT_NE(why.find("insecure=1 allows that"), std::string::npos) << why;
  EXPECT_NE(why_not("quorums://a:1/s").find("use quorums:// with authorities="),
            std::string::npos)
      << "TLS alone does not say who the client is";
  const QuorumConnection tls =
      on_quorum("quorums://a:1/s?authorities=/ca&certificate=/crt&key=/key");
  EXPECT_TRUE(tls.tls);
  EXPECT_EQ(tls.authorities, "/ca");
  EXPECT_EQ(tls.certificate, "/crt");
  EXPECT_EQ(tls.private_key, "/key");
  EXPECT_EQ(tls.shown, "quorums://a:1/s");
  const KeyFile file("0123456789abcdef\n");
  EXPECT_EQ(on_quorum("quorum://a:1/s?key-file=" + file.path()).key, "0123456789abcdef");
  EXPECT_TRUE(on_quorum("quorums://a:1/s?key-file=" + file.path()).tls);
}

TEST(LedgerAddressTest, AKeyIsLongAndNotForEverybody) {
  const KeyFile shorter("0123456789abcde\n", "short");
  EXPECT_NE(why_not("quorum://a:1/s?key-file=" + shorter.path()).find("has 15 bytes; write at"),
            std::string::npos);
  const KeyFile open("0123456789abcdef", "open");
  chmod(open.path().c_str(), 0644);
  const std::string why = why_not("quorum://a:1/s?key-file=" + open.path());
  EXPECT_NE(why.find("chmod o= " + open.path()), std::string::npos) << why;
  EXPECT_EQ(why.find("0123456789"), std::string::npos) << why;
  EXPECT_NE(why_not("quorum://a:1/s?key-file=/no/such/file").find("cannot be read from /no/such"),
            std::string::npos);
}

TEST(LedgerAddressTest, WhatIsWrongInAnAddressOfAQuorumIsNamed) {
  for (const auto& [ledger, expected] :
       {std::pair{"quorum://", "expected voters and a name"},
        {"quorum://a:1", "expected voters and a name"},
        {"quorum:///s", "expected voters and a name"},
        {"quorum://a:1,/s", "expected voters and a name"},
        {"quorum://a:0/s", "expected voters and a name"},
        {"quorum://a:x/s", "expected voters and a name"},
        {"quorum://::1:1/s", "expected voters and a name"},
        {"quorum://a b/s", "expected voters and a name"},
        {"quorum://a:1/", "1 to 249 of"},
        {"quorum://a:1/s/t", "\"s/t\" is no name"},
        {"quorum://a,b/s", "it names 2 voters; name 1, 3, 5 or 7"},
        {"quorum://a,b,c,d,e,f,g,h,i/s", "it names 9 voters"},
        {"quorum://a,b,a:7100/s", "it names a:7100 twice"},
        {"quorum://a/s?dir=", "`dir=` is no parameter here; expected ?dir=FOLDER"},
        {"quorum://a/s?nosuch=1", "`nosuch=1` is no parameter here"},
        {"quorum://a/s?insecure=0", "`insecure=0` is no parameter here"},
        {"quorum://a/s?key=/key", "the address begins with quorums://"},
        {"quorums://a/s?key=/key", "a certificate and a key go together"}}) {
    const std::string why = why_not(ledger);
    EXPECT_NE(why.find(expected), std::string::npos) << ledger << ": " << why;
    EXPECT_EQ(why.find("`ledger` \"" + std::string(ledger)), 0U) << why;
  }
}

TEST(LedgerAddressTest, TopicOfNamesWhatHasTheLogs) {
  EXPECT_EQ(topic_of(*ledger_address("kafka://a:1/t", {})), "t");
  EXPECT_EQ(topic_of(*ledger_address("etcd://a:1/p", {})), "p");
  EXPECT_EQ(topic_of(*ledger_address("memory:m", {})), "m");
}

TEST(LedgerAddressTest, WhatIsWrongIsNamedWithWhatIsExpected) {
  for (const auto& [ledger, expected] :
       {std::pair{"consul://a:1/t", "expected kafka://HOST:PORT,.../TOPIC, etcd://HOST:PORT"},
        {"a:9092/t", "expected kafka://HOST:PORT,.../TOPIC"},
        {"kafka://", "expected brokers"},
        {"kafka:///t", "expected brokers"},
        {"kafka://a:1/", "1 to 249 of"},
        {"kafka://a:1/t/u", "\"t/u\" is no name"},
        {"kafka://a:1/..", "1 to 249 of"},
        {"etcd://", "expected servers and a prefix"},
        {"etcd://a:1", "expected servers and a prefix"},
        {"etcd:///t", "expected servers and a prefix"},
        {"etcd://a:1/", "1 to 249 of"},
        {"etcd://a:1/t/u", "\"t/u\" is no name"},
        {"etcd://a:0/t", "expected servers and a prefix"},
        {"etcd://a:65536/t", "expected servers and a prefix"},
        {"etcd://a:x/t", "expected servers and a prefix"},
        {"etcd://a:1,/t", "expected servers and a prefix"},
        {"etcd://,a:1/t", "expected servers and a prefix"},
        {"etcd://a:1/t?authorities=x", "with etcds:// only"},
        {"etcds://a:1/t?ca=x", "`ca` is no parameter here; expected ?authorities=FILE"},
        {"etcds://a:1/t?key=", "`key` is no parameter here; expected ?authorities=FILE"},
        {"etcds://a:1/t?key=x", "go together"},
        {"etcd://::1:2379/t", "expected servers and a prefix"},
        {"memory:", "expected a name"}}) {
    const std::string why = why_not(ledger);
    EXPECT_NE(why.find(expected), std::string::npos) << ledger << ": " << why;
    EXPECT_EQ(why.find("`ledger` \"" + std::string(ledger)), 0U) << why;
  }
}

TEST(LedgerAddressTest, WhatIsWrongInAnAddressOfPostgresIsNamed) {
  for (const auto& [query, expected] :
       {std::pair{"topic=t/u", "\"t/u\" is no name of a topic"},
        {"schema=A", "\"A\" is no name of a schema"},
        {"create=yes", "expected create=1 or 0, not \"yes\""},
        {"notify=1", "expected notify=on or off"},
        {"assume=", "expected assume=durable or nothing"},
        {"nosuch=1", "expected an address of libpq"}}) {
    const std::string why = why_not("postgres://a/d?" + std::string(query));
    EXPECT_NE(why.find(expected), std::string::npos) << query << ": " << why;
    EXPECT_EQ(why.find("`ledger` \"postgres://...\": "), 0U) << why;
  }
}

TEST(LedgerAddressTest, TwoPlacesAreOneTooMany) {
  KafkaConnection rest;
  rest.brokers = "b:1";
  EXPECT_NE(why_not("kafka://a:1/t", rest).find("`kafka.brokers`"), std::string::npos);
  rest = {};
  rest.topic = "u";
  EXPECT_NE(why_not("kafka://a:1/t", rest).find("`kafka.topic`"), std::string::npos);
  EXPECT_NE(why_not("etcd://a:1/t", rest).find("`kafka.topic`"), std::string::npos);
  rest = {};
  rest.properties["ssl.ca.location"] = "/ca";
  EXPECT_NE(why_not("etcd://a:1/t", rest).find("`kafka.properties`"), std::string::npos);
  EXPECT_NE(why_not("postgres://a/d", rest).find("`kafka.properties`"), std::string::npos);
  rest = {};
  rest.topic = "u";
  EXPECT_NE(why_not("postgres://a/d", rest).find("`kafka.topic`"), std::string::npos);
  EXPECT_NE(why_not("quorum://localhost/s", rest).find("`kafka.topic`"), std::string::npos);
}

}  // namespace
}  // namespace neliroute
