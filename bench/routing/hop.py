#!/usr/bin/python3
"""What one hop costs: neliroute gateway and `run --upstream` beside a bare proxy on Boost.Beast and
Envoy as a plain proxy, each on the same core, one after the other.

    bench/routing/hop.py --json FILE         saturation and latency at half load; about 3 minutes
    bench/routing/hop.py --memory 300        and the gateway's memory at 5,000 calls a second on
                                             1,000 connections, for so many seconds (default 20)
    bench/routing/hop.py --quick             a look

The proxy has core 0 for itself (taskset); the load, the server behind the proxy, the broker (the
embedded one) and the owner share the other cores. Calls are GETs with a small answer on keep-alive
connections, of which there are never more: a call that is due while all are busy waits for one, and
its latency counts. Half load is half of what the slowest of all managed, the same for all. A proxy
that did not use its core to nearly 100 % at saturation was not the limit: the table says how much.
Exit code: 0, unless something could not be run (2).
"""
import argparse
import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]
import envoy  # noqa: E402
import machine  # noqa: E402
import records  # noqa: E402
from cast import KEY, Load, Process, SLOTS, address, program, wait_for  # noqa: E402
from harness import children, deps, growth, process  # noqa: E402
from harness.kafka_broker import free_ports  # noqa: E402
from meter import spent, thread_seconds  # noqa: E402

TOPIC = "hop"
PARTITIONS = 16
KEYS = 1000
WARM_S = 1.0
ON_PROXY_CORE = ("taskset", "-c", "0")


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of all proxies in turn")
    parser.add_argument("--closed", type=int, default=32, help="calls under way at saturation")
    parser.add_argument("--memory", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--memory-rate", type=float, default=5000)
    parser.add_argument("--memory-connections", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="one round of 2 s, 5 s of memory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.rounds, options.memory = 2, 1, 5
    return options


class Hops:
    """The server, and the proxies before it. Each is started for a measurement, and ended."""

    def __init__(self, folder, clean_up):
        self.folder = Path(folder)
        self.clean_up = clean_up
        self.count = 0
        self.server_port, self.owner_port = free_ports(2)
        server = self._process("server", [program("application"), "--plain", "--listen",
                                          address(self.server_port)])
        server.wait_said("ready")
        brokers = process.embedded_broker(folder, clean_up, "--topic", TOPIC, "--partitions",
                                          PARTITIONS)["brokers"]
        self.lane = {"brokers": brokers, "topic": TOPIC, "group": TOPIC, "slots": SLOTS,
                     "partitions": PARTITIONS}
        self.starts = {"direct": self.direct, "bare Beast": self.bare}
        if envoy.binary():
            self.starts["Envoy"] = self.envoy
        self.starts.update({"gateway": self.gateway, "run --upstream": self.forwarder})

    def _process(self, name, command):
        self.count += 1
        folder = self.folder / f"{self.count}"
        folder.mkdir()
        made = Process(folder, name, command)
        self.clean_up(children.end, made.child, 0)
        return made

    def direct(self):
        """No proxy."""
        return None, self.server_port, []

    def bare(self):
        """The yardstick."""
        port = free_ports(1)[0]
        proxy = self._process("plain", [*ON_PROXY_CORE, program("plain_proxy"), "--listen",
                                        address(port), "--to", address(self.server_port)])
        proxy.wait_said("ready")
        return proxy, port, []

    def envoy(self):
        """One worker. Its main thread and its worker share the core."""
        port = free_ports(1)[0]
        self.count += 1
        folder = self.folder / f"{self.count}"
        folder.mkdir()
        proxy = envoy.Envoy(folder, port, envoy.plain_configuration(port, self.server_port),
                            ON_PROXY_CORE)
        self.clean_up(children.end, proxy.child, 0)
        return proxy, port, []

    def _owner(self, prefix, port, **options):
        command = [*prefix, process.tool_path(), "run", *process.option_list(
            {**self.lane, "name": f"owner-{self.count}", "profile": "fast", "json": True,
             "endpoint": address(port), "events": "-", **options})]
        owner = self._process("owner", command)

        def leads():
            if owner.child.poll() is not None:
                raise RuntimeError(owner.tail())
            return owner.out.read_text().count('"acquired"') >= PARTITIONS
        children.wait_until(leads, 30, owner.tail)
        return owner

    def gateway(self):
        """An owner whose endpoint is the server itself."""
        owner = self._owner((), self.server_port)
        port = free_ports(1)[0]
        gateway = self._process("gateway", [
            *ON_PROXY_CORE, process.tool_path(), "gateway",
            *process.option_list({**self.lane, "listen": address(port), "key": KEY})])
        gateway.wait_said("gateway: http://", in_errors=True)
        return gateway, port, [owner]

    def forwarder(self):
        """An owner before the server."""
        port = free_ports(1)[0]
        owner = self._owner(ON_PROXY_CORE, port, upstream=address(self.server_port), key=KEY)
        return owner, port, []

    def load(self, port, **options):
        """A load on it."""
        self.count += 1
        folder = self.folder / f"{self.count}"
        folder.mkdir()
        return Load(folder, way="one", targets=address(port), plain=True, keys=KEYS, **options)


def measured(hops, name, seconds, **options):
    """One measurement: calls, latency, and the use of a core by the proxy."""
    proxy, port, more = hops.starts[name]()
    load = hops.load(port, **options)
    try:
        wait_for(WARM_S)
        began = children.boot_now()
        before = thread_seconds(proxy.pid) if proxy else {}
        loads = thread_seconds(load.pid)
        wait_for(seconds)
        ended = children.boot_now()
        used = spent(before, thread_seconds(proxy.pid)) if proxy else 0.0
        loaded = spent(loads, thread_seconds(load.pid))
        load.stop()
    finally:
        load.end(grace=0)
        for one in [proxy, *more]:
            if one:
                one.end()
    calls = [one for one in records.read(load.saved) if began <= one.ended and one.due < ended]
    return {"name": name, **records.totals(calls),
            "served_s": sum(one.outcome == records.SERVED and one.ended <= ended
                            for one in calls) / (ended - began),
            "proxy_core_percent": used / (ended - began) * 100,
            "load_core_percent": loaded / (ended - began) * 100}


def memory(hops, options):
    """The gateway's memory at a steady load."""
    gateway, port, more = hops.gateway()
    load = hops.load(port, rate=options.memory_rate, connections=options.memory_connections)
    samples = []
    try:
        until = children.boot_now() + options.memory
        while children.boot_now() < until:
            samples.append(growth.take(gateway.pid))
            wait_for(min(1.0, options.memory / 60))
        load.stop()
    finally:
        load.end(grace=0)
        for one in [gateway, *more]:
            one.end()
    enough = len(growth.after_warm_up(samples)) >= growth.LEAST_SAMPLES
    return {"seconds": options.memory, "connections": options.memory_connections,
            **records.totals(records.read(load.saved)),
            "mib": [one.memory / growth.MIB for one in samples],
            "mib_an_hour": growth.memory_an_hour(samples) / growth.MIB if enough else None,
            "grows": growth.judge("gateway", samples) if enough else None}


def half_load(saturated):
    """Half of what the slowest proxy managed, as a round number."""
    slowest = min(statistics.median(values) for name, values in saturated.items()
                  if name != "direct")
    return max(100, int(slowest / 2 / 100) * 100)


def text(result):
    """The figures for people."""
    rows = {}
    for row in result["saturation"]:
        rows.setdefault(row["name"], ([], []))[0].append(row)
    for row in result["half_load"]:
        rows[row["name"]][1].append(row)

    def median(some, field, part=None):
        return statistics.median(one[field][part] if part else one[field] for one in some)
    def cost(some):
        return statistics.median(1e4 * one["proxy_core_percent"] / one["served_s"]
                                 for one in some)
    bare = median(rows["bare Beast"][0], "served_s")
    least = cost(rows["bare Beast"][0])
    direct = {part: median(rows["direct"][1], "latency_ms", part) for part in ("p50", "p99")}
    lines = [f"| hop | calls/s at saturation | over bare Beast | its core | CPU us a call, over "
             f"bare Beast | half load {result['rate']}/s: p50 ms (added) | p99 ms (added) | "
             "its core |", "|---|---|---|---|---|---|---|---|"]
    for name, (full, half) in rows.items():
        times = [f"{median(half, 'latency_ms', part):.3f} "
                 f"({median(half, 'latency_ms', part) - direct[part]:+.3f})"
                 for part in ("p50", "p99")]
        served = median(full, "served_s")
        lines.append(f"| {name} | {served:,.0f} | {served / bare:.2f} | "
                     f"{median(full, 'proxy_core_percent'):.0f} % | {cost(full):.1f}, "
                     f"{cost(full) / least:.2f} x | {times[0]} | {times[1]} | "
                     f"{median(half, 'proxy_core_percent'):.0f} % |")
    found = result["memory"]
    an_hour = "too short to say" if found["mib_an_hour"] is None else \
        f"{found['mib_an_hour']:+.2f} MiB an hour"
    lines += ["", f"gateway, {found['rate']:.0f} calls/s on {found['connections']} connections, "
              f"{found['seconds']:g} s: {found['mib'][0]:.1f} MiB at first, "
              f"{found['mib'][-1]:.1f} at last, most {max(found['mib']):.1f}; {an_hour}; "
              f"{found['failed']} calls failed"]
    return "\n".join(lines)


def run(options, hops, result):
    """All measurements; the proxies in turn, so that all meet the machine's moods."""
    for number in range(options.rounds):
        for name in hops.starts:
            row = measured(hops, name, options.seconds, closed=options.closed)
            result["saturation"].append(row)
            print(f"  {number + 1}: {name}: {row['served_s']:,.0f} calls/s, core "
                  f"{row['proxy_core_percent']:.0f} %, load {row['load_core_percent']:.0f} %",
                  flush=True)
            machine.save(options.json, result)
    by_name = {}
    for row in result["saturation"]:
        by_name.setdefault(row["name"], []).append(row["served_s"])
    result["rate"] = half_load(by_name)
    for number in range(options.rounds):
        for name in hops.starts:
            row = measured(hops, name, options.seconds, rate=result["rate"],
                           connections=options.closed)
            result["half_load"].append(row)
            print(f"  {number + 1}: {name} at {result['rate']}/s: p50 "
                  f"{row['latency_ms']['p50']:.3f} ms, p99 {row['latency_ms']['p99']:.3f} ms",
                  flush=True)
            machine.save(options.json, result)
    result["memory"] = memory(hops, options)
    machine.save(options.json, result)


def main():
    """Exit code as above."""
    options = arguments()
    cores = sorted(os.sched_getaffinity(0))
    try:
        if len(cores) < 2 or cores[0] != 0:
            raise FileNotFoundError("two cores are needed, one of them core 0")
        for name in ("application", "plain_proxy", "load"):
            program(name)
        deps.need("taskset")
        context = machine.context()
    except (FileNotFoundError, deps.MissingTool) as error:
        print(f"hop: error: {error}", file=sys.stderr)
        return 2
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Whoever is started from here stays off the proxy's core, unless taskset says so.
    os.sched_setaffinity(0, cores[1:])
    result = {"bench": "hop", **context, "closed": options.closed, "saturation": [],
              "half_load": []}
    undo = []
    try:
        with tempfile.TemporaryDirectory(prefix="neliroute-hop-") as folder:
            run(options, Hops(folder, lambda *call: undo.append(call)), result)
    finally:
        for end, child, *grace in reversed(undo):
            end(child, *grace)
    print(text(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
