#!/usr/bin/python3
"""The real Envoy, unchanged, before owners: by the files of `watch --xds-dir`, and by the admin
port of a neliroute elsewhere."""
import json
import re
import signal
import unittest

from envoy_case import (HERE, Caller, Callers, EnvoyCase, Unwilling, children, free_port, process,
                        random_keys, run_raw)

# Each in a lane of its own: the default, Redis Cluster's slots, Kafka's partitions.
HASHES = {"xxh3": {}, "crc16": {"hash": "crc16", "hash_tags": True}, "murmur2": {"hash": "murmur2"}}


class EnvoyTest(EnvoyCase):
    """Owners that forward, or whose applications are where callers go."""
    more_topics = tuple(HASHES)

    def test_each_key_reaches_its_owner(self):
        """By each hash; one of the owners is known by a name."""
        owners = {}
        for name, options in HASHES.items():  # groups form meanwhile
            self.use(name, **options)
            owners[name] = [self.owner("alpha"), self.owner("beta", "localhost")]
        for name, options in HASHES.items():
            with self.subTest(name):
                self.use(name, **options)
                self.wait_led(*owners[name])
                self.check_refusals(self.check_keys(braces="hash_tags" in options))

    def check_refusals(self, caller):
        """What is said to requests without one key."""
        status, headers, _ = caller.ask([])
        self.assertEqual((status, headers["x-neli-unowned"], headers["retry-after"]),
                         (503, "true", "1"))
        for keys in ([("x-neli-key", "")], [("x-neli-key", "a"), ("x-neli-key", "a")]):
            status, headers, text = caller.ask(keys)
            self.assertEqual((status, headers["cache-control"]), (400, "no-store"), text)
        self.assertEqual(caller.ask([("x-neli-partition", str(self.partitions))])[0], 503)
        both = [("x-neli-key", "k"), ("x-neli-partition", "no")]
        self.assertEqual(caller.ask(both)[0], 200, "the key counts more")

    def check_stranger(self, port):
        """Whoever asks for more than a caller may gets no more."""
        caller = Caller(port)
        self.addCleanup(caller.close)
        status, headers, _ = caller.ask([("x-neli-partition", "0")])
        self.assertEqual((status, headers["x-neli-unowned"]), (503, "true"))
        more = [("x-envoy-max-retries", "200"), ("x-forwarded-for", "10.0.0.1")]
        status, _, _ = caller.ask([("x-neli-key", "k"), *more], path=Unwilling.path)
        refused = [one.refused for one in self.applications.values()]
        self.assertEqual((status, sum(refused)), (421, 30), refused)

    def test_moves_fail_no_request(self):
        """An owner joins, one leaves, neliroute goes and comes back, and one owner is killed."""
        alpha, beta = self.owner("alpha", in_front=True), self.owner("beta", in_front=True)
        self.wait_led(alpha, beta)
        watch, errors = self.watch()
        port = self.envoy_by_files()
        callers, writers = Callers(port, 3), Callers(port, 1, "POST")
        self.check_stranger(port)
        callers.wait_served(50)
        gamma = self.owner("gamma", in_front=True)
        self.wait_led(alpha, beta, gamma)
        callers.wait_served(50)
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        self.wait_led(beta, gamma)
        callers.wait_served(50)
        self.assertEqual(writers.stop(), [])
        self.assertGreater(writers.served, 50)

        self.wait_file(beta, gamma)
        watch.send_signal(signal.SIGKILL)
        watch.wait(10)
        before = (self.files / "eds.json").read_bytes()
        callers.wait_served(200)
        self.assertEqual((self.files / "eds.json").read_bytes(), before)
        _, errors = self.watch()
        self.assertEqual((self.files / "eds.json").read_bytes(), before, "nothing has changed")

        with callers.at_rest():  # an answer that had begun is lost
            beta.kill()
        self.wait_led(gamma)
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        self.wait_file(gamma)
        last = (self.files / "eds.json").read_text()
        gamma.leave()
        self.assertEqual(gamma.wait_exit(), 0, gamma.error_tail())
        children.wait_until(lambda: set(self.owners().values()) == {None}, 20, "nobody has any")
        self.assertEqual((self.files / "eds.json").read_text(), last, "never without owners")
        self.assertNotIn("warning", errors.read_text())
        self.assertGreater(self.counted("update_success"), 3)
        for statistic in ("update_rejected", "update_failure", "update_empty"):
            self.assertEqual(self.counted(statistic), 0, "no file that Envoy could not take")

    def test_a_folder_that_cannot_be_written(self):
        """It is reported once, and tried again; what is there stays."""
        alpha = self.owner("alpha")
        self.wait_led(alpha)
        old = '{"resources":[{"cluster_name":"neliroute","endpoints":[]}]}'  # nobody knows whose
        (self.files / "eds.json").write_text(old)
        (self.files / "eds.json.tmp").mkdir()  # nor can root
        _, errors = self.watch(ready="cannot write", http="0")
        port = re.search(r"admin port: http://127.0.0.1:(\d+)/", errors.read_text())[1]

        def readiness():
            caller = Caller(int(port))
            status, _, text = caller.ask([], path="/readyz")
            caller.close()
            return status, json.loads(text)
        children.wait_until(lambda: readiness()[1]["unknown"] == 0, 20, readiness)
        status, told = readiness()
        self.assertEqual((status, told["ready"]), (503, False))
        self.assertIn("the files of --xds-dir cannot be written; the log says why", told["error"])
        self.assertEqual((self.files / "eds.json").read_text(), old)
        self.assertTrue((self.files / "neliroute.lua").exists())
        (self.files / "eds.json.tmp").rmdir()
        children.wait_until(lambda: "written again" in errors.read_text(), 20, errors.read_text)
        status, told = readiness()
        self.assertEqual((status, told["ready"]), (200, True))
        self.assertEqual(len(re.findall("cannot write", errors.read_text())), 1)
        self.wait_file(alpha)
        second = process.run_tool("watch", xds_dir=self.files, **self.lane)
        self.assertEqual(second.code, 2, second)
        self.assertIn("another process keeps the files", second.err)

    def test_wrong_options_are_named(self):
        """Before anybody is asked."""
        for options, expected in (
                (("--xds-dir", self.folder / "none"), "is no folder"),
                (("--xds-sample",), "need --xds-dir"),
                (("--xds-cluster", "x"), "need --xds-dir"),
                (("--xds-dir", self.files, "--xds-cluster", ""), "is no name of a cluster"),
                (("--xds-dir", self.files, "--once"), "leave --once out")):
            with self.subTest(options=options):
                refused = run_raw("watch", *options)
                self.assertEqual(refused.code, 2, refused)
                self.assertIn(expected, refused.err)
        self.assertEqual(list(self.files.iterdir()), [])
        for name in ("eds.json", "envoy.yaml", "neliroute.lua"):
            path = self.files / name
            path.write_text("of somebody else")
            refused = run_raw("watch", "--xds-dir", self.files, "--xds-sample")
            self.assertEqual(refused.code, 2, refused)
            self.assertIn(str(path), refused.err)
            self.assertEqual(path.read_text(), "of somebody else")
            path.unlink()

    def test_by_the_admin_port(self):
        """Discovery by REST, and a question for each request."""
        alpha, beta = self.owner("alpha"), self.owner("beta")
        self.wait_led(alpha, beta)
        watch, errors = self.watch(http="0")
        url = re.search(r"admin port: http://127.0.0.1:(\d+)/", errors.read_text())
        ports = {name: free_port() for name in ("ADMIN", "KEYS", "QUESTIONS")}
        config = (HERE / "remote.yaml").read_text(encoding="ascii")
        for name, value in {**ports, "NELIROUTE": url[1],
                            "LUA": self.files / "neliroute.lua"}.items():
            config = config.replace(f"@{name}@", str(value))
        self.envoy(config, ports["ADMIN"])
        by_key, by_question = Caller(ports["KEYS"]), Caller(ports["QUESTIONS"])
        self.addCleanup(by_key.close)
        self.addCleanup(by_question.close)
        owner = self.owners()
        keys = random_keys(100, ascii_only=True)  # ext_authz replaces what is not UTF-8
        for key, partition in zip(keys, self.partitions_of(keys)):
            field = [("x-neli-key", key)]
            self.assertEqual(by_key.served_by(field), owner[partition], key)
            # Callers cannot choose.
            for name in ("alpha", "beta"):
                lie = ("x-gateway-destination-endpoint", self.applications[name].address)
                self.assertEqual(by_question.served_by([*field, lie]), owner[partition], key)
        for method, body in (("POST", b"x" * 10_000), ("PUT", b""), ("DELETE", None)):
            status, _, text = by_question.ask([("x-neli-key", "k"), ("Host", "shop.example")],
                                              method, body)
            # The application knows GET and POST only; whoever answers, Envoy let it pass.
            self.assertIn(status, (200, 501), (method, text))
        self.assertEqual(by_question.ask([])[0], 400)
        one, = self.partitions_of([b"a,b"])
        self.assertEqual(by_question.served_by([("x-neli-key", "a"), ("x-neli-key", "b")]),
                         owner[one])

        # Envoy polls for the newcomer's address later than it is told to send requests there.
        callers = Callers(ports["QUESTIONS"], 2)
        callers.wait_served(20)
        gamma = self.owner("gamma")
        self.wait_led(alpha, beta, gamma)
        callers.wait_served(100)
        self.assertEqual(callers.stop(), [])
        gamma.leave()
        self.assertEqual(gamma.wait_exit(), 0, gamma.error_tail())
        alpha.leave()
        self.assertEqual(alpha.wait_exit(), 0, alpha.error_tail())
        for caller in (by_key, by_question):
            children.wait_until(lambda caller=caller: {
                caller.served_by([("x-neli-key", f"k{n}")]) for n in range(40)} == {"beta"}, 20,
                "beta has all")
        watch.send_signal(signal.SIGKILL)
        watch.wait(10)
        for number in range(40):
            self.assertEqual(by_key.served_by([("x-neli-key", f"k{number}")]), "beta")
        self.assertEqual(by_question.ask([("x-neli-key", "k")])[0], 503)


if __name__ == "__main__":
    unittest.main(verbosity=2)
