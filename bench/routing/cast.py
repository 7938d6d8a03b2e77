"""The processes of one run: the store, owners with an application behind each, and the load."""
import dataclasses
import json
import os
import subprocess
from pathlib import Path

from harness import children
from harness.children import boot_now, wait_until
from harness.kafka_broker import free_ports
from harness.process import (REPOSITORY, Fleet, Owner, environment, option_list, tool_path)

SLOTS = 4096
KEY = "header:X-Neli-Key"
START_S = 30.0
# The load ends every call 15 s after it was due.
END_S = 40.0
REST_POLL_S = 0.25  # each look costs the machine that is measured


def program(name):
    """A program of programs/: in $NELIROUTE_ROUTING_PROGRAMS, or where CMake puts it."""
    folder = os.environ.get("NELIROUTE_ROUTING_PROGRAMS")
    path = Path(folder) if folder else REPOSITORY / "build" / "bench" / "routing" / "programs"
    found = path / f"routing_{name}"
    if not found.is_file():
        raise FileNotFoundError(f"{found} is not built: build the target routing_programs (or set "
                                "NELIROUTE_ROUTING_PROGRAMS)")
    return found


def address(port):
    """Everything is on this machine."""
    return f"127.0.0.1:{port}"


class Process:
    """A process that is no owner: its output and errors are in files of its name."""

    def __init__(self, folder, name, command, **options):
        self.name = name
        self.out = Path(folder) / f"{name}.out"
        self.err = Path(folder) / f"{name}.err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.child = children.spawn(command, stdout=out, stderr=err, env=environment(),
                                        **options)

    @property
    def pid(self):
        """Its process id."""
        return self.child.pid

    def tail(self):
        """What it said last, for a failure's message."""
        return "\n".join(f"{self.name}: {path.read_text(errors='replace')[-1500:]}"
                         for path in (self.out, self.err))

    def wait_said(self, text, in_errors=False):
        """Until this is in its output."""
        path = self.err if in_errors else self.out

        def said():
            if self.child.poll() is not None:
                raise RuntimeError(f"exit {self.child.returncode}\n{self.tail()}")
            return text in path.read_text(errors="replace")
        wait_until(said, START_S, lambda: f"{self.name} says {text!r}\n{self.tail()}")
        return self

    def end(self, grace=5.0):
        """SIGTERM, or SIGKILL at once."""
        children.end(self.child, grace)


class Store(Process):
    """The fenced counters."""

    def __init__(self, folder, keys):
        self.address = address(free_ports(1)[0])
        self.saved = Path(folder) / "store.json"
        super().__init__(folder, "store",
                         [program("store"), "--listen", self.address, "--slots", SLOTS, "--keys",
                          keys, "--out", self.saved])
        self.wait_said("ready")


class Load(Process):
    """The calls. It tells how the targets are numbered when it has ended."""

    def __init__(self, folder, **options):
        self.saved = Path(folder) / "calls"
        super().__init__(folder, "load",
                         [program("load"), *option_list({**options, "out": self.saved})],
                         stdin=subprocess.PIPE)
        self.wait_said("started")

    def choose_from(self, targets):
        """From now on these owners, in --way any."""
        self._say("targets " + ",".join(targets))

    def stop(self):
        """Begins no more calls, and waits for the rest; what it says of itself."""
        self._say("stop")
        wait_until(lambda: self.child.poll() is not None, END_S, self.tail)
        if self.child.returncode:
            raise RuntimeError(f"exit {self.child.returncode}\n{self.tail()}")
        return json.loads(self.out.read_text().splitlines()[-1])

    def _say(self, line):
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError as error:
            raise RuntimeError(f"the load has ended\n{self.tail()}") from error


class Owners(Fleet):
    """Owners of any program that takes the options of `neliroute run`."""

    def __init__(self, *arguments, command, **options):
        super().__init__(*arguments, witness=False, **options)
        self.program = command

    def start(self, name=None, prefix=(), **options):
        """As Fleet's."""
        key = f"{name}-{len(self.owners) + 1}"
        options = {**self.defaults, "name": name, "events": self.folder / f"{key}.events",
                   **options}
        owner = Owner(key, name, self.folder, [*prefix, *self.program, *option_list(options)],
                      environment(self.env))
        self.owners.append(owner)
        return owner

    def rest(self, timeout=60.0):
        """As Fleet's, looking less often."""
        return wait_until(self._at_rest, timeout, lambda: f"the group at rest\n{self.describe()}",
                          poll=REST_POLL_S)


@dataclasses.dataclass
class Seat:
    """A place for an owner: its name and addresses stay when it is restarted."""
    name: str
    endpoint: str
    application_address: str
    owner: Owner = None
    application: Process = None
    starts: int = 0

    def running(self):
        """Whether an owner is there."""
        return self.owner is not None and self.owner.running() and not self.owner.left


class Cast:
    """All owners of a run and what stands behind them."""

    def __init__(self, kafka, folder, settings, *, seats, forwards):
        """`forwards`: owners are `neliroute run --upstream`; else the application is in them."""
        self.folder = folder
        self.forwards = forwards
        self.store = Store(folder, settings.keys)
        command = [tool_path(), "run"] if forwards else [program("owner")]
        self.fleet = Owners(kafka, folder, topic=folder.name, command=command,
                            partitions=settings.partitions, slots=SLOTS, mode=settings.mode,
                            json=True, **settings.timing())
        ports = free_ports(2 * seats)
        self.seats = [Seat(f"owner-{number + 1}", address(ports[2 * number]),
                           address(ports[2 * number + 1])) for number in range(seats)]

    def start(self, seat):
        """An owner, and its application before it."""
        seat.starts += 1
        if not self.forwards:
            seat.owner = self.fleet.start(seat.name, endpoint=seat.endpoint,
                                          store=self.store.address)
            return
        name = f"{seat.name}.{seat.starts}"
        seat.application = Process(
            self.folder, f"application-{name}",
            [program("application"), "--listen", seat.application_address, "--store",
             self.store.address, "--name", name]).wait_said("ready")
        seat.owner = self.fleet.start(seat.name, endpoint=seat.endpoint, key=KEY,
                                      upstream=seat.application_address)

    def leave(self, *seats):
        """A planned leave of these at once; the applications end after their owners."""
        for seat in seats:
            seat.owner.leave()
        for seat in seats:
            code = seat.owner.wait_exit()
            if code:
                raise RuntimeError(f"{seat.name}: exit {code}\n{seat.owner.error_tail()}")
            if seat.application:
                seat.application.end()

    def kill(self, seat):
        """SIGKILL of an owner and of its application; the instant."""
        at = seat.owner.kill()
        if seat.application:
            seat.application.end(grace=0)
        return at

    def endpoints(self):
        """Of those that run."""
        return [seat.endpoint for seat in self.seats if seat.running()]

    def wait_taken(self, victim, held, since):
        """Until others lead all that the victim held; seconds after `since`."""
        def taken():
            self.fleet.refresh()
            first = {}
            for owner in self.fleet.owners:
                if owner is victim:
                    continue
                for row in owner.events.rows:
                    if row["event"] == "acquired" and row["boot"] > since:
                        first.setdefault(row["partition"], row["boot"])
            return held <= set(first) and max((first[p] for p in held), default=since)
        return wait_until(taken, 60, self.fleet.describe, poll=0.05) - since

    def lease_ms(self):
        """T, as an owner says it."""
        first = self.fleet.owners[0].output.read_text().partition("\n")[0]
        return json.loads(first)["lease_ms"]

    def end(self):
        """Everything, the store last: what it counted is in its file then."""
        self.fleet.end()
        for seat in self.seats:
            if seat.application:
                seat.application.end(grace=0)
        self.store.end(grace=20)


def wait_for(seconds):
    """A window of time, which is what is measured."""
    until = boot_now() + seconds
    wait_until(lambda: boot_now() >= until, seconds + 10, "the window")
