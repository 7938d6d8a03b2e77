#include "ledgers/postgres/postgres_address.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "ledgers/postgres/postgres_schema.h"
#include "ledgers/topic_name.h"

namespace neliroute {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Whether `value` is one of two words.
bool take_switch(std::string_view value, std::string_view on, std::string_view off, bool& target) {
  if (value != on && value != off) return false;
  target = value == on;
  return true;
}

/// False: nothing of ours. `fits`: whether the value is one.
bool take_own(std::string_view name, std::string_view value, PostgresConnection& found,
              Result<void>& fits) {
  const auto expect = [&](bool fit, const char* expected) {
    if (!fit) {
      fits = Error{Errc::bad_option, "expected " + std::string(expected) + ", not \"" +
                                         std::string(value) + "\""};
    }
    return true;
  };
  if (name == "topic") {
    found.topic = value;
    fits = check_topic_name(value);
    return true;
  }
  if (name == "schema") {
    found.schema = value;
    fits = check_schema_name(value);
    return true;
  }
  if (name == "create") return expect(take_switch(value, "1", "0", found.create), "create=1 or 0");
  if (name == "notify") {
    return expect(take_switch(value, "on", "off", found.notify), "notify=on or off");
  }
  if (name == "assume") {
    return expect(take_switch(value, "durable", "nothing", found.assume_durable),
                  "assume=durable or nothing");
  }
  return false;
}

/// All that libpq knows of the address; empty: it cannot read it.
Parameters parsed(const std::string& uri) {
  char* trouble = nullptr;  // it may quote a password
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(uri.c_str(), &trouble), PQconninfoFree);
  PQfreemem(trouble);
  Parameters found;
  for (const auto* one = options.get(); one != nullptr && one->keyword != nullptr; ++one) {
    if (one->val != nullptr) found.emplace_back(one->keyword, one->val);
  }
  return found;
}

std::string value_of(const Parameters& parameters, std::string_view name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == parameters.end() ? "" : found->second;
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts(1);
  for (const char one : list) {
    if (one == ',') {
      parts.emplace_back();
    } else {
      parts.back() += one;
    }
  }
  return parts;
}

/// One may stand for all hosts.
const std::string& port_of(const std::vector<std::string>& ports, std::size_t host) {
  return host < ports.size() ? ports[host] : ports[0];
}

/// Whether a password with a character that stands for something in a URI was taken for the rest.
bool is_torn(const Parameters& parameters) {
  const std::string ports = value_of(parameters, "port");
  return value_of(parameters, "host").find('@') != std::string::npos ||
         value_of(parameters, "dbname").find_first_of("@/") != std::string::npos ||
         ports.find_first_not_of("0123456789,") != std::string::npos;
}

std::vector<std::string> hosts_in(const Parameters& parameters) {
  const std::string names = value_of(parameters, "host");
  return parts_of(names.empty() ? value_of(parameters, "hostaddr") : names);
}

/// Without a user.
std::string shown(const PostgresConnection& connection, const Parameters& parameters) {
  const auto hosts = hosts_in(parameters);
  const auto ports = parts_of(value_of(parameters, "port"));
  std::string text = "postgres://";
  for (std::size_t one = 0; one < hosts.size(); ++one) {
    const std::string& port = port_of(ports, one);
    text += (one == 0 ? "" : ",") + hosts[one] + (port.empty() ? "" : ":" + port);
  }
  text += "/" + value_of(parameters, "dbname") + "?topic=" + connection.topic;
  if (connection.schema != PostgresConnection{}.schema) text += "&schema=" + connection.schema;
  return text;
}

}  // namespace

Result<PostgresConnection> postgres_connection(std::string_view ledger) {
  PostgresConnection found;
  // As libpq reads it: what comes before @ may have any other character but a slash.
  const auto end = ledger.find_first_of("@/", ledger.find("://") + 3);
  const bool has_user = end != std::string_view::npos && ledger[end] == '@';
  const auto query = std::min(ledger.find('?', has_user ? end : 0), ledger.size());
  std::string_view rest = ledger.substr(std::min(query + 1, ledger.size()));
  std::string theirs;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const auto equals = std::min(one.find('='), one.size());
    Result<void> fits;
    if (take_own(one.substr(0, equals), one.substr(std::min(equals + 1, one.size())), found,
                 fits)) {
      if (!fits) return fits.error();
    } else {
      theirs += (theirs.empty() ? "?" : "&") + std::string(one);
    }
  }
  found.uri = std::string(ledger.substr(0, query)) + theirs;
  const Parameters parameters = parsed(found.uri);
  if (parameters.empty() && found.uri.find_first_not_of('/', found.uri.find(':') + 1) !=
                                std::string::npos) {
    return Error{Errc::bad_option,
                 "expected an address of libpq, as in postgres://USER@HOST:5432/DATABASE?topic=NAME"
                 "; of its query, topic, schema, create, notify and assume are ours"};
  }
  if (is_torn(parameters)) {
    return Error{Errc::bad_option,
                 "expected numbers for ports, and no @ in a host; in a user or a password write "
                 "%2F for /, %3A for :, %3F for ? and %40 for @"};
  }
  found.shown = shown(found, parameters);
  return found;
}

std::size_t libpq_hosts(const PostgresConnection& connection) {
  return hosts_in(parsed(connection.uri)).size();
}

std::size_t libpq_host_index(const PostgresConnection& connection, std::string_view host,
                             std::string_view port) {
  const Parameters all = parsed(connection.uri);
  const auto hosts = hosts_in(all);
  const auto ports = parts_of(value_of(all, "port"));
  for (std::size_t one = 0; one < hosts.size(); ++one) {
    const std::string& its = port_of(ports, one);
    if (hosts[one] == host && (its.empty() || its == port)) return one;
  }
  return 0;
}

Parameters libpq_parameters(const PostgresConnection& connection,
                            const std::vector<std::size_t>& hosts) {
  Parameters all = parsed(connection.uri);
  const std::size_t count = hosts_in(all).size();
  for (auto& [name, value] : all) {
    const auto parts = parts_of(value);
    const bool listed = name == "host" || name == "hostaddr" || name == "port";
    if (!listed || parts.size() != count) continue;
    value.clear();
    for (const std::size_t one : hosts) value += (value.empty() ? "" : ",") + parts[one];
  }
  // Whatever the address does not say. It says how long one host may take, in seconds.
  for (const auto& [name, value] :
       {std::pair{"connect_timeout", "2"}, {"application_name", "neliroute"},
        {"target_session_attrs", "read-write"}, {"client_encoding", "UTF8"}}) {
    if (value_of(all, name).empty()) all.emplace_back(name, value);
  }
  return all;
}

}  // namespace neliroute
