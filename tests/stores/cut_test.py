#!/usr/bin/python3
"""Cut links between the servers of a store, and between them and owners: etcd, and voters. Each
server has a network namespace of its own (tests/chaos/network.py); the owners share another one."""
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "chaos"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kafka"))
import case  # noqa: E402
from case import boot_now  # noqa: E402
from harness.children import wait_until  # noqa: E402

import network  # noqa: E402
from store_faults import FaultsCase, pass_by  # noqa: E402

SERVERS = network.BROKERS
UNWRITTEN = {"etcd": "a record cannot be written", "quorum": "has no leader that answers"}


def rotated(ledger, number):
    """The address with another server in front: that is asked first."""
    scheme, servers, rest = re.fullmatch("(.*://)([^/]*)(/.*)", ledger).groups()
    servers = servers.split(",")
    return scheme + ",".join(servers[number:] + servers[:number]) + rest


class Cut(FaultsCase):
    """Three servers at a hub, to which all owners have another link but those at a seat."""

    @classmethod
    def setUpClass(cls):
        links = Path(tempfile.mkdtemp(prefix="neliroute-links-"))
        cls.addClassCleanup(shutil.rmtree, links, ignore_errors=True)
        cls.store_rooms = [cls.link(network.Room, number, links) for number in (1, 2, 3)]
        cls.seats = [cls.link(network.Seat, number, links) for number in (1, 2)]
        super().setUpClass()

    @classmethod
    def link(cls, kind, *arguments):
        """Gone after all that runs there."""
        made = kind(*arguments)
        cls.addClassCleanup(made.close)
        return made

    def cut(self, link, way="both", addresses=None):
        """Cuts what comes from there or goes there; returns what mends it."""
        mends = [link.cut(way, addresses or self.peers(link))]

        def mend():
            if mends:
                mends.pop()()
        self.addCleanup(mend)
        return mend

    @staticmethod
    def peers(link):
        """The other servers."""
        return [address for address in SERVERS if address != link.address]

    def everybody(self, link):
        """The owners, too."""
        return [*self.peers(link), network.ADMIN]

    def lose_by_cuts(self, cuts):
        """(what it is, way, addresses) of a link: for one that leads, and one that does not."""
        for which in (self.follower, self.leader):
            for what, way, addresses in cuts:
                with self.subTest(f"{which.__name__}: {what}"):
                    self.lose_by_cut(which, way, addresses)

    def lose_by_cut(self, which, way, addresses):
        """With new owners, some of which are at that server. Of the two fleets, whose logs voters
        lead apart, it is the exclusive one's."""
        fleets = self.pair(name=f"{which.__name__}-{way}-{addresses.__name__}")
        for fleet in fleets:
            for number in range(3):
                fleet.start(ledger=rotated(fleet.defaults["ledger"], number))
            fleet.rest()
        since = boot_now()

        def disturb():
            link = which(fleets[1]).room
            return self.cut(link, way, addresses(link))
        self.lose(fleets, fleets[1].group, disturb)
        self.clean(fleets, since)
        for fleet in fleets:
            self.kafka.delete_topic(fleet.topic)

    def test_one_of_three(self):
        """It still serves whom it can reach, but knows of no majority; or it is gone."""
        self.lose_by_cuts([("cut off from the others", "both", self.peers),
                           ("cut off from all", "both", self.everybody)])

    def test_one_of_three_in_one_direction(self):
        """It hears the others, and they do not hear it; and the other way round."""
        self.lose_by_cuts([("it is not heard", "out", self.peers),
                           ("it hears nobody", "in", self.peers)])

    def test_two_of_three(self):
        """No majority, though owners reach all of them; then they reach only one."""
        for addresses in (self.peers, self.everybody):
            with self.subTest(addresses.__name__):
                self.without_majority(addresses)

    def without_majority(self, addresses):
        """Nobody can write until it is mended."""
        mends = []

        def cut():
            mends.extend(self.cut(room, "both", addresses(room)) for room in self.store_rooms[:2])

        def mend():
            for one in mends:
                one()
        self.live_without_writes(cut, mend, says=[UNWRITTEN[case.protocol().name]],
                                 name=addresses.__name__)

    def away(self, meanwhile=lambda fleets: None):
        """An owner of each mode is cut off from all servers until others lead what it had, and no
        lease is left. Returns the fleets, at rest again, and since when."""
        fleets = self.pair()
        for fleet, seat in zip(fleets, self.seats):
            fleet.start(prefix=seat.prefix())
            self.start_rested(fleet, 2)
        since = boot_now()
        mends = [self.cut(seat, "both", SERVERS) for seat in self.seats]
        for fleet in fleets:
            others = fleet.owners[1:]
            wait_until(lambda fleet=fleet, others=others: fleet.refresh() or set(fleet.partitions)
                       == {p for owner in others for p in owner.leading}, 30, fleet.describe)
        pass_by(3)
        meanwhile(fleets)
        for mend in mends:
            mend()
        for fleet in fleets:
            fleet.rest()
            if fleet.defaults["mode"] == "exclusive":
                fleet.disturb(since, boot_now())
        return fleets, since

    def test_away_from_all_servers(self):
        """Others take over, and give back."""
        fleets, since = self.away()
        self.clean(fleets, since)


class CutOfEtcd(Cut):
    """Only an etcd compacts."""

    def test_compacted_while_an_owner_was_away(self):
        """What it has not read is gone: it says so, and begins anew."""
        def compact(fleets):
            for fleet in fleets:
                before = self.records(fleet)[-1]["offset"]
                wait_until(lambda fleet=fleet, before=before:
                           self.records(fleet)[-1]["offset"] > before, 20, "records not read")
            self.kafka.compact()
        fleets, since = self.away(compact)
        for fleet in fleets:
            self.assertIn("claimed again", fleet.owners[0].error_tail(10_000))
        self.clean(fleets, since)


def load_tests(loader, _tests, _pattern):
    """Those that this store can have."""
    return loader.loadTestsFromTestCase(CutOfEtcd if case.protocol().name == "etcd" else Cut)


if __name__ == "__main__":
    network.enter()
    network.make_hub()
    case.main()
