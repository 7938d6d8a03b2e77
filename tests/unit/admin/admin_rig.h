// A reader with a ledger in memory, an AdminServer before it, and clients on one io_context.
//
// The reader's clock stands still at the time at which the test began, and leases last longer than
// any test.
//
// Threads: one.   Units: bytes.   Errors: none.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json/object.hpp>
#include <memory>
#include <neliroute/admin.h>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute::testing_admin {

using testing_records::Writer;

inline constexpr milliseconds kLongLease{600'000};
/// Somebody else, whose lease outlasts the test.
[[nodiscard]] Writer writer(std::uint64_t id);

struct HttpAnswer {
  unsigned status = 0;
  std::string header;  ///< all of it
  std::string body;
  [[nodiscard]] std::string field(std::string_view name) const;
  [[nodiscard]] boost::json::object json() const;
};

struct ServerEvent {
  std::string name;
  std::string data;
  [[nodiscard]] boost::json::object json() const;
};

class AdminRig;

/// A connection, from its other end.
class Client {
 public:
  /// Of a rig's server. `reads`: else it takes nothing until start_reading().
  explicit Client(AdminRig& rig, bool reads = true);
  /// What is longer than a socket takes is sent while the rig runs.
  void send(std::string text);
  void start_reading() { read(); }
  void close() { socket_.close(); }
  /// Waits for as many whole answers (a HEAD's has no body), and takes them.
  [[nodiscard]] std::vector<HttpAnswer> answers(std::size_t count, bool head = false);
  [[nodiscard]] HttpAnswer answer(bool head = false) { return answers(1, head).front(); }
  /// GET, and its answer.
  [[nodiscard]] HttpAnswer get(const std::string& target);
  /// Waits for an event of that name, and takes all up to it.
  [[nodiscard]] ServerEvent event(std::string_view name);
  [[nodiscard]] const std::string& received() const noexcept { return received_; }
  /// Of what was to be sent, how much the server's side has not taken.
  [[nodiscard]] std::size_t unsent() const noexcept { return *unsent_; }
  /// Whether the server has closed it.
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Waits until it has.
  [[nodiscard]] bool ends();

 private:
  void read();
  [[nodiscard]] bool take_answer(HttpAnswer& answer, bool head);

  AdminRig& rig_;
  boost::asio::ip::tcp::socket socket_;
  std::array<char, 16384> chunk_{};
  std::string received_;
  bool ended_ = false;
  std::shared_ptr<std::size_t> unsent_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class AdminRig : public testing_reader::ReaderRig {
 public:
  /// `ago`: when the ledger last answered.
  explicit AdminRig(bool watcher = true, AdminLimits limits = {}, milliseconds ago = {},
                    milliseconds prepare_timeout = {});
  ~AdminRig();

  /// Somebody else owns all partitions.
  void let_others_own();

  [[nodiscard]] Observable observable() const;
  std::unique_ptr<AdminServer> server;
};

/// "GET target HTTP/1.1".
[[nodiscard]] std::string request(const std::string& target, const std::string& method = "GET",
                                  const std::string& fields = "");

}  // namespace neliroute::testing_admin
