#include "tool/xds/xds_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "router/options/option_text.h"
#include "router/text/json_text.h"
#include "tool/command_line/take.h"
#include "tool/print/output.h"
#include "tool/xds/found_files.h"

namespace neliroute::tool {
namespace {

Error xds_misuse(std::string text) { return {Errc::bad_option, std::move(text)}; }

Result<std::string> read_cluster(const std::string& text) {
  constexpr std::size_t kMost = 255;
  const bool printable =
      std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (text.empty() || text.size() > kMost || !printable || !is_utf8(text)) {
    return xds_misuse(
        fmt::format("{} is no name of a cluster; give 1 to {} printable characters, the "
                    "service_name of Envoy's eds_cluster_config",
                    shown(text), kMost));
  }
  return text;
}

}  // namespace

void add_xds_options(CommandLine& line, XdsOptions& options) {
  line.add({.flag = "--xds-dir", .type = "DIR",
            .help = "Keep files there by which an Envoy sends requests to owners: eds.json and "
                    "neliroute.lua (docs/routing.md)"},
           into(options.folder));
  add_flag(line, "--xds-sample",
           "Also write DIR/envoy.yaml, a whole configuration", options.sample);
  static const std::string cluster =
      fmt::format("What Envoy calls the cluster (default: {})", admin::kEdsCluster);
  line.add({.flag = "--xds-cluster", .type = "NAME", .help = cluster},
           into(options.cluster, read_cluster));
}

Result<void> XdsOptions::settle() {
  if (!folder) {
    if (sample || cluster != admin::kEdsCluster) {
      return xds_misuse(
          "--xds-sample and --xds-cluster need --xds-dir: say where Envoy's files go");
    }
    return {};
  }
  std::error_code error;
  const auto path = std::filesystem::absolute(*folder, error);
  if (error || !std::filesystem::is_directory(path, error)) {
    return xds_misuse(
        fmt::format("--xds-dir: {} is no folder{}; make it first, writable for this "
                    "process and readable for Envoy",
                    shown(*folder), error ? " (" + error.message() + ")" : ""));
  }
  if (!is_utf8(path.native())) {
    return xds_misuse(
        fmt::format("--xds-dir: the path {} is not UTF-8, which Envoy's configuration "
                    "must be; choose another",
                    shown(path.native())));
  }
  folder = path.lexically_normal().native();
  while (folder->size() > 1 && folder->ends_with('/')) folder->pop_back();
  return check_found(*this);
}

}  // namespace neliroute::tool
