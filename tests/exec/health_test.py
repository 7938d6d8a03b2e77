#!/usr/bin/python3
"""`run --upstream` owns slots only while the application behind it is healthy."""
import unittest
import urllib.error
import urllib.request

from owners_case import PARTITIONS, OwnersCase, admin_port, free_port
from application import Application
from harness import children, process
from harness.metrics import metric

ILL = "the application is unhealthy"
WELL = "the application is healthy: takes its share"
SESSION_S = 0.5  # of profile `fast`
# What a machine that others use as well may add.
SLOW_S = 8


class Health(OwnersCase):
    """Owners with an application of this test behind each."""

    def owner(self, name, **options):
        """`run --upstream`; its `application`."""
        application = Application(free_port())
        self.addCleanup(application.close)
        return self.before(application, name, **options)

    def before(self, application, name, **options):
        """The same, of an application that is there."""
        owner = self.start(name, **{"assignment": "assigner", "partitions": PARTITIONS, "http": "0",
                                    "upstream": application.address, "key": "header:X-Key",
                                    **options})
        owner.application = application
        return owner

    def http(self, owner, path):
        """Status and text of its admin port."""
        try:
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{admin_port(owner.errors)}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def is_gauged(self, owner):
        """Its neliroute_unhealthy."""
        return metric(self.http(owner, "/metrics")[1], "neliroute_unhealthy")

    def leads(self, owner):
        """How many partitions its event log says."""
        owner.refresh()
        return len(owner.leading)

    def wait_leads(self, *wanted):
        """Until each owner leads so many, in (owner, number)."""
        children.wait_until(
            lambda: all(self.leads(owner) == number for owner, number in wanted), 30,
            lambda: "\n".join(f"{self.leads(owner)} of {number}: {owner.error_tail()}"
                              for owner, number in wanted))

    def said(self, owner, text):
        """How often its log has it."""
        return owner.errors.read_text().count(text)

    def served(self, owner):
        """The statuses of some keys there."""
        found = set()
        for n in range(40):
            request = urllib.request.Request(f"http://127.0.0.1:{owner.port}/",
                                             headers={"X-Key": f"k{n}"})
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    found.add(answer.status)
            except urllib.error.HTTPError as error:
                found.add(error.code)
        return found

    def a_dead_one_gives_up_its_slots(self, **options):
        """With either source of assignments."""
        owners = [self.owner(name, **options) for name in ("alpha", "beta")]
        alpha, beta = owners
        self.wait_led(*owners)
        children.wait_until(lambda: self.http(alpha, "/readyz")[0] == 200, 20, alpha.error_tail)
        alpha.application.stop()
        died = children.boot_now()
        self.wait_leads((alpha, 0), (beta, PARTITIONS))
        took = children.boot_now() - died
        print(f"led elsewhere {took:.2f} s after the application's death", flush=True)
        self.assertLess(took, SESSION_S + 1 + SLOW_S)
        self.assertEqual(self.said(alpha, ILL), 1, alpha.error_tail())
        self.assertIn("Connection refused", alpha.errors.read_text())
        status, text = self.http(alpha, "/readyz")
        self.assertEqual(status, 503, text)
        self.assertIn(f"{ILL}: {alpha.application.address} accepts no connection", text)
        self.assertEqual(self.is_gauged(alpha), 1)
        self.assertEqual(self.is_gauged(beta), 0)
        self.assertEqual(self.served(alpha), {200}, "it sends requests on")
        alpha.application.start()
        self.wait_led(*owners)
        self.assertEqual(self.said(alpha, WELL), 2, "at its start, and again")
        self.assertEqual(self.said(alpha, ILL), 1, alpha.error_tail())
        children.wait_until(lambda: self.http(alpha, "/readyz")[0] == 200, 20, alpha.error_tail)
        self.assertEqual(self.is_gauged(alpha), 0)
        self.assertEqual(self.said(beta, ILL), 0)

    def test_a_dead_one_gives_up_its_slots_with_an_assigner(self):
        """It is cordoned by itself."""
        self.a_dead_one_gives_up_its_slots()

    def test_a_dead_one_gives_up_its_slots_in_exclusive_mode(self):
        """The same."""
        self.a_dead_one_gives_up_its_slots(mode="exclusive")

    def test_a_dead_one_gives_up_its_slots_with_a_group(self):
        """It leaves it, and joins again."""
        self.a_dead_one_gives_up_its_slots(assignment="group", group_protocol="classic")

    def test_one_is_ill_only_after_the_time_that_was_given(self):
        """And not after the session."""
        alpha, beta = (self.owner(name, unhealthy_after="60s") for name in ("alpha", "beta"))
        self.wait_led(alpha, beta)
        alpha.application.stop()
        since = children.boot_now()
        children.wait_until(lambda: children.boot_now() > since + 4 * SESSION_S, 20, "4 sessions")
        self.assertEqual(self.said(alpha, ILL), 0, alpha.error_tail())
        self.assertEqual(self.leads(alpha), PARTITIONS // 2)

    def if_all_are_dead_each_keeps_what_it_leads(self, **options):
        """Others could serve as little; and the first that is well again leads everything."""
        alpha, beta = (self.owner(name, unhealthy_after="300ms", **options)
                       for name in ("alpha", "beta"))
        self.wait_led(alpha, beta)
        alpha.application.stop()
        beta.application.stop()
        for owner in (alpha, beta):
            children.wait_until(lambda owner=owner: self.said(owner, ILL) == 1, 20,
                                owner.error_tail)
        # The one may have handed over to the other before that was ill as well.
        children.wait_until(lambda: self.leads(alpha) + self.leads(beta) == PARTITIONS, 20,
                            alpha.error_tail)
        self.assertEqual(self.http(beta, "/readyz")[0], 503)
        beta.application.start()
        self.wait_leads((alpha, 0), (beta, PARTITIONS))

    def test_if_all_are_dead_each_keeps_what_it_leads_with_an_assigner(self):
        """All are cordoned."""
        self.if_all_are_dead_each_keeps_what_it_leads()

    def test_if_all_are_dead_each_keeps_what_it_leads_with_a_group(self):
        """Nobody is in it."""
        self.if_all_are_dead_each_keeps_what_it_leads(assignment="group",
                                                      group_protocol="classic")

    def test_one_that_answers_badly_or_never_is_ill(self):
        """At the path that is asked; it accepts connections all the while."""
        alpha, beta = (self.owner(name, health="/health") for name in ("alpha", "beta"))
        self.wait_led(alpha, beta)
        alpha.application.health = 500
        self.wait_leads((alpha, 0), (beta, PARTITIONS))
        self.assertIn("answers GET /health with 500, not with 2xx", alpha.errors.read_text())
        alpha.application.health = 204
        self.wait_led(alpha, beta)
        alpha.application.health = None
        self.wait_leads((alpha, 0), (beta, PARTITIONS))
        self.assertIn("does not answer GET /health within", alpha.errors.read_text())
        self.assertEqual(self.said(alpha, ILL), 2, alpha.error_tail())

    def test_one_that_is_ill_at_first_takes_nothing(self):
        """Its owner is a member all the same."""
        beta = self.owner("beta")
        self.wait_led(beta)
        application = Application(free_port())
        self.addCleanup(application.close)
        application.health = 503
        alpha = self.before(application, "alpha", health="/health")
        children.wait_until(
            lambda: "answers GET /health with 503, not with 2xx; waiting for it"
                    in alpha.errors.read_text(), 20, alpha.error_tail)
        self.assertEqual(self.leads(beta), PARTITIONS)
        application.health = 200
        self.wait_led(alpha, beta)

    def test_options_that_do_not_fit_are_refused(self):
        """With what to do."""
        upstream = {"upstream": "127.0.0.1:1", "key": "host"}
        for options, text in (({"health": "/h"}, "--health is of the application behind"),
                              ({"unhealthy_after": "1s"}, "--unhealthy-after is of the"),
                              ({"upstream_idle": "1s"}, "--upstream-idle is of the"),
                              ({"handover_grace": "1s"}, "--handover-grace is of the"),
                              ({**upstream, "health": "h"}, "expected a path, as in /health"),
                              ({**upstream, "unhealthy_after": "99ms"}, "expected at least 100ms")):
            done = process.run_tool("run", endpoint="127.0.0.1:1", **options)
            self.assertEqual(done.code, 2, done.err)
            self.assertIn(text, done.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
