"""Which kinds of faults there are, by who assigns and by the number of brokers."""
import assigner_faults as of_assigner
import faults

EVERYWHERE = (
    faults.Kill, faults.Pause, faults.Hang, faults.Cut, faults.CutIn, faults.CutOut, faults.CutLog,
    faults.BrokerStop, faults.BrokerCrash, faults.DiskFull, faults.LeaderChange, faults.ClockStep,
    faults.TopicDeleted, faults.Leave, faults.BrokersCut, faults.BrokerAlone)
# About the group; and about who assigns in its place.
BY_SOURCE = {
    "group": (faults.CutCoordinator, faults.CoordinatorMoved, faults.GroupDeleted,
              faults.ForeignConsumer),
    "assigner": (of_assigner.AssignerKill, of_assigner.AssignerPause, of_assigner.AssignerCutIn,
                 of_assigner.AssignerCutOut, of_assigner.AssignerLeave,
                 of_assigner.AssignerAndOwner, of_assigner.ManyKilled, of_assigner.CutLog0,
                 of_assigner.CutOtherLog, of_assigner.Log0Moved)}
KINDS = {fault.kind: fault for fault in (
    *EVERYWHERE, *(fault for faults_of in BY_SOURCE.values() for fault in faults_of))}
# Of two brokers, neither does without the other, and to cut them apart is to stop both.
NEED_THREE = (faults.BrokersCut.kind, faults.BrokerAlone.kind)


def kinds_of(source, brokers):
    """The kinds that owners can suffer whose partitions `source` assigns, on so many brokers."""
    return [fault.kind for fault in (*EVERYWHERE, *BY_SOURCE[source])
            if brokers > 2 or fault.kind not in NEED_THREE]


def refusal(wanted, source, brokers):
    """Why these kinds cannot be had, or ""."""
    lines = []
    for kind in wanted:
        if kind not in KINDS:
            lines.append(f"{kind}: there is no such kind")
        elif kind in NEED_THREE and brokers < 3:
            lines.append(f"{kind} needs --brokers 3")
        elif kind not in kinds_of(source, 3):
            other = next(name for name in BY_SOURCE if name != source)
            lines.append(f"{kind} is of --assignment {other} only")
    if not lines:
        return ""
    return (f"{'; '.join(lines)}. With --assignment {source} and {brokers} brokers there are: "
            f"{', '.join(kinds_of(source, brokers))}")
