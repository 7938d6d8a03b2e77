#!/usr/bin/python3
"""What is behind `--brokers` is not the Kafka that was meant: the message says what is there, and
what to do. Real brokers that refuse are in tests/kafka/security_test.py."""
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from case import run_tool

# Of a refusal that no time will mend; without one it waits for as long as it is told to.
TIMEOUT, SOON = 30, 15


class Server:
    """Answers each connection on a port of its own as `talk(connection)` does."""

    def __init__(self, test, talk):
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(64)
        self._talk = talk
        self.port = self._listener.getsockname()[1]
        test.addCleanup(self._listener.close)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        with connection:
            try:
                self._talk(connection)
            except OSError:
                pass  # the client has gone, or speaks no TLS


def http(connection):
    """What a web server says of Kafka's bytes."""
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def hang_up(connection):
    """As Kafka does with what it cannot read, TLS for instance."""
    connection.recv(1000)


def say_nothing(connection):
    """Until the client gives up."""
    while connection.recv(1000):
        pass


def tls(certificate, client_certificates=None):
    """A listener that speaks TLS, and then nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    if client_certificates:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_certificates)

    def talk(connection):
        with context.wrap_socket(connection, server_side=True) as secured:
            say_nothing(secured)
    return talk


class Unreachable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    @classmethod
    def certificate(cls, host):
        """One that signs itself, of that host."""
        path = cls.folder / f"{host}.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-out", path, "-keyout",
             path.with_suffix(".key")], check=True, capture_output=True)
        return path

    def asked(self, brokers, *properties, timeout=2):
        """`route` with these brokers; it fails."""
        done = run_tool("route", "key", brokers=brokers, timeout=f"{timeout}s", limit=90,
                        X=properties)
        self.assertEqual(done.code, 3, done)
        return done

    def served(self, talk, *properties, **options):
        """With a broker that talks like this, by its name and in the error."""
        port = Server(self, talk).port
        done = self.asked(f"localhost:{port}", *properties, **options)
        self.assertIn(f"localhost:{port}: ", done.err)
        return done

    def assert_says(self, done, *words):
        """In its last line, and nothing that would not help."""
        line = done.err.strip().splitlines()[-1]
        for word in words:
            self.assertIn(word, line)
        self.assertNotIn("receive.message.max.bytes", line)
        self.assertNotIn("/bootstrap", line)

    def assert_refused(self, done, *words):
        """At once, as waiting would not help."""
        self.assertLess(done.seconds, SOON, done)
        self.assert_says(done, " refuses: ", *words)

    def test_plain_to_a_listener_that_speaks_tls(self):
        done = self.served(tls(self.certificate("localhost")))
        self.assert_says(done, "may speak TLS", "-X security.protocol=SSL or SASL_SSL")

    def test_tls_to_a_plain_listener(self):
        done = self.served(hang_up, "security.protocol=SSL")
        self.assert_says(done, "may speak no TLS", "-X security.protocol")

    def test_tls_to_what_answers_in_plain(self):
        done = self.served(http, "security.protocol=SSL", timeout=TIMEOUT)
        self.assert_refused(done, "may speak no TLS", "-X security.protocol")

    def test_a_port_of_a_web_server(self):
        done = self.served(http)
        self.assert_says(done, "not of Kafka's protocol", "or not be Kafka's")

    def test_a_port_that_hangs_up(self):
        done = self.served(lambda connection: None)
        self.assert_says(done, "may speak TLS", "or not be Kafka's")

    def test_a_port_that_says_nothing(self):
        """Before the client knows more than that nobody answered, and once it does."""
        port = Server(self, say_nothing).port
        done = self.asked(f"127.0.0.1:{port}")
        self.assert_says(done, "no broker answered", f"127.0.0.1:{port}", "2000 ms",
                         "check --brokers")
        done = self.asked(f"127.0.0.1:{port}", "socket.connection.setup.timeout.ms=1000")
        self.assert_says(done, "timed out", "or not be Kafka's")

    def test_a_port_where_nobody_listens(self):
        done = self.asked("127.0.0.1:1")
        self.assert_says(done, "127.0.0.1:1: ", "Connection refused", "that Kafka runs there")

    def test_a_name_that_is_not_known(self):
        done = self.asked("kafka.invalid:9092")
        self.assert_says(done, "kafka.invalid:9092: Failed to resolve", "check the name", "DNS")
        self.assertIn("kafka.invalid:9092: Failed to resolve", done.err.splitlines()[0],
                      "while it waits, too")

    def test_each_of_several_is_told(self):
        port = Server(self, http).port
        done = self.asked(f"127.0.0.1:1,kafka.invalid:9092,127.0.0.1:{port}")
        self.assert_says(done, "127.0.0.1:1: ", "Connection refused", "kafka.invalid:9092: ",
                         "Failed to resolve", f"127.0.0.1:{port}: ", "not of Kafka's protocol")

    def test_a_certificate_of_an_unknown_authority_and_of_another_host(self):
        own, other = self.certificate("localhost"), self.certificate("other")
        for served, believed in ((own, other), (other, other)):
            with self.subTest(served=served.name, believed=believed.name):
                done = self.served(tls(served), "security.protocol=SSL",
                                   f"ssl.ca.location={believed}", timeout=TIMEOUT)
                self.assert_refused(done, "certificate verify failed", "ssl.ca.location",
                                    "of this host name")

    def test_one_refusal_of_two_brokers_is_waited_for(self):
        """The other may come yet."""
        port = Server(self, http).port
        done = self.asked(f"localhost:{port},localhost:1", "security.protocol=SSL")
        self.assertGreaterEqual(done.seconds, 2)
        self.assert_says(done, f"localhost:{port}: ", "localhost:1: ")

    def test_a_broker_that_wants_a_certificate_of_ours(self):
        own = self.certificate("localhost")
        done = self.served(tls(own, client_certificates=own), "security.protocol=SSL",
                           f"ssl.ca.location={own}")
        self.assert_says(done, "certificate required", "ssl.certificate.location")


if __name__ == "__main__":
    unittest.main(verbosity=2)
