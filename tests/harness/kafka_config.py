"""server.properties of a test broker, and what TLS, SCRAM and ACLs need beside it."""
import os
import secrets
import subprocess
from pathlib import Path

from . import deps

ADMIN = "admin"


def group_settings(version, session_ms, heartbeat_ms, classic_min_session_ms):
    """Session and heartbeat of both group protocols; KIP-848's names exist from 4.0 on.

    No session: the broker's own, as on a Kafka that nobody configured for us.
    """
    if session_ms is None:
        return {}
    settings = {"group.min.session.timeout.ms": classic_min_session_ms,
                "group.initial.rebalance.delay.ms": 0}
    if not version.startswith("3."):
        settings.update({
            "group.consumer.min.session.timeout.ms": min(50, session_ms),
            "group.consumer.session.timeout.ms": session_ms,
            "group.consumer.min.heartbeat.interval.ms": min(10, heartbeat_ms),
            "group.consumer.heartbeat.interval.ms": heartbeat_ms,
        })
    return settings


def _controller_host(nodes, node):
    """Where the others find a node's controller: alone it has no need of the network."""
    alone = sum(bool(one.controller_port) for one in nodes) == 1
    return "127.0.0.1" if alone and not node.prefix else node.host


def server_properties(node, nodes, settings, security):
    """The text of one node's server.properties; `settings` win over what stands here."""
    brokers, controller = len(nodes), bool(node.controller_port)
    name = security.listener if security else "PLAINTEXT"
    listeners = f"{name}://{node.host}:{node.port}"
    values = {
        "process.roles": "broker,controller" if controller else "broker",
        "node.id": node.node_id,
        "controller.quorum.voters": ",".join(
            f"{one.node_id}@{_controller_host(nodes, one)}:{one.controller_port}"
            for one in nodes if one.controller_port),
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": f"{name}:{name},CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": name,
        "log.dirs": node.data,
        "offsets.topic.replication.factor": brokers,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "auto.create.topics.enable": "false",
        # Small pools: the machine has two cores, and idle threads still cost start time.
        "num.network.threads": 2, "num.io.threads": 4, "num.recovery.threads.per.data.dir": 1,
        "log.cleaner.dedupe.buffer.size": 2_097_152, "log.cleaner.threads": 1,
        # A second broker that died must be noticed in a test's time, not in 9 s.
        "broker.session.timeout.ms": 2000, "broker.heartbeat.interval.ms": 200,
    }
    values["listeners"] = listeners
    if controller:
        values["listeners"] += (f",CONTROLLER://{_controller_host(nodes, node)}:"
                                f"{node.controller_port}")
    if security:
        values.update(security.server_settings())
    values.update(settings)
    return "".join(f"{key}={value}\n" for key, value in sorted(values.items()))


def _openssl(folder, *arguments):
    subprocess.run([deps.need("openssl"), *arguments], cwd=folder, check=True, timeout=60,
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def make_certificates(folder):
    """ca.pem, and by it server.crt and server.key for 127.0.0.1."""
    extensions = "subjectAltName=IP:127.0.0.1,DNS:localhost\n"
    (folder / "san.ext").write_text(extensions, encoding="utf-8")
    _openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
             "-subj", "/CN=neliroute test CA")
    _openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    _openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
             "-CAcreateserial", "-out", "server.crt", "-days", "2", "-extfile", "san.ext")


def _private(path, text):
    """Writes a file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


# What docs/operating.md says that an owner needs on its topic and on its group.
OWNER_RIGHTS = {"TOPIC": ("READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS"),
                "GROUP": ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")}


class Security:
    """SASL_SSL with SCRAM-SHA-512 and ACLs: an admin, and the users that the test names.

    Certificates and passwords are made at test time: none can expire in the repository or leak
    from it. `users` maps a name to its password; `ca_file` is what clients trust.
    """
    listener = "SASL_SSL"
    mechanism = "SCRAM-SHA-512"

    def __init__(self, *users):
        self.users = {name: secrets.token_hex(12) for name in (ADMIN, *users)}
        self.ca_file = None
        self._server_pem = None

    def make_files(self, folder):
        """A CA, and a server certificate for 127.0.0.1 signed by it."""
        folder = Path(folder)
        make_certificates(folder)
        chain = [(folder / name).read_text(encoding="utf-8")
                 for name in ("server.key", "server.crt", "ca.pem")]
        self.ca_file = folder / "ca.pem"
        self._server_pem = folder / "server.pem"
        _private(self._server_pem, "".join(chain))

    def format_arguments(self):
        """SCRAM users made with the storage: there is no moment at which they are missing.

        They stand on a command line for a second; that is StorageTool's only way, and the reason
        why these passwords are thrown away with the broker.
        """
        arguments = []
        for name, password in self.users.items():
            arguments += ["--add-scram", f"{self.mechanism}=[name={name},password={password}]"]
        return arguments

    def _login(self, user):
        return ("org.apache.kafka.common.security.scram.ScramLoginModule required "
                f'username="{user}" password="{self.users[user]}";')

    def server_settings(self):
        """The controller's listener is plain and local: its peer is ANONYMOUS, a super user."""
        listener = f"listener.name.{self.listener.lower()}.{self.mechanism.lower()}"
        return {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN};User:ANONYMOUS",
            "sasl.enabled.mechanisms": self.mechanism,
            "sasl.mechanism.inter.broker.protocol": self.mechanism,
            f"{listener}.sasl.jaas.config": self._login(ADMIN),
            "ssl.keystore.type": "PEM", "ssl.keystore.location": self._server_pem,
            "ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca_file,
        }

    def admin_properties(self, folder):
        """A Java client's properties file for the admin user."""
        path = Path(folder) / "admin.properties"
        _private(path, f"security.protocol={self.listener}\nsasl.mechanism={self.mechanism}\n"
                       f"sasl.jaas.config={self._login(ADMIN)}\n"
                       f"ssl.truststore.type=PEM\nssl.truststore.location={self.ca_file}\n")
        return path
