"""Who holds the seat of a lane: the newest seat claim in log 0 says so."""
import json

from harness.children import wait_until


class SeatWatch:
    """Reads log 0 on from where it was; a group has no seat, and then nobody should ask."""

    def __init__(self, kafka, topic):
        self.kafka, self.topic = kafka, topic
        self._next = 0
        self._names = {}  # id -> name
        self._id = None  # the holder's

    def holder(self):
        """Its name, as far as it can be read now; None: nobody has claimed it."""
        for row in self.kafka.admin.read(self.topic, 0, self._next):
            self._next = row["offset"] + 1
            record = json.loads(row["value"])
            if "by" in record:
                self._names[record["id"]] = record["by"]
            if record["t"] == "seat_claim":
                self._id = record["id"]
        return self._names.get(self._id)

    def holder_of(self, owners):
        """The one of these that holds it."""
        def found():
            name = self.holder()
            return next((owner for owner in owners if owner.name == name), None)
        return wait_until(found, 30, lambda: f"one of {[one.name for one in owners]} assigns; "
                          f"{self.holder()} does")

    def wait_for_other(self, than, timeout):
        """Until another than this name holds it."""
        wait_until(lambda: self.holder() not in (None, than), timeout,
                   f"another than {than} assigns")
