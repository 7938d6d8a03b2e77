"""Owner processes under test: started, killed, stopped and woken, and followed by their event
files.

An owner is `neliroute run … --events FILE`, or the witness binary with the same options and
`--witness FILE` beside them. Everything here is known from outside: from those files, from exit
codes and from what the harness itself did to the process, which `checker.Life` remembers.
"""
import json
import os
import signal
import subprocess
from pathlib import Path

from . import checker, children
from .children import boot_now, wait_until
from .kafka_admin import AdminError

REPOSITORY = Path(__file__).resolve().parents[2]
# What stands between the witness binary and its options: it has no subcommands.
WITNESS_SUBCOMMAND = ()


def tool_path():
    """The neliroute command: $NELIROUTE_BIN, or build/neliroute."""
    return _existing("NELIROUTE_BIN", REPOSITORY / "build" / "neliroute")


def placements_path():
    """The program of bench/placements: $NELIROUTE_PLACEMENTS, or where CMake puts it."""
    return _existing("NELIROUTE_PLACEMENTS",
                     REPOSITORY / "build" / "bench" / "placements" / "neliroute_placements")


def witness_path():
    """The witness process: $NELIROUTE_WITNESS, or where CMake puts it."""
    return _existing("NELIROUTE_WITNESS",
                     REPOSITORY / "build" / "tests" / "kafka" / "witness_process")


def _existing(variable, default):
    path = Path(os.environ.get(variable) or default)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not built (or set {variable})")
    return path


def environment(extra=None):
    """The environment for a child: no NELIROUTE_* of ours may pass for a setting of the tool."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NELIROUTE_")}
    return {**kept, **(extra or {})}


def option_list(options):
    """{"session": "3s", "X": ["a=b"], "json": True} as command line arguments; None is left out."""
    arguments = []
    for name, value in options.items():
        flag = f"-{name}" if len(name) == 1 else "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                arguments.append(flag)
            elif one is not None and one is not False:
                arguments += [flag, str(one)]
    return arguments


class Finished:
    """A command that ran to its end."""

    def __init__(self, command, code, out, err, seconds):
        self.command, self.code, self.out, self.err = command, code, out, err
        self.seconds = seconds

    def rows(self):
        """Its output as JSON, an object a line."""
        return [json.loads(line) for line in self.out.splitlines() if line.strip()]

    def __str__(self):
        return (f"{' '.join(map(str, self.command))}\nexit {self.code} after {self.seconds:.2f} s\n"
                f"stdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}")


def run_tool(subcommand, *positional, limit=30.0, env=None, **options):
    """Runs `neliroute subcommand` to its end; one that takes longer than `limit` is an error.

    The tool's own --timeout is an option like the others.
    """
    command = [tool_path(), subcommand, *option_list(options)]
    if positional:
        command += ["--", *positional]
    return run_to_end(command, limit, env)


def run_to_end(command, limit=30.0, env=None):
    """A Finished; a command that takes longer than `limit` is an error."""
    started = boot_now()
    child = children.spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=environment(env))
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired as late:
        child.kill()
        out, err = child.communicate()
        raise TimeoutError(f"{' '.join(map(str, command))} did not end within {limit:g} s\n"
                           f"{err.decode(errors='replace')[-2000:]}") from late
    finally:
        children.end(child, grace=0)
    return Finished(command, child.returncode, out.decode(errors="replace"),
                    err.decode(errors="replace"), boot_now() - started)


def embedded_broker(folder, clean_up, *arguments):
    """Starts `neliroute broker` on a free port, ended by `clean_up`: what it says of itself."""
    out = Path(folder) / "broker.out"
    with open(out, "wb") as file:
        broker = children.spawn([tool_path(), "broker", "--json", "--port", "0", *arguments],
                                stdout=file)
    clean_up(children.end, broker)
    return json.loads(wait_until(lambda: out.read_text().partition("\n")[0], 20,
                                 "the broker listens"))


class LineFile:
    """JSON lines of a file that somebody else is writing; each `read` parses only what is new."""

    def __init__(self, path):
        self.path = Path(path)
        self.rows = []
        self._offset = 0

    def read(self):
        """The rows that are new. A last line without its newline waits for the next call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[:data.rfind(b"\n") + 1]
        self._offset += len(whole)
        new = [json.loads(line) for line in whole.splitlines() if line.strip()]
        self.rows += new
        return new


class Owner:
    """One owner process. `key` is unique in its fleet; `name` is what it calls itself."""

    def __init__(self, key, name, folder, command, env):
        self.name = name
        self.life = checker.Life(key)
        self.command = command
        self.leading = {}  # partition -> Epoch, by its own log
        self.draining = set()
        self.witnessed = set()  # partitions, by the last answer that its witness got
        self.events = LineFile(folder / f"{key}.events")
        self.samples = LineFile(folder / f"{key}.witness")
        self.errors = folder / f"{key}.err"
        self.output = folder / f"{key}.out"
        self.has_witness = "--witness" in command
        self.takes = True  # with an assigner: some partitions, as its weight is not 0
        self.left = False  # told to leave
        self.hung = False  # a handler blocks its executor
        self.started = boot_now()
        with open(self.output, "wb") as out, open(self.errors, "wb") as err:
            self.child = children.spawn(command, stdout=out, stderr=err, env=env)

    @property
    def key(self):
        """Tells it from all others, also from one of the same name."""
        return self.life.key

    @property
    def pid(self):
        """Its process id."""
        return self.child.pid

    def running(self):
        """Whether it is still there; notes the time when it is not."""
        if self.child.poll() is None:
            return True
        self.life.ended = min(self.life.ended, boot_now())
        return False

    def refresh(self):
        """Reads what its log says since the last call."""
        for row in self.events.read():
            partition = row["partition"]
            if row["event"] == "acquired":
                self.leading[partition] = checker.Epoch(row["epoch"]["inc"],
                                                        row["epoch"]["offset"])
                self.draining.discard(partition)
            elif row["event"] == "draining":
                self.draining.add(partition)
            elif row["event"] == "stopped":
                self.leading.pop(partition, None)
                self.draining.discard(partition)
        for row in self.samples.read() if self.has_witness else ():
            if "owns" in row:
                (self.witnessed.add if row["owns"] else self.witnessed.discard)(row["partition"])

    def told(self):
        """Whether its witness, if it has one, got the answers that its own log says."""
        return not self.has_witness or self.witnessed == set(self.leading)

    def kill(self):
        """SIGKILL; the instant is read before, when it certainly still led."""
        self.life.ended = boot_now()
        os.kill(self.pid, signal.SIGKILL)
        self.child.wait()
        return self.life.ended

    def stop(self):
        """SIGSTOP, and waits until the kernel says that all of it is stopped."""
        instant = boot_now()
        children.stop(self.pid)
        self.life.pauses.append((instant, None))
        return instant

    def wake(self):
        """SIGCONT; the pause ends at an instant read before it, so no answer can precede it."""
        instant = boot_now()
        self.life.pauses[-1] = (self.life.pauses[-1][0], instant)
        os.kill(self.pid, signal.SIGCONT)
        return instant

    def hang(self):
        """Blocks its executor (the witness process alone obeys); the rest of it goes on."""
        self.hung = True
        instant = boot_now()
        os.kill(self.pid, signal.SIGUSR1)
        return instant

    def go_on(self):
        """Its executor runs again."""
        self.hung = False
        os.kill(self.pid, signal.SIGUSR2)
        return boot_now()

    def leave(self):
        """SIGTERM: a planned leave. Returns at once, with the instant."""
        self.left = True
        instant = boot_now()
        os.kill(self.pid, signal.SIGTERM)
        return instant

    def wait_exit(self, timeout=30.0):
        """Its exit code, once it ended by itself."""
        wait_until(lambda: not self.running(), timeout,
                   lambda: f"{self.key} ended\n{self.error_tail()}")
        return self.child.returncode

    def error_tail(self, size=3000):
        """The end of what it wrote to stderr."""
        if not self.errors.exists():
            return ""
        return self.errors.read_text(encoding="utf-8", errors="replace")[-size:]


class Fleet:
    """The owner processes of one group on one broker; none outlives the `with` block. Kafka's group
    assigns, unless they are given another source."""

    def __init__(self, kafka, folder, *, topic, partitions, slots, group=None, witness=True,
                 can_hang=False, **defaults):
        self.kafka = kafka
        self.folder = Path(folder)
        self.partitions = range(partitions)
        self.group = group or topic
        self.witness = witness
        self.can_hang = can_hang  # without being watched, too
        self.topic = topic
        self.defaults = {**kafka.place(topic), "group": self.group,
                         "partitions": partitions, "slots": slots, "assignment": "group",
                         **defaults}
        self.owners = []
        self.env = {}
        self.disturbances = []  # [from, to]: where gaps are not the tool's fault

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def start(self, name=None, prefix=(), **options):
        """Starts one more owner; `options` add to the fleet's, or replace them.

        `prefix` is a command that ends by executing the owner in its own place, as nsenter does.
        """
        key = f"{name or 'owner'}-{len(self.owners) + 1}"
        name = name or key
        options = {**self.defaults, "name": name,
                   "endpoint": f"127.0.0.1:{7001 + len(self.owners)}",
                   "events": self.folder / f"{key}.events", **options}
        if self.witness or self.can_hang:
            command = [witness_path(), *WITNESS_SUBCOMMAND, *option_list(options)]
            if self.witness:
                command += ["--witness", self.folder / f"{key}.witness"]
        else:
            command = [tool_path(), "run", *option_list(options)]
        owner = Owner(key, name, self.folder, [*prefix, *command], environment(self.env))
        owner.takes = options.get("weight") != 0
        self.owners.append(owner)
        return owner

    def live(self):
        """The owners that run and were not told to leave."""
        return [owner for owner in self.owners if owner.running() and not owner.left]

    def refresh(self):
        """Reads all logs, and fails at once if somebody ended who was not told to."""
        for owner in self.owners:
            owner.refresh()
            if not owner.running() and not owner.left and owner.child.returncode != -9:
                raise AssertionError(f"{owner.key} ended by itself with exit "
                                     f"{owner.child.returncode}\n{owner.error_tail()}")

    def leaders(self):
        """partition -> the owners that live, run and do not hang, and lead it by their own logs."""
        self.refresh()
        found = {partition: [] for partition in self.partitions}
        for owner in self.owners:
            paused = owner.life.pauses and owner.life.pauses[-1][1] is None
            if owner.running() and not paused and not owner.hung:
                for partition in owner.leading:
                    found.setdefault(partition, []).append(owner)
        return found

    def unled(self):
        """The partitions that nobody leads now."""
        return [partition for partition, owners in self.leaders().items() if not owners]

    def wait_led(self, timeout=40.0):
        """Until every partition has a leader again."""
        wait_until(lambda: not self.unled(), timeout,
                   lambda: f"every partition led; not: {self.unled()}\n{self.describe()}")

    def assignment(self):
        """partition -> key of its only leader; None while any has no, two or draining leaders.

        Witnesses have seen it, too: one that is killed before it looks would know of no leader.
        """
        found = self.leaders()
        if any(len(owners) != 1 for owners in found.values()):
            return None
        if any(owner.draining or not owner.told() for owner in self.live()):
            return None
        return {partition: owners[0].key for partition, owners in found.items()}

    def _at_rest(self):
        assignment = self.assignment()
        if assignment is None:
            return None
        if self.defaults["assignment"] == "assigner":
            return self._assigned_rest(assignment)
        group = self.kafka.admin.group(self.group)
        if group["state"].lower() != "stable" or len(group["members"]) != len(self.live()):
            return None
        by_group = sorted(sorted(p for p in member["partitions"] if p in self.partitions)
                          for member in group["members"])
        by_logs = sorted(sorted(owner.leading) for owner in self.live())
        return assignment if by_group == by_logs else None

    def _assigned_rest(self, assignment):
        """There is no group to agree with; who leaves has handed over, and shares are equal."""
        counts = [len(owner.leading) for owner in self.live() if owner.takes]
        all_live = sum(counts) == len(assignment)
        return assignment if all_live and checker.balanced(counts) else None

    def rest(self, timeout=60.0):
        """The assignment, once the group is stable and every member leads just what it was
        assigned.

        That both agree also says who is to blame for a move that was not needed: the assignor.
        """
        return wait_until(self._at_rest, timeout, lambda: f"the group at rest\n{self.describe()}",
                          poll=0.03)

    def describe(self):
        """Who leads how much, and who complained, for a failure's message."""
        grouped = self.defaults["assignment"] == "group"
        lines = [f"group {self.group}: {self._group_text()}"] if grouped else []
        for owner in self.owners:
            state = "runs" if owner.running() else f"exit {owner.child.returncode}"
            lines.append(f"{owner.key}: {state}, leads {len(owner.leading)}, "
                         f"drains {len(owner.draining)}; stderr: {owner.error_tail(400)!r}")
        return "\n".join(lines)

    def _group_text(self):
        try:
            group = self.kafka.admin.group(self.group)
        except (AdminError, OSError, RuntimeError, TimeoutError) as error:
            return str(error)
        return f"{group['state']}, members have " + ", ".join(
            f"{member['client']}: {len(member['partitions'])}" for member in group["members"])

    def disturb(self, start, end):
        """From `start` to `end` a gap is the test's doing: a kill, a pause, an outage."""
        self.disturbances.append((start, end))

    def end(self):
        """SIGKILL for all, so that no hand-over is half read by the report that follows."""
        for owner in self.owners:
            if owner.running():
                owner.kill()
            children.end(owner.child, grace=0)

    def report(self):
        """Everything merged. Ends the fleet: logs that still grow would be read at two instants."""
        self.end()
        made = checker.Report()
        for owner in self.owners:
            owner.refresh()
            made.add(owner.life, owner.events.rows,
                     owner.samples.rows if owner.has_witness else None)
        return made
