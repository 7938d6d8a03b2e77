#!/usr/bin/python3
"""Two members of a classic group that share no assignor: the second is refused in words, and is let
in once the first has gone. And the recipe of docs/operating.md, as it is written there."""
import re
import shlex

import case
from harness import children
from harness.children import wait_until
from harness.process import REPOSITORY, Owner, environment, run_tool, tool_path

EAGER = "partition.assignment.strategy=range,roundrobin"


def recipe():
    """The words of the command that docs/operating.md gives for a group shared with goNELI."""
    page = (REPOSITORY / "docs" / "operating.md").read_text(encoding="utf-8")
    block = re.search(r"^## Beside goNELI$.*?^```\n(neliroute run .*?)^```$", page,
                      re.MULTILINE | re.DOTALL)
    return shlex.split(block[1].replace("\\\n", " "))


class Assignors(case.KafkaCase):
    """goNELI's default assignors beside ours."""

    def shared(self, **options):
        """What both have in common, with a session in which a test can wait."""
        return {"variation": "broadcast", "mode": "exclusive", "roles": 1,
                "group_protocol": "classic", "session": "6s", "profile": None, **options}

    def test_who_shares_no_assignor_is_told_which_it_offers(self):
        fleet = self.fleet(partitions=1, slots=16, witness=False, **self.shared(X=[EAGER]))
        fleet.start()
        fleet.wait_led()
        second = fleet.start(X=None)
        wait_until(lambda: "INCONSISTENT_GROUP_PROTOCOL" in second.error_tail(), 30.0,
                   second.error_tail)
        text = second.error_tail()
        self.assertIn("partition.assignment.strategy=cooperative-sticky", text)
        self.assertIn("range,roundrobin", text)
        self.assertEqual(text.count("INCONSISTENT_GROUP_PROTOCOL"), 1, "told once")
        self.assertTrue(second.running(), "a member that was killed is in the group for a session")
        fleet.owners[0].kill()
        wait_until(lambda: second.refresh() or second.leading, 40.0, second.error_tail)

    def test_it_ends_where_that_member_stays(self):
        fleet = self.fleet(partitions=1, slots=16, witness=False, **self.shared(X=[EAGER]))
        fleet.start()
        fleet.wait_led()
        wanted = {name: value for name, value in fleet.defaults.items() if name != "X"}
        done = run_tool("run", limit=90.0, endpoint="127.0.0.1:7999", name="second", **wanted)
        self.assertEqual(done.code, 3, done)
        self.assertIn("INCONSISTENT_GROUP_PROTOCOL", done.err)
        fleet.refresh()

    def test_range_gives_the_role_to_the_smallest_client_id(self):
        """The member that had it loses it to one with a smaller id, and a greater one gets none."""
        fleet = self.fleet(partitions=1, slots=16, witness=False, **self.shared())
        first = fleet.start(X=[EAGER, "client.id=m"])
        fleet.wait_led()
        smallest, last = (fleet.start(X=[EAGER, f"client.id={name}"]) for name in "az")
        wait_until(lambda: len(self.kafka.admin.group(fleet.group)["members"]) == 3, 60.0,
                   "three members")
        wait_until(lambda: smallest.refresh() or smallest.leading, 60.0, fleet.describe)
        for other in (first, last):
            other.refresh()
            self.assertFalse(other.leading, fleet.describe())

    def test_an_eager_assignor_with_a_short_lease_is_warned_of(self):
        fleet = self.fleet(partitions=1, slots=16, witness=False,
                           **self.shared(X=[EAGER], session="3s"))
        owner = fleet.start()
        wait_until(lambda: "goNELI" in owner.error_tail(), 30.0, owner.error_tail)

    def test_the_recipe_leads_and_is_warned_of_nothing(self):
        group = "recipe"
        words = [group if word == "G" else word.replace("HOST:PORT", "127.0.0.1:7001")
                 .replace("G.neli", f"{group}.neli") for word in recipe()[1:]]
        for needed in ("broadcast", "exclusive", f"{group}.neli", group, "15s", "5s", EAGER):
            self.assertIn(needed, words)
        self.kafka.admin.create_topic(f"{group}.neli", 1)  # goNELI's; LogAppendTime
        events = self.folder / "recipe.events"
        owner = Owner("recipe", "recipe", self.folder,
                      [tool_path(), *words, "--brokers", self.kafka.bootstrap, "--name", "recipe",
                       "--events", events], environment())
        self.addCleanup(children.end, owner.child)
        wait_until(lambda: not owner.running() or "1 of 1 roles" in owner.error_tail(), 60.0,
                   owner.error_tail)
        self.assertTrue(owner.running(), owner.error_tail())
        owner.refresh()
        self.assertEqual(set(owner.leading), {0})
        text = owner.error_tail(100_000)
        self.note(text)
        self.assertNotIn("goNELI", text)
        warned = [line for line in text.splitlines() if "warning" in line and "lease" in line]
        self.assertEqual(warned, [])


if __name__ == "__main__":
    case.main()
