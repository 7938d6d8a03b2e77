#include "tool/xds/envoy_sample.h"

#include <boost/algorithm/string/replace.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <string_view>

#include "tool/xds/lua_filter.h"

namespace neliroute::tool {
namespace {

// What stands in @ signs is replaced.
constexpr std::string_view kSample =
    R"yaml(
@HEAD@, and replaces it at its next start: copy
# it, then change addresses and limits.   envoy -c envoy.yaml
# Each request goes to the owner of its key, the field @KEY@.
node: {id: edge-1, cluster: edge}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}
static_resources:
  listeners:
  - name: in
    address: {socket_address: {address: 127.0.0.1, port_value: 8080}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": @API@.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          # Whoever names a partition may choose an owner that answers 421, and has it asked many
          # times. Leave this out if all callers may be trusted: then those that know the partition
          # may send it as @PARTITION@ in place of the key.
          early_header_mutation_extensions:
          - name: envoy.http.early_header_mutation.header_mutation
            typed_config:
              "@type": @API@.http.early_header_mutation.header_mutation.v3.HeaderMutation
              mutations: [{remove: @PARTITION@}]
          http2_protocol_options: {max_concurrent_streams: 100}  # else one caller fills max_retries
          local_reply_config:
            mappers:
            - filter: {response_flag_filter: {flags: [UH]}}  # no owner, or no key
              headers_to_add:
              - header: {key: x-neli-unowned, value: "true"}
              - header: {key: retry-after, value: "1"}
              - header: {key: cache-control, value: no-store}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              # Each try chooses a host anew: one after a move, or after a dead owner was replaced,
              # finds the new owner. 421 says "not mine any more". The pauses grow from
              # 2 ms, as a planned move takes a few, to at most 1 s, so 29 more tries take
              # about 10 s: longer than the partitions of a killed owner are
              # unowned (--session). What makes an application answer 421 is tried as often.
              - match:
                  prefix: "/"
                  headers:  # what may be sent twice is, if a connection breaks before an answer
                  - name: ":method"
                    string_match: {safe_regex: {regex: "GET|HEAD|OPTIONS|PUT|DELETE"}}
                route: &twice
                  cluster: owners
                  timeout: 15s
                  retry_policy:
                    retry_on: "connect-failure,refused-stream,reset,retriable-status-codes"
                    retriable_status_codes: [421]
                    num_retries: 29
                    retry_back_off: {base_interval: 0.002s, max_interval: 1s}
              - match: {prefix: "/", headers: [{name: idempotency-key, present_match: true}]}
                route: *twice
              - match: {prefix: "/"}
                route:
                  cluster: owners
                  timeout: 15s
                  retry_policy:
                    retry_on: "connect-failure,refused-stream,reset-before-request,\
                      retriable-status-codes"
                    retriable_status_codes: [421]
                    num_retries: 29
                    retry_back_off: {base_interval: 0.002s, max_interval: 1s}
          http_filters:
          - name: envoy.filters.http.header_to_metadata  # trusted callers that know the partition
            typed_config:
              "@type": @API@.filters.http.header_to_metadata.v3.Config
              request_rules:
              - header: @PARTITION@
                on_header_present: {metadata_namespace: envoy.lb, key: partition, type: STRING}
          - name: envoy.filters.http.lua                 # callers that only have the key
            typed_config:
              "@type": @API@.filters.http.lua.v3.Lua
              default_source_code: {filename: @LUA@}
          - name: envoy.filters.http.router
            typed_config:
              "@type": @API@.filters.http.router.v3.Router
  clusters:
  - name: owners
    type: EDS
    connect_timeout: 0.5s
    # Callers may speak HTTP/2 in any case; owners get HTTP/1.1. For owners that speak HTTP/2
    # without TLS, as servers of gRPC do, take the # from the next four lines, and add ,unavailable
    # to both retry_on: gRPC has no 421, so they answer UNAVAILABLE to what is not theirs.
    #typed_extension_protocol_options:
    #  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
    #    "@type": @API@.upstreams.http.v3.HttpProtocolOptions
    #    explicit_http_config: {http2_protocol_options: {}}
    # By default only 3 requests at a time may be between two tries, and a killed owner fails the
    # rest. A retry_budget does not help, as it does not count requests that wait.
    circuit_breakers:
      thresholds: [{max_retries: 10000, max_pending_requests: 10000, max_requests: 10000}]
    eds_cluster_config:
      service_name: @CLUSTER@
      eds_config:
        resource_api_version: V3
        path_config_source:
          path: @EDS@
          watched_directory: {path: @FOLDER@}
    lb_subset_config:
      fallback_policy: NO_FALLBACK                       # never somebody who is not the owner
      list_as_any: true
      subset_selectors: [{keys: [partition], single_host_per_subset: true}]
)yaml";

/// YAML takes a string as JSON has it.
std::string yaml_text(const std::string& text) {
  return boost::json::serialize(boost::json::string(text));
}

}  // namespace

std::string envoy_sample(const std::string& folder, const std::string& cluster) {
  std::string text(kSample.substr(1));
  boost::replace_all(text, "@HEAD@", kSampleHead);
  boost::replace_all(text, "@API@", "type.googleapis.com/envoy.extensions");
  boost::replace_all(text, "@KEY@", kKeyField);
  boost::replace_all(text, "@PARTITION@", kPartitionField);
  boost::replace_all(text, "@LUA@", yaml_text(folder + "/neliroute.lua"));
  boost::replace_all(text, "@EDS@", yaml_text(folder + "/eds.json"));
  boost::replace_all(text, "@FOLDER@", yaml_text(folder));
  boost::replace_all(text, "@CLUSTER@", yaml_text(cluster));
  return text;
}

}  // namespace neliroute::tool
