// A channel to the leader of a log. When it ends, the leader is looked for again.
//
// Threads: the strand.   Units: indices, std::chrono.
// Errors: told by what is not answered; that nobody leads is reported.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "ledgers/quorum/leader_finder.h"
#include "net/await.h"
#include "net/channel.h"
#include "quorum/client_message.h"

namespace neliroute {

class QuorumLink : public std::enable_shared_from_this<QuorumLink> {
 public:
  /// Who uses it; each may end it from inside.
  struct Handlers {
    std::function<void()> opened;   ///< to a leader; null: does not matter
    std::function<void()> trusted;  ///< trust() was called
    std::function<void()> lost;     ///< what was said on it may have been in vain
    std::function<void(quorum::ToClient&)> heard;  ///< no answer to ask()
  };

  /// `patience`: what is not answered within it makes the voter one that is left.
  QuorumLink(boost::asio::any_io_executor strand, std::shared_ptr<QuorumVoters> voters, Log log,
             milliseconds patience);

  /// Before start().
  void add(Handlers handlers) { handlers_.push_back(std::move(handlers)); }
  void start();
  void close();

  /// Counts the channels; 0: there is none at present.
  [[nodiscard]] std::uint64_t channel() const noexcept { return session_ ? session_->number : 0; }
  /// No value: it was not answered, and will not be.
  [[nodiscard]] Awaitable<std::optional<quorum::Answer>> ask(quorum::Ask question);
  /// Once on each channel: from now on a leader that says nothing is one that is silent.
  void follow(quorum::Index next);
  void append(std::uint64_t number, const std::string& record);
  /// The log behind this channel is the one that is read: it may be written to.
  void trust();
  [[nodiscard]] bool is_trusted() const noexcept { return session_ && session_->trusted; }
  [[nodiscard]] bool is_followed() const noexcept { return session_ && session_->followed; }
  /// Ends this channel; nothing is wrong with the voter.
  void drop();
  /// Ends this channel because the voter is silent, and why.
  void leave(const std::string& why);

  [[nodiscard]] QuorumVoters& voters() noexcept { return *voters_; }

 private:
  struct Question {
    explicit Question(const boost::asio::any_io_executor& strand) : answered(strand) {}
    boost::asio::steady_timer answered;
    std::optional<quorum::Answer> answer;
    LocalTime asked = boot_now();
  };
  struct Session {
    std::uint64_t number = 0;
    std::shared_ptr<Channel> channel;
    std::deque<std::string> unsaid;
    bool saying = false;
    bool followed = false;
    bool trusted = false;
    std::string end;  ///< why it ended, where this side ended it
    LocalTime heard = boot_now();
    std::map<std::uint64_t, std::shared_ptr<Question>> asked;
  };

  [[nodiscard]] Awaitable<> run();
  [[nodiscard]] Awaitable<> serve(std::shared_ptr<Channel> channel);
  [[nodiscard]] Awaitable<> say_all(std::shared_ptr<Session> session);
  void say(const quorum::ToVoter& message);
  /// False: the channel is over.
  [[nodiscard]] bool take(Session& session, const std::string& text);
  void take_answer(Session& session, quorum::Answer answer);
  void lose(Session& session);
  void watch();
  void note_unreachable();
  [[nodiscard]] milliseconds silence_most() const;
  void tell(std::function<void()> Handlers::*what);

  boost::asio::any_io_executor strand_;
  std::shared_ptr<QuorumVoters> voters_;
  Log log_;
  milliseconds patience_;
  LeaderFinder finder_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer silent_;
  std::vector<Handlers> handlers_;
  std::shared_ptr<Session> session_;
  std::uint64_t sessions_ = 0;
  std::uint64_t questions_ = 0;
  LocalTime lost_;  ///< when there was a leader last
  bool closed_ = false;
};

}  // namespace neliroute
