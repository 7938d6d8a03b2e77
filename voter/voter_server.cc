#include "voter/voter_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <neliroute/clock.h>
#include <system_error>
#include <thread>
#include <utility>

#include "base/host_names.h"
#include "base/process_id.h"
#include "base/side_threads.h"
#include "quorum/client_message.h"
#include "voter/peer_link.h"
#include "voter/posix_files.h"
#include "voter/server_options.h"
#include "voter/served_log.h"
#include "voter/voter_door.h"

namespace neliroute {
namespace {

using boost::asio::ip::tcp;

/// For what is being stored, at the end. A disk that hangs for longer is left to itself.
constexpr milliseconds kStoredWithin{10'000};

constexpr milliseconds kTlsReadEach{10'000};

/// A connection to a voter that this one was not told of.
constexpr milliseconds kStrangerKept{60'000};

Result<tcp::acceptor> listen(boost::asio::io_context& io, const std::string& address) {
  boost::system::error_code error;
  for (const tcp::endpoint& endpoint : endpoints_for(address)) {
    tcp::acceptor acceptor(io);
    acceptor.open(endpoint.protocol(), error);
    if (error) continue;
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (endpoint.protocol() == tcp::v6()) {
      acceptor.set_option(boost::asio::ip::v6_only(endpoint.address().is_loopback()), error);
    }
    acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) return acceptor;
    if (error == boost::asio::error::address_in_use) break;
  }
  return Error(Errc::ledger_unfit, "cannot listen at " + address + ": " + error.message());
}

/// The disk needs files, too.
std::size_t clients_for(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::min(wanted, static_cast<std::size_t>(limit.rlim_cur / 4));
}

Error unfit(const Error& error) { return {Errc::ledger_unfit, error.detail()}; }

}  // namespace

struct VoterServer::State {
  State(VoterServerOptions given, Handlers told)
      : options(std::move(given)),
        handlers(std::move(told)),
        statistics(std::make_shared<VoterStatistics>(options.address, options.name,
                                                     options.election, options.logs)),
        notices(std::make_shared<VoterNotices>(handlers.notice,
                                               "voter " + options.address + " of quorum " +
                                                   options.name)),
        names(std::make_shared<HostNames>(io.get_executor())),
        disks(io.get_executor(), options.logs) {}
  ~State();

  [[nodiscard]] Result<void> use_tls();
  [[nodiscard]] Result<void> open_logs(const std::shared_ptr<FilePort>& files);
  [[nodiscard]] Result<void> refuse_more_logs(FilePort& files, const std::string& folder) const;
  void add_log(std::uint32_t number, const std::string& folder, std::shared_ptr<FilePort> files,
               OpenedDisk opened);
  void add_link(const std::string& voter);
  void add_door(tcp::acceptor acceptor);
  [[nodiscard]] ChannelOptions channel_options() const {
    return {std::string(quorum::kQuorumProtocol), options.key, quorum::kSaidBytesMax};
  }
  [[nodiscard]] TlsContextPtr tls_to_others();
  void send(std::uint32_t log, const quorum::Message& message);
  void forget_strangers(LocalTime now);
  [[nodiscard]] Result<void> begin();
  void end(const Error& error);

  const VoterServerOptions options;
  const Handlers handlers;
  const std::shared_ptr<VoterStatistics> statistics;
  /// Everything else has something of it.
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      io.get_executor()};
  std::shared_ptr<VoterNotices> notices;
  std::shared_ptr<HostNames> names;
  SideThreads disks;
  std::shared_ptr<TlsIdentity> identity;
  TlsContextPtr trusted;
  LocalTime trusted_at = boot_now();
  std::vector<std::unique_ptr<ServedLog>> logs;
  struct Link {
    std::shared_ptr<PeerLink> link;
    LocalTime used;
  };
  std::map<std::string, Link> links;
  std::shared_ptr<VoterDoor> door;
  /// To be told by its thread.
  std::vector<Notice> first_notices;
  std::thread thread;
};

VoterServer::State::~State() {
  io.stop();
  if (thread.joinable()) thread.join();
  disks.close(kStoredWithin);
  names->close();
}

Result<void> VoterServer::State::use_tls() {
  if (!options.tls) return {};
  TlsServerFiles files;
  files.certificate = options.certificate;
  files.key = options.private_key;
  files.authorities = options.authorities;
  auto made = TlsIdentity::make(files, [told = notices](const std::string& text) {
    told->say(Severity::warning, text);
  });
  if (!made) return made.error();
  identity = std::move(*made);
  auto trusting_others =
      trusting({options.authorities, options.certificate, options.private_key});
  if (!trusting_others) return trusting_others.error();
  trusted = std::move(*trusting_others);
  return {};
}

/// Its files are read anew now and then, as they may have been renewed.
TlsContextPtr VoterServer::State::tls_to_others() {
  const LocalTime now = boot_now();
  if (now < later(trusted_at, kTlsReadEach)) return trusted;
  trusted_at = now;
  auto made = trusting({options.authorities, options.certificate, options.private_key});
  if (made) {
    trusted = std::move(*made);
  } else {
    notices->say_seldom("tls", Severity::error, made.error().message(), now);
  }
  return trusted;
}

// --- Start ---------------------------------------------------------------------------------------

Result<void> VoterServer::State::refuse_more_logs(FilePort& files,
                                                  const std::string& folder) const {
  const auto names_there = files.list(folder);
  if (!names_there) return unfit(names_there.error());
  const std::string next = "log-" + std::to_string(options.logs);
  for (const std::string& there : *names_there) {
    if (there != next) continue;
    const auto files_there = files.list(folder + "/" + there);
    if (!files_there) return unfit(files_there.error());
    const bool is_log = std::ranges::any_of(
        *files_there, [](const std::string& name) { return name.starts_with("log."); });
    if (!is_log) continue;
    return Error(Errc::bad_option, "`" + folder + "` has more than " +
                                       std::to_string(options.logs) +
                                       " logs; give the number that the quorum began with");
  }
  return {};
}

Result<void> VoterServer::State::open_logs(const std::shared_ptr<FilePort>& files) {
  const std::string folder = options.folder + "/" + options.name;
  for (const std::string& made : {options.folder, folder}) {
    if (auto done = files->make_folder(made); !done) return unfit(done.error());
  }
  if (auto checked = refuse_more_logs(*files, folder); !checked) return checked;
  for (std::uint32_t number = 0; number < options.logs; ++number) {
    const std::string of_log = folder + "/log-" + std::to_string(number);
    auto opened = VoterDisk::open(
        *files, of_log, [] { return quorum::VoterId(draw_process_id().value()); });
    if (!opened) return unfit(opened.error());
    const quorum::Durable& found = opened->durable;
    const quorum::Member* own = found.entries.configuration().find(found.self);
    if (own != nullptr && own->address != options.address) {
      return Error(Errc::bad_option, "`" + of_log + "` is the folder of the voter " +
                                         own->address + "; give this one a folder of its own");
    }
    add_log(number, of_log, files, std::move(*opened));
  }
  return {};
}

void VoterServer::State::add_log(std::uint32_t number, const std::string& folder,
                                 std::shared_ptr<FilePort> files, OpenedDisk opened) {
  for (Notice& notice : opened.notices) first_notices.push_back(std::move(notice));
  const quorum::Durable& found = opened.durable;
  first_notices.push_back(
      {Severity::info, "log " + std::to_string(number) + " in `" + folder + "` " +
                           (found.log ? "has entries " + std::to_string(found.entries.first()) +
                                            " to " + std::to_string(found.entries.end())
                                      : "is empty") +
                           "; this voter has the id " + std::to_string(found.self.value())});
  ServedLog::Options of;
  of.number = number;
  of.folder = folder;
  of.kept = options.kept;
  of.bytes_max = options.log_bytes_max;
  of.statistics = statistics;
  of.voter.address = options.address;
  of.voter.addresses = options.voters;
  of.voter.priorities = priorities_of(options, number);
  of.voter.election = options.election;
  of.voter.new_log = quorum::LogId(draw_process_id().value());
  ServedLog::Handlers to;
  to.send = [this, number](const quorum::Message& message) { send(number, message); };
  to.failed = [this](const Error& error) { end(error); };
  logs.push_back(std::make_unique<ServedLog>(io.get_executor(), disks, notices, std::move(of),
                                             std::move(to), std::move(files),
                                             std::move(opened)));
}

void VoterServer::State::add_link(const std::string& voter) {
  PeerLink::Options to;
  to.name = options.name;
  to.address = voter;
  to.election = options.election;
  to.kept = options.kept;
  to.channel = channel_options();
  if (options.tls) to.tls = [this] { return tls_to_others(); };
  const auto link =
      std::make_shared<PeerLink>(io.get_executor(), names, notices, std::move(to));
  links[voter] = {link, boot_now()};
  link->begin();
}

void VoterServer::State::add_door(tcp::acceptor acceptor) {
  VoterDoor::Options of;
  of.name = options.name;
  of.address = options.address;
  of.election = options.election;
  of.kept = options.kept;
  of.channel = channel_options();
  of.channel.first_message_bytes_max = quorum::kHelloBytesMax;
  if (options.tls) of.tls = [this] { return identity->current(); };
  of.statistics = statistics;
  of.clients_max = clients_for(options.clients_max);
  std::vector<ServedLog*> all;
  for (const auto& log : logs) all.push_back(log.get());
  door = std::make_shared<VoterDoor>(std::move(acceptor), notices, std::move(of),
                                     std::move(all));
}

Result<void> VoterServer::State::begin() {
  boost::asio::post(io, [this] {
    for (const Notice& notice : std::exchange(first_notices, {})) {
      notices->say(notice.severity, notice.text);
    }
    for (const std::string& voter : options.voters) {
      if (voter != options.address) add_link(voter);
    }
    for (const auto& log : logs) log->begin();
    door->begin();
  });
  try {
    thread = std::thread([this] { io.run(); });
  } catch (const std::system_error& error) {
    return Error(Errc::system_refused, std::string("no thread for a voter: ") + error.what());
  }
  return {};
}

// --- Running -------------------------------------------------------------------------------------

void VoterServer::State::send(std::uint32_t log, const quorum::Message& message) {
  const LocalTime now = boot_now();
  const std::string& to = message.to_address;
  if (!links.contains(to)) {
    forget_strangers(now);
    if (links.size() >= quorum::kMembersMax) return;
    add_link(to);
  }
  auto& [link, used] = links.at(to);
  used = now;
  if (!link->is_open()) return;
  link->send(quorum::encode(quorum::ToVoter(quorum::PeerMessage{log, message})));
}

/// Of those that this voter was not told of some vote while the voters are being changed.
void VoterServer::State::forget_strangers(LocalTime now) {
  std::erase_if(links, [&](const auto& known) {
    const auto& [address, to] = known;
    const bool is_told = std::ranges::binary_search(options.voters, address);
    if (is_told || now < later(to.used, kStrangerKept)) return false;
    to.link->close();
    return true;
  });
}

/// What its disk has is not known any more, so it says nothing more to anybody.
void VoterServer::State::end(const Error& error) {
  if (statistics->ended.exchange(true)) return;
  for (const auto& log : logs) log->close();
  for (const auto& [_, to] : links) to.link->close();
  door->close();
  const Error why(error.code(), error.detail() +
                                    "; this voter has stopped. Look at its disk, then "
                                    "start it again");
  notices->say(Severity::error, why.detail());
  if (handlers.ended) handlers.ended(why);
}

// --- The class -----------------------------------------------------------------------------------

Result<std::unique_ptr<VoterServer>> VoterServer::start(VoterServerOptions options,
                                                        Handlers handlers) {
  return start_on(std::make_shared<PosixFiles>(), std::move(options), std::move(handlers));
}

Result<std::unique_ptr<VoterServer>> VoterServer::start_on(std::shared_ptr<FilePort> files,
                                                           VoterServerOptions options,
                                                           Handlers handlers) {
  std::ranges::sort(options.voters);
  if (auto checked = check(options); !checked) return checked.error();
  auto state = std::make_unique<State>(std::move(options), std::move(handlers));
  if (auto used = state->use_tls(); !used) return used.error();
  auto acceptor = listen(state->io, state->options.address);
  if (!acceptor) return acceptor.error();
  if (auto opened = state->open_logs(files); !opened) return opened.error();
  state->add_door(std::move(*acceptor));
  if (auto begun = state->begin(); !begun) return begun.error();
  return std::unique_ptr<VoterServer>(new VoterServer(std::move(state)));
}

VoterServer::VoterServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

std::shared_ptr<const VoterStatistics> VoterServer::statistics() const {
  return state_->statistics;
}

VoterServer::~VoterServer() = default;

}  // namespace neliroute
