#include "ledgers/kafka/client/broker_failures.h"

#include <algorithm>
#include <set>

#include "ledgers/kafka/client/kafka_error.h"

namespace neliroute {
namespace {

constexpr std::size_t kNamedMost = 3;  // brokers in one message

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// "sasl_ssl://HOST:PORT/bootstrap" is HOST:PORT to who wrote it.
std::string_view host_and_port(std::string_view broker) {
  if (const auto scheme = broker.find("://"); scheme != std::string_view::npos) {
    broker.remove_prefix(scheme + 3);
  }
  return broker.substr(0, broker.find('/'));
}

/// Without how long it took and how often it was the same, and without what would not help.
std::string shown(std::string_view text) {
  if (has(text, "Invalid response size")) return "what it answers is not of Kafka's protocol";
  return std::string{text.substr(0, text.rfind(" (after "))};
}

// By what librdkafka says, as its error codes do not tell these apart.
std::string_view advice(std::string_view text, rd_kafka_resp_err_t error) {
  if (has(text, "Failed to resolve")) {
    return "check the name in `kafka.brokers`, and this machine's DNS";
  }
  if (has(text, "certificate verify failed")) {
    return "name the authority that signed its certificate (`kafka.properties` ssl.ca.location), "
           "and check that the certificate is of this host name";
  }
  if (has(text, "SSL alert")) {
    return "it wants another certificate of this process: check `kafka.properties` "
           "ssl.certificate.location and ssl.key.location";
  }
  if (has(text, "in state SSL_HANDSHAKE")) {
    return "this port may speak no TLS: check `kafka.properties` security.protocol, and the port";
  }
  if (has(text, "in state APIVERSION_QUERY")) {
    return "this port may speak TLS (`kafka.properties` security.protocol=SSL or SASL_SSL), or "
           "not be Kafka's";
  }
  // After it has told which requests it knows. A plain connection's text says the same itself.
  // Which of the two it is, is a race with what is still to be sent.
  if (has(text, "SSL connection closed by peer") || has(text, "SSL transport error")) {
    return "this port may want SASL: check `kafka.properties` security.protocol";
  }
  return is_refusal(error) ? advice_on(error) : std::string_view{};
}

}  // namespace

// The log has what is no error event, too: a connection that was closed at once.
void BrokerFailures::note(rd_kafka_event_t* event) {
  const rd_kafka_event_type_t type = rd_kafka_event_type(event);
  if (type == RD_KAFKA_EVENT_ERROR) {
    return note(rd_kafka_event_error_string(event), rd_kafka_event_error(event));
  }
  const char* facility = nullptr;
  const char* text = nullptr;
  int level = 0;
  if (type != RD_KAFKA_EVENT_LOG || rd_kafka_event_log(event, &facility, &text, &level) != 0 ||
      std::string_view{facility} != "FAIL") {
    return;
  }
  std::string_view line{text};
  if (const auto thread = line.find("]: "); thread != std::string_view::npos) {
    line.remove_prefix(thread + 3);
  }
  note(line, RD_KAFKA_RESP_ERR_NO_ERROR);
}

// A refusal stays: between two of them the library says less of the same.
void BrokerFailures::note(std::string_view line, rd_kafka_resp_err_t error) {
  const auto end = line.find(": ");
  if (end == std::string_view::npos || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
  Failure& failure = failures_[std::string{host_and_port(line.substr(0, end))}];
  if (is_refusal(failure.error) && !is_refusal(error)) return;
  failure = {std::string{line.substr(end + 2)}, error};
}

std::size_t BrokerFailures::refusals() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(failures_.begin(), failures_.end(),
                    [](const auto& one) { return is_refusal(one.second.error); }));
}

std::string BrokerFailures::text() const {
  std::string made;
  std::set<std::string_view> to_do;
  std::size_t named = 0;
  for (const auto& [broker, failure] : failures_) {
    if (named++ == kNamedMost) break;
    made.append(made.empty() ? "" : ", ").append(broker).append(": ").append(shown(failure.text));
    const std::string_view what = advice(failure.text, failure.error);
    if (!what.empty()) to_do.insert(what);
  }
  if (failures_.size() > kNamedMost) {
    made += ", and " + std::to_string(failures_.size() - kNamedMost) + " more";
  }
  for (const std::string_view what : to_do) made.append("; ").append(what);
  return made;
}

}  // namespace neliroute
