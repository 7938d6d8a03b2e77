// The application behind `neliroute run --upstream`: knows nothing of slots, and takes the epoch
// from the request. With --plain, an HTTP server that answers everything with 200: what a hop leads
// to.
//
//     routing_application --listen 127.0.0.1:9001 --store 127.0.0.1:9000 --name alpha-1
//     routing_application --listen 127.0.0.1:9001 --plain
#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>
#include <variant>

#include "bench/routing/programs/counting.h"
#include "bench/routing/programs/program.h"
#include "forward/rules/peer_fields.h"

namespace neliroute::bench {
namespace {

struct ApplicationOptions {
  std::string listen;
  std::string store;
  std::string name;
  bool plain = false;
};

void serve(StoreLink& store, const ServedPtr& served) {
  const auto what = read_increment(served->request());
  const auto read = forward::read_peer_fields(served->request());
  const auto* said = std::get_if<forward::PeerFields>(&read);
  const bool fenced = said != nullptr && said->epoch != kNoEpoch && said->slot;
  if (what && fenced) return increment(store, served, *what, *said->slot, said->epoch, nullptr);
  HttpAnswer answer;
  answer.status = what ? 428 : 400;
  answer.body = what ? "Neliroute-Epoch or Neliroute-Slot is missing\n"
                     : "expected X-Neli-Key: kN and Idempotency-Key or X-Bench-Call: N\n";
  served->answer(answer);
}

int run_application(const ApplicationOptions& options) {
  if (options.plain == !options.store.empty()) fail("give either --store or --plain");
  boost::asio::io_context io(1);
  std::optional<StoreLink> store;
  if (!options.plain) store.emplace(io, endpoint_of(options.store), options.name);
  HttpAnswer plain;
  plain.body = "served\n";
  const HttpServer server(io, endpoint_of(options.listen), [&](const ServedPtr& served) {
    store ? serve(*store, served) : served->answer(plain);
  });
  std::cout << "ready" << std::endl;
  io.run();
  return 0;
}

}  // namespace
}  // namespace neliroute::bench

int main(int count, char** arguments) {
  neliroute::bench::ApplicationOptions options;
  CLI::App app{"An application that counts, for bench/routing."};
  app.add_option("--listen", options.listen, "ADDRESS:PORT")->required();
  app.add_option("--store", options.store, "ADDRESS:PORT");
  app.add_option("--name", options.name, "tells this start from all others");
  app.add_flag("--plain", options.plain, "answers 200 to everything");
  CLI11_PARSE(app, count, arguments);
  std::signal(SIGPIPE, SIG_IGN);
  return neliroute::bench::run_application(options);
}
