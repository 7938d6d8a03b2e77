"""Administration of a test broker through one long-lived Java helper (KafkaAdmin.java)."""
import base64
import json
import select
import subprocess

from . import children, deps


class AdminError(RuntimeError):
    """What Kafka answered instead of doing it; `kind` is the name of Kafka's exception."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind = kind


def as_bytes(value):
    """A record's value: bytes, text, or a dict as JSON."""
    if isinstance(value, (dict, list)):
        value = json.dumps(value)
    return value.encode() if isinstance(value, str) else value


def _base64(value):
    return None if value is None else base64.b64encode(as_bytes(value)).decode()


class KafkaAdmin:
    """Speaks the helper's protocol: a JSON object a line, there and back."""

    def __init__(self, version, bootstrap, log, properties_file, options):
        """`options` are the JVM's; an archive of classes needs the jars to come first."""
        jars, classes = deps.kafka_jars(version), deps.admin_classes(version)
        command = [deps.need("java"), *options, "-Xmx256m", "-XX:TieredStopAtLevel=1",
                   "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp",
                   f"{jars}/*:{classes}", "KafkaAdmin", bootstrap]
        if properties_file:
            command.append(properties_file)
        self.child = children.spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=log)

    def close(self):
        """Ends the helper."""
        children.end(self.child, grace=0)

    def call(self, op, timeout=60.0, **arguments):
        """Carries out one operation; an AdminError says what Kafka refused."""
        self.child.stdin.write(json.dumps({"op": op, **arguments}).encode() + b"\n")
        self.child.stdin.flush()
        if not select.select([self.child.stdout], [], [], timeout)[0]:
            raise TimeoutError(f"admin helper did not answer {op} within {timeout:g} s")
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"admin helper died during {op}: see the broker's log folder")
        answer = json.loads(line)
        if not answer.pop("ok"):
            raise AdminError(answer["error"], answer["message"])
        return answer

    def wait_ready(self, nodes=1, timeout=60.0):
        """Returns when `nodes` brokers accept clients."""
        self.call("wait_ready", timeout=timeout + 15, nodes=nodes, timeout_ms=int(timeout * 1000))

    def create_topic(self, topic, partitions, replication=1, replicas=None, **config):
        """Creates a topic; config names with `_` for `.`. LogAppendTime unless told otherwise.

        `replicas`: the brokers that keep each partition, the first leads; chosen by Kafka if None.
        A list of lists has one for each partition.
        """
        settings = {"message.timestamp.type": "LogAppendTime"}
        settings.update({key.replace("_", "."): str(value) for key, value in config.items()})
        self.call("create_topic", topic=topic, partitions=partitions, replication=replication,
                  replicas=replicas, config=settings)

    def delete_topic(self, topic):
        """Deletes a topic and returns when brokers no longer know it."""
        self.call("delete_topic", topic=topic)

    def topic(self, topic):
        """{"id":…, "leaders":[broker of each partition], "in_sync":[how many replicas are]}"""
        return self.call("describe_topic", topic=topic)

    def alter_topic(self, topic, **config):
        """Sets topic configuration, `_` for `.`."""
        self._alter("TOPIC", topic, config)

    def alter_group(self, group, **config):
        """Sets a group's own configuration (KIP-848: consumer_session_timeout_ms…)."""
        self._alter("GROUP", group, config)

    def _alter(self, kind, name, config):
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        self.call("alter_config", type=kind, name=name, config=settings)

    def topic_config(self, topic):
        """The configuration in force."""
        return self.call("describe_config", type="TOPIC", name=topic)["config"]

    def add_partitions(self, topic, total):
        """Grows a topic to `total` partitions."""
        self.call("add_partitions", topic=topic, total=total)

    def produce(self, topic, partition, *values, key=None):
        """Writes records as they are: bytes, text, a dict as JSON, or None for a null value."""
        return self.call("produce", topic=topic, partition=partition, key=_base64(key),
                         values=[_base64(value) for value in values])["offsets"]

    def read(self, topic, partition, offset=0, most=100_000):
        """Records from `offset` to the end of now: dicts of offset, timestamp, value (bytes)."""
        rows = self.call("read", topic=topic, partition=partition, offset=offset, most=most)
        for row in rows["records"]:
            row["value"] = None if row["value"] is None else base64.b64decode(row["value"])
        return rows["records"]

    def end_offsets(self, topic):
        """The end offset of each partition."""
        return self.call("end_offsets", topic=topic)["offsets"]

    def delete_records(self, topic, partition, before):
        """Makes a retention hole: the log then starts at `before`."""
        self.call("delete_records", topic=topic, partition=partition, before=before)

    def group(self, group):
        """{"state":…, "coordinator":broker, "members":[{"member","client","partitions"}]}"""
        return self.call("describe_group", group=group)

    def delete_group(self, group):
        """Deletes a group without members."""
        self.call("delete_group", group=group)

    def allow(self, principal, kind, name, *operations):
        """Adds ACLs: allow("User:owner", "TOPIC", "neliroute", "READ", "DESCRIBE")."""
        self._acls("add_acls", "ALLOW", principal, kind, name, operations)

    def deny(self, principal, kind, name, *operations):
        """Adds ACLs that win over every `allow`."""
        self._acls("add_acls", "DENY", principal, kind, name, operations)

    def deny_no_more(self, principal, kind, name, *operations):
        """Takes back what `deny` added."""
        self._acls("delete_acls", "DENY", principal, kind, name, operations)

    def _acls(self, op, permission, principal, kind, name, operations):
        self.call(op, permission=permission, principal=principal, type=kind, name=name,
                  operations=list(operations))

    def join_group(self, group, topic, protocol):
        """A consumer that is none of ours joins the group and stays until `leave_group`."""
        self.call("join_group", group=group, topic=topic, protocol=protocol)

    def leave_group(self):
        """The consumer of `join_group` leaves."""
        self.call("leave_group")

    def move_leader(self, topic, partition, broker):
        """Makes another replica the leader; for __consumer_offsets, the group's coordinator."""
        self.call("move_leader", topic=topic, partition=partition, broker=broker)
        children.wait_until(lambda: self.topic(topic)["leaders"][partition] == broker, 20,
                            f"{topic} {partition} led by broker {broker}")
