#include "router/listen/accept_gate.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace neliroute {
namespace {

using boost::asio::ip::address;
using boost::asio::ip::tcp;
using boost::system::error_code;

// At a time; further ones are just closed.
constexpr std::size_t kRefusalsMost = 64;
// Where there is no descriptor left, accepting fails at once, again and again.
constexpr milliseconds kAgain{50};
constexpr milliseconds kTellEach{60'000};
// Linux's own bound of a queue (net.core.somaxconn).
constexpr int kQueueMost = 4096;

}  // namespace

std::size_t places_for(std::size_t connections, std::size_t files_each) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return connections;
  return std::min<std::size_t>(connections, std::max<rlim_t>(files.rlim_cur / files_each, 1));
}

address plain_address(const address& given) {
  if (!given.is_v6() || !given.to_v6().is_v4_mapped()) return given;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, given.to_v6());
}

/// What places leave, which may outlive the gate.
struct AcceptGate::Shared {
  std::size_t most = 0;
  std::size_t share = 0;  ///< of one address
  std::size_t count = 0;
  std::size_t refused = 0;
  std::map<address, std::size_t> of_address;
  Place::Line arriving, idle, working;  ///< for the longest time first

  /// Of `from`, or of anybody. False: all of them are at work.
  bool evict(const address* from) {
    for (Place::Line* line : {&arriving, &idle}) {
      const auto found = std::find_if(line->begin(), line->end(), [&](const Place* one) {
        return from == nullptr || one->address_ == *from;
      });
      if (found == line->end()) continue;
      Place& place = **found;
      place.leave();
      if (const auto close = std::exchange(place.close_, nullptr)) close();  // may end the place
      return true;
    }
    return false;
  }
};

AcceptGate::Place::Place(std::shared_ptr<Shared> shared, const address& from, bool refused)
    : shared_(std::move(shared)), address_(from), refused_(refused) {
  if (refused_) {
    ++shared_->refused;
    return;
  }
  Line own{this};  // what may throw comes first
  ++shared_->of_address[address_];
  ++shared_->count;
  at_ = own.begin();
  line_ = &shared_->working;
  line_->splice(line_->end(), own);
}

AcceptGate::Place::~Place() {
  leave();
  if (refused_) --shared_->refused;
}

void AcceptGate::Place::arrives() { stand_in(shared_->arriving); }
void AcceptGate::Place::idles() { stand_in(shared_->idle); }
void AcceptGate::Place::works() { stand_in(shared_->working); }

void AcceptGate::Place::stand_in(Line& line) {
  if (line_ == nullptr) return;
  line.splice(line.end(), *std::exchange(line_, &line), at_);
}

// One that was evicted counts no more, though it may take a while to end.
void AcceptGate::Place::leave() {
  if (line_ == nullptr) return;
  std::exchange(line_, nullptr)->erase(at_);
  --shared_->count;
  const auto of = shared_->of_address.find(address_);
  if (--of->second == 0) shared_->of_address.erase(of);
}

AcceptGate::AcceptGate(tcp::acceptor acceptor, Options options, Take take)
    : acceptor_(std::move(acceptor)),
      again_(acceptor_.get_executor()),
      options_(std::move(options)),
      take_(std::move(take)),
      shared_(std::make_shared<Shared>()) {
  shared_->most = options_.connections;
  shared_->share = options_.connections - options_.connections / 4;
}

AcceptGate::~AcceptGate() { *phase_ = Phase::ended; }

std::size_t AcceptGate::connections() const noexcept { return shared_->count; }
std::size_t AcceptGate::most() const noexcept { return shared_->most; }

tcp::endpoint AcceptGate::endpoint() const {
  error_code ignored;
  return acceptor_.local_endpoint(ignored);
}

void AcceptGate::listen(error_code& error) {
  acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
}

void AcceptGate::start() {
  if (*phase_ == Phase::open) accept();
}

// Whoever is in the kernel's queue would be reset with it.
void AcceptGate::stop() {
  if (std::exchange(*phase_, Phase::stopped) != Phase::open) return;
  again_.cancel();
  error_code error;
  acceptor_.cancel(error);
  acceptor_.non_blocking(true, error);
  for (int i = 0; i < kQueueMost && !error; ++i) {
    tcp::socket socket(acceptor_.get_executor());
    acceptor_.accept(socket, error);
    if (!error) admit_safely(std::move(socket));
  }
  acceptor_.close(error);
}

void AcceptGate::accept() {
  acceptor_.async_accept(
      acceptor_.get_executor(),
      [this, phase = phase_](const error_code& error, tcp::socket socket) {
        if (*phase != Phase::ended) on_accept(error, std::move(socket));
      });
}

// One that was accepted just before the end is served.
void AcceptGate::on_accept(const error_code& error, tcp::socket socket) {
  if (!error) {
    admit_safely(std::move(socket));
    return start();
  }
  if (*phase_ != Phase::open) return;
  tell(error);
  shared_->evict(nullptr);  // who is accepted next needs a descriptor
  again_.expires_after(kAgain);
  again_.async_wait([this, phase = phase_](const error_code& cancelled) {
    if (!cancelled && *phase == Phase::open) accept();
  });
}

// If there is no memory for one more client, it is closed.
void AcceptGate::admit_safely(tcp::socket socket) {
  try {
    admit(std::move(socket));
  } catch (...) {
  }
}

void AcceptGate::admit(tcp::socket socket) {
  error_code error;
  const auto peer = socket.remote_endpoint(error);
  const address from = error ? address() : plain_address(peer.address());
  const auto of = shared_->of_address.find(from);
  const bool has_share = !options_.is_exempt || !options_.is_exempt(from);
  bool full = false;
  if (has_share && of != shared_->of_address.end() && of->second >= shared_->share) {
    full = !shared_->evict(&from);
  } else if (shared_->count >= shared_->most) {
    full = !shared_->evict(nullptr);
  }
  if (full && shared_->refused >= kRefusalsMost) return;
  take_(std::move(socket), std::make_shared<Place>(shared_, from, full), full);
}

void AcceptGate::tell(const error_code& error) {
  const auto now = Clock::now();
  if (!options_.on_notice || (told_ && now < *told_ + kTellEach)) return;
  told_ = now;
  options_.on_notice({Severity::warning, options_.name + " cannot accept connections: " +
                                             error.message() + "; it tries again"});
}

}  // namespace neliroute
