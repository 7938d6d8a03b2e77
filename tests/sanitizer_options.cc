// Options of the sanitizers, compiled into every test; the variables ASAN_OPTIONS, UBSAN_OPTIONS
// and TSAN_OPTIONS add to them. The sanitizers call these functions by name.
extern "C" {

const char* __asan_default_options();
const char* __lsan_default_suppressions();
const char* __tsan_default_options();
const char* __tsan_default_suppressions();
const char* __ubsan_default_options();

const char* __asan_default_options() { return "detect_stack_use_after_return=1"; }

// Inside of librdkafka 2.15.1.
const char* __lsan_default_suppressions() {
  return
      // A client that ends while it waits for the answer who coordinates a group keeps the request,
      // 194 bytes, that the answer would have ended. Seen in one of 42 runs.
      "leak:rd_kafka_coord_req\n";
}

const char* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1"; }

// One a line, each under a comment with its reason. All but the first are inside of librdkafka
// 2.15.1.
const char* __tsan_default_suppressions() {
  return
      // Boost.Asio counts an executor's owners down with release, and the last one acquires by a
      // fence, which ThreadSanitizer does not know.
      "race:boost::asio::execution::detail::shared_target_executor::~shared_target_executor\n"
      // Whoever polls looks at a flag of the group without its lock, to have a heartbeat sent; the
      // flag is set again as long as it stands.
      "race:rd_kafka_app_polled\n"
      // Which broker leads a partition, by which epoch, is learnt under a lock and looked at
      // without it by brokers' threads: when they fail, and when they fetch. A broker refuses a
      // fetch with an old epoch, and the next one has the new one.
      "race:rd_kafka_toppar_leader_update\n"
      // So is a topic's id, when the topic was recreated. A broker refuses a fetch with an old id,
      // or with half of one, and the next one has the new one.
      // Both ends are named, as where the writer was is not always remembered.
      "race:rd_kafka_topic_metadata_update\n"
      "race:can_use_topic_ids\n"
      // Once a second a client that is not connected picks a broker from its list, without the
      // list's lock (rd_kafka_1s_tmr_cb); a broker's thread that ends then frees what it looks at.
      // Seen in one run of a hundred on an overloaded machine, while a client ended.
      "race:rd_kafka_connect_any\n"
      // After a fatal error of its group a member stops a timer without the lock of the client's
      // list of timers, while a broker's thread starts another one. Seen once, after a group was
      // deleted. neliroute gives that client up, and makes a new one.
      "race:rd_kafka_cgrp_consumer_serve\n"
      // A broker's thread whose fetch of a partition failed looks without the lock whether the
      // partition is still fetched, while it is sought elsewhere. At worst the next fetch comes
      // a moment later, or sooner.
      "race:rd_kafka_toppar_fetch_backoff\n"
      // Takes the client's lock while it holds a partition's, which others take the other way
      // round: a log's leader is asked for again after OffsetForLeaderEpoch has failed.
      "deadlock:rd_kafka_toppar_handle_OffsetForLeaderEpoch\n";
}

const char* __ubsan_default_options() { return "print_stacktrace=1"; }
}
