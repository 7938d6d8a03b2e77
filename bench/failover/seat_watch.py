"""Who holds the seat of a lane: the newest seat claim in log 0 says so."""
from harness.children import wait_until
from harness.lane_log import LaneLog


class SeatWatch:
    """Reads log 0 on from where it was; a group has no seat, and then nobody should ask."""

    def __init__(self, kafka, topic):
        self._kafka, self._topic = kafka, topic
        self._lane = None

    def holder(self):
        """Its name, as far as it can be read now; None: nobody has claimed it."""
        self._lane = self._lane or LaneLog(self._kafka.admin, self._topic)
        self._lane.read()
        return self._lane.names.get(self._lane.assigner)

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
