#include "admin/probe/probe_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <neliroute/detail/assert.h>
#include <utility>

#include "admin/connection.h"
#include "admin/site.h"
#include "router/text/json_text.h"
#include "router/text/listen_address.h"

namespace neliroute::admin {
namespace {

using boost::asio::ip::tcp;

class ProbePages final : public Pages {
 public:
  ProbePages(ProbeOptions options, bool only_here)
      : options_(std::move(options)), only_at_(only_here ? options_.listen : "") {}

  [[nodiscard]] std::variant<std::size_t, Refusal> may_post(const Request&) const override {
    return Refusal{405, "only GET and HEAD are answered here"};
  }
  [[nodiscard]] Answer answer(const Request& request, LocalTime now) override {
    return or_500([&] { return find(request, now); });
  }
  [[nodiscard]] std::weak_ptr<RouteWait> wait(const RouteQuestion&,
                                              std::function<void(Answer)>) override {
    return {};  // no page of these asks for it
  }

 private:
  [[nodiscard]] Answer find(const Request& request, LocalTime now) {
    if (!is_probe(request)) {
      if (const auto refusal = misdirected(request, only_at_)) return answer_of(*refusal);
    }
    if (request.path == "/healthz") return health(now);
    if (request.path == "/readyz") return readiness();
    if (request.path == "/metrics") {
      return metrics_answer(
          exposed_.get(now, 0, [&] { return exposed({}, options_.collectables); }));
    }
    return not_found(request.path, "there are /metrics, /healthz and /readyz");
  }
  [[nodiscard]] Answer health(LocalTime now) const {
    const std::string trouble = options_.trouble ? options_.trouble(now) : "";
    if (!trouble.empty()) return answer_of({503, trouble});
    return json_answer(R"({"status":"ok"})");
  }
  [[nodiscard]] Answer readiness() const {
    const std::string lacks = options_.lacks ? options_.lacks() : "";
    boost::json::object row{{"ready", lacks.empty()}};
    if (!lacks.empty()) put_text(row, "error", lacks);
    return json_answer(boost::json::serialize(row), lacks.empty() ? 200 : 503);
  }

  const ProbeOptions options_;
  const std::string only_at_;
  Shared exposed_;
};

}  // namespace

class ProbeServer::Impl final : public Service {
 public:
  Impl(boost::asio::any_io_executor strand, tcp::acceptor acceptor, bool only_here,
       ProbeOptions options)
      : Service(std::move(acceptor), options.limits, options.on_notice),
        strand_(std::move(strand)),
        pages_(std::make_unique<ProbePages>(std::move(options), only_here)) {}

  Pages& pages() override { return *pages_; }
  // No page of these is a stream.
  EventHub& hub() override { NELIROUTE_UNREACHABLE("none has events"); }
  Steps& steps() override { NELIROUTE_UNREACHABLE("none has steps"); }
  [[nodiscard]] const boost::asio::any_io_executor& strand() const noexcept { return strand_; }

 private:
  boost::asio::any_io_executor strand_;
  const std::unique_ptr<Pages> pages_;
};

Result<std::unique_ptr<ProbeServer>> ProbeServer::open(boost::asio::any_io_executor executor,
                                                       ProbeOptions options) {
  const boost::asio::any_io_executor strand = boost::asio::make_strand(executor);
  auto acceptor = listen_at(strand, options.listen);
  if (!acceptor) return acceptor.error();
  boost::system::error_code ignored;
  std::unique_ptr<ProbeServer> server(new ProbeServer);
  server->address_ = address_text(acceptor->local_endpoint(ignored));
  server->local_ = is_for_here(*acceptor);
  server->impl_ = std::make_shared<Impl>(strand, std::move(*acceptor), server->local_,
                                         std::move(options));
  boost::asio::post(strand, [impl = server->impl_] { impl->accept(); });
  return server;
}

ProbeServer::~ProbeServer() {
  if (!impl_) return;
  boost::asio::post(impl_->strand(), [impl = impl_] { impl->close_connections(); });
}

}  // namespace neliroute::admin
