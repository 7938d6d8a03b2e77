#include "kafka/kafka_ledger.h"

#include <utility>

#include "kafka/kafka_clients.h"

namespace neliroute {

Result<std::unique_ptr<KafkaLedger>> KafkaLedger::open(boost::asio::any_io_executor strand,
                                                       KafkaLedgerParameters parameters) {
  auto clients = std::make_shared<Clients>(std::move(strand), std::move(parameters));
  if (auto opened = clients->open(); !opened) return opened.error();
  return std::unique_ptr<KafkaLedger>(new KafkaLedger(std::move(clients)));
}

KafkaLedger::KafkaLedger(std::shared_ptr<Clients> clients) : clients_(std::move(clients)) {}

KafkaLedger::~KafkaLedger() { clients_->release(); }

void KafkaLedger::start(EventSink events, NoticeSink notices) {
  clients_->start(std::move(events), std::move(notices));
}

void KafkaLedger::on_refused(std::function<void(const Error&)> handler) {
  clients_->on_refused(std::move(handler));
}

void KafkaLedger::write(Write write) { clients_->write(write); }
void KafkaLedger::broadcast() { clients_->broadcast(); }
void KafkaLedger::restart_tail(Log log) { clients_->restart_tail(log); }
void KafkaLedger::reread(const RereadRequest& request) { clients_->reread(request); }
void KafkaLedger::subscribe() { clients_->subscribe(); }
void KafkaLedger::expedite(milliseconds within) { clients_->expedite(within); }
void KafkaLedger::finish_rebalances(std::uint32_t count) { clients_->finish_rebalances(count); }
void KafkaLedger::leave_group() { clients_->leave_group(); }

void KafkaLedger::count_others(std::function<void(std::optional<std::size_t>)> answer) {
  clients_->count_others(std::move(answer));
}

void KafkaLedger::close(LocalTime deadline, std::function<void()> done) {
  clients_->close(deadline, std::move(done));
}

}  // namespace neliroute
