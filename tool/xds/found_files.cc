#include "tool/xds/found_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "tool/print/output.h"
#include "tool/xds/envoy_sample.h"
#include "tool/xds/lua_filter.h"

namespace neliroute::tool {
namespace {

// A file of 65,536 partitions with as many owners is a tenth of that.
constexpr std::size_t kReadMost = std::size_t{64} << 20;

Error not_ours(const std::string& path, const std::string& why, const std::string& remedy) {
  return {Errc::bad_option,
          fmt::format("--xds-dir: {} is in the way: {}; {}move it away, or choose another folder",
                      shown(path), why, remedy)};
}

Result<void> check_head(const std::string& path, std::string_view head) {
  const auto text = found_text(path);
  if (!text) return text.error();
  if (text->empty() || text->starts_with(head)) return {};
  return not_ours(path, fmt::format("it does not begin with {}, as ours does", shown(head)), "");
}

}  // namespace

Result<std::string> found_text(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return std::string();
  if (error) return not_ours(path, error.message(), "");
  if (!std::filesystem::is_regular_file(status)) {
    return not_ours(path, "it is something else than a file", "");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return not_ours(path, std::generic_category().message(errno), "let this process read it, ");
  }
  std::string text;
  char part[64 * 1024];
  while (file && text.size() <= kReadMost) {
    file.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() <= kReadMost) return text;
  return not_ours(path, "it is longer than any of ours", "");
}

Result<void> check_found(const XdsOptions& options) {
  const std::string folder = *options.folder + '/';
  if (auto done = check_head(folder + kLuaFile, kLuaHead); !done) return done;
  if (options.sample) {
    if (auto done = check_head(folder + kSampleFile, kSampleHead); !done) return done;
  }
  const auto owners = found_text(folder + kEdsFile);
  if (!owners) return owners.error();
  if (owners->empty() || admin::read_eds_json(*owners, options.cluster, 0)) return {};
  return not_ours(folder + kEdsFile,
                  fmt::format("it has no owners of a cluster {}", shown(options.cluster)),
                  "say with --xds-cluster whose it has, ");
}

}  // namespace neliroute::tool
