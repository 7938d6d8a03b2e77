"""How requests find the owner: what stands between the load and the owners."""
from cast import KEY, Load, Process, SLOTS, address
import envoy
from harness.kafka_broker import free_ports
from harness.process import option_list, tool_path


class Way:
    """Started when the owners lead everything; `load` begins the calls."""

    forwards = True  # owners are `neliroute run --upstream`
    owners_are_targets = False

    def __init__(self, cast, settings):
        self.cast = cast
        self.settings = settings
        self.between = []  # processes
        self.lane = {name: cast.fleet.defaults[name] for name in ("brokers", "topic", "slots")}

    def start(self):
        """What stands between."""

    def load_options(self):
        """Of routing_load."""
        raise NotImplementedError

    def load(self):
        """The calls, from now on."""
        return Load(self.cast.folder, rate=self.settings.rate, keys=self.settings.keys,
                    slots=SLOTS, without_keys=self.settings.without_keys or None,
                    **self.load_options())

    def end(self):
        """What stands between."""
        for one in self.between:
            one.end(grace=2)


class Any(Way):
    """(i) Any owner, which forwards what is not its own."""

    owners_are_targets = True

    def load_options(self):
        return {"way": "any", "targets": ",".join(self.cast.endpoints())}


class Gateway(Way):
    """(ii) `neliroute gateway`."""

    def start(self):
        self.address = address(free_ports(1)[0])
        options = {**self.lane, "listen": self.address, "key": KEY}
        gateway = Process(self.cast.folder, "gateway",
                          [tool_path(), "gateway", *option_list(options)])
        self.between.append(gateway.wait_said("gateway: http://", in_errors=True))

    def load_options(self):
        return {"way": "one", "targets": self.address}


class Library(Way):
    """(iii) The caller looks up itself, by a Watcher, and obeys 421; owners do not forward."""

    forwards = False
    owners_are_targets = True

    def load_options(self):
        return {"way": "watch", "brokers": self.lane["brokers"], "topic": self.lane["topic"]}


class ByEnvoy(Way):
    """(iv) Envoy, which follows the files of `neliroute watch --xds-dir`."""

    def start(self):
        files, proxy = envoy.start_routed(self.cast.folder, self.lane)
        self.between += [files, proxy]
        self.address = address(proxy.port)

    def load_options(self):
        return {"way": "one", "targets": self.address}


WAYS = {"any": Any, "gateway": Gateway, "library": Library, "envoy": ByEnvoy}
