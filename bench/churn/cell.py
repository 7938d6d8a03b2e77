"""One cell of the bench: the walk with one number of partitions, under an assignor of Kafka's
group or an assigner.
"""
import json

import steps
from harness.children import boot_now
from harness.process import Fleet
from prediction import predict

# assignor -> (group protocol, librdkafka's property that chooses it, whether it keeps to what was)
ASSIGNORS = {
    "uniform": ("consumer", "group.remote.assignor", True),
    "cooperative-sticky": ("classic", "partition.assignment.strategy", True),
    "range": ("classic", "partition.assignment.strategy", False),
    "roundrobin": ("classic", "partition.assignment.strategy", False),
}
# One of the processes assigns: there is no group, and the session is the processes' own.
ASSIGNER = "assigner"
LOGS = 4
LEAST_SLOTS = 1024


class Cell:
    """A group that walks; its logs are judged when the walk is over."""

    def __init__(self, kafka, folder, assignor, partitions, walk, options):
        self.kafka, self.assignor, self.partitions, self.walk = kafka, assignor, partitions, walk
        self.options = options
        self.topic = f"{assignor}-{partitions}"
        self.folder = folder / self.topic
        self.folder.mkdir()
        self.protocol, self.chooser, self.sticky = ASSIGNORS.get(assignor, (ASSIGNER, None, True))
        self.ids = {}  # name -> member id in the group
        self.noted = []
        self.running = {}  # name -> Owner

    @property
    def in_group(self):
        """Whether Kafka's group assigns."""
        return self.protocol != ASSIGNER

    def _fleet(self):
        # The consumer protocol's session is the broker's own setting.
        session = f"{self.options.session_ms}ms" if self.protocol != "consumer" else None
        source = {"group_protocol": self.protocol} if self.in_group else {"assignment": ASSIGNER}
        return Fleet(self.kafka, self.folder, topic=self.topic, mode=self.options.mode,
                     witness=False, partitions=self.partitions, logs=min(LOGS, self.partitions),
                     slots=max(LEAST_SLOTS, self.partitions), session=session, **source)

    def _start(self, fleet, name):
        if not self.in_group:
            self.running[name] = fleet.start(name)
            return
        # Kafka's id of a classic member is its client.id, a dash and a UUID: so names fix ranks.
        self.running[name] = fleet.start(name, X=[f"{self.chooser}={self.assignor}",
                                                  f"client.id={name}"])

    def _rest(self, fleet):
        """The assignment by name, and which members have another id in the group than before."""
        names = {owner.key: name for name, owner in self.running.items()}
        rest = {partition: names[key] for partition, key in fleet.rest(120).items()}
        if not self.in_group:
            return rest, ()
        known = {member["client"]: member["member"]
                 for member in self.kafka.admin.group(fleet.group)["members"]}
        rejoined = sorted(name for name, one in known.items()
                          if self.ids.get(name, one) != one)
        self.ids.update(known)
        return rest, tuple(rejoined)

    def _carry_out(self, fleet, event):
        """The event; the instant just before it."""
        if event.kind == "join":
            at = boot_now()
            self._start(fleet, event.name)
            return at
        owner = self.running[event.name]
        return owner.kill() if event.kind == "kill" else owner.leave()

    def run(self):
        """Walks, and returns the cell's figures."""
        # Created beforehand: a thousand partitions take the broker seconds, not the processes.
        self.kafka.admin.create_topic(
            self.topic, self.partitions if self.in_group else min(LOGS, self.partitions))
        with self._fleet() as fleet:
            for name in self.walk.first:
                self._start(fleet, name)
            state, _ = self._rest(fleet)
            members = list(self.walk.first)
            for event in self.walk.events:
                at = self._carry_out(fleet, event)
                if event.kind == "join":
                    members.append(event.name)
                else:
                    members.remove(event.name)
                after, rejoined = self._rest(fleet)
                self.noted.append(steps.Noted(event, at, boot_now(), state, after,
                                              tuple(members), rejoined))
                state = after
            finished = boot_now()
            report = fleet.report()
        if self.options.logs:
            self._keep_records()
        self.kafka.admin.delete_topic(self.topic)
        return self._judged(report, finished)

    def _keep_records(self):
        """What all processes wrote, a line a record: why something moved is in there."""
        with open(self.folder / "records.jsonl", "w", encoding="utf-8") as file:
            for log, end in enumerate(self.kafka.admin.end_offsets(self.topic)):
                for row in self.kafka.admin.read(self.topic, log) if end else ():
                    file.write(json.dumps({
                        "log": log, "offset": row["offset"], "timestamp": row["timestamp"],
                        "record": json.loads(row["value"])}) + "\n")

    def _judged(self, report, finished):
        # Some ignore history: names alone determine what they do. An assigner's members have no id
        # that is known here, and plan() needs none: it moves the least, whoever they are.
        ids = self.ids if self.sticky and self.in_group else {name: name for name in self.running}
        predicted = predict(self.assignor, self.partitions, self.walk, ids, self.folder)
        ends = steps.ends(self.noted, finished)
        rows = []
        for noted, end, foretold in zip(self.noted, ends, predicted, strict=True):
            row = steps.with_prediction(steps.measured(noted, end, report.intervals), foretold,
                                        self.sticky)
            if row["differs"] or self.sticky and row["moved"] != row["least"]:
                row["why"] = steps.why(row)
                row["before"] = steps.checker.describe(noted.before)
                row["after"] = steps.checker.describe(noted.after)
            rows.append(row)
        cell = self.figures(rows, [str(found) for found in report.violations(
            exclusive=self.options.mode == "exclusive")])
        if self.options.timeline:
            cell["timeline"] = self._timeline(report, ends, rows)
        return cell

    def figures(self, rows, violations):
        """What a cell is in the JSON."""
        return {"assignor": self.assignor, "protocol": self.protocol, "sticky": self.sticky,
                "partitions": self.partitions, "steps": rows, "violations": violations}

    def _timeline(self, report, ends, rows):
        """The first join that makes so many processes."""
        names = {owner.key: name for name, owner in self.running.items()}
        since = 0.0
        for noted, end, row in zip(self.noted, ends, rows):
            if noted.event.kind == "join" and len(noted.members) == self.options.timeline:
                return steps.timeline(noted, since, end, report.intervals, names)
            since = noted.at + row["converged_s"]
        raise ValueError(f"no join makes {self.options.timeline} processes")
