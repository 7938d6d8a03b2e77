"""The groups that the slot page is shown with."""
import time

from browser.world import World


def three():
    """Three processes that came one after another, some minutes ago."""
    world = World(1024, 64, ["pricing-0"])
    world.share_out(age=512)
    world.join("pricing-1", zone="b")
    world.share_out(age=301)
    world.join("pricing-2", zone="c")
    world.share_out(age=154)
    return world


def hundred_thousand():
    """100,000 slots on 250 partitions, twelve owners."""
    world = World(100_000, 250, [f"matching-{number}" for number in range(12)])
    world.share_out(age=3600)
    return world


def many_owners():
    """65,536 partitions, as many as there may be, of 2,000 owners."""
    world = World(65_536, 65_536, [f"shard-{number:04}" for number in range(2000)])
    world.share_out(age=86_400)
    return world


def assigned():
    """Four processes, one of which assigns; one has twice the weight, one is cordoned."""
    world = World(1024, 64, ["pricing-0", "pricing-1", "pricing-2", "pricing-3"])
    world.share_out([0, 1, 2], age=512)
    world.assign(1, age=7500, m0={"zone": "a", "host": "rack-7"}, m1={}, m2={"weight": 2},
                 m3={"cordoned": True})
    return world


def empty():
    """The ledger answers, and nobody is there: what a watcher sees."""
    return World(1024, 64)


def kill_one(world):
    """The owner of most is killed; a second later the others have taken over."""
    owners = sorted(set(world.owner) - {-1, world.me}, key=lambda o: -len(world.owned_by(o)))
    if not owners:
        return
    world.kill(owners[0])
    time.sleep(1)
    world.share_out([owner for owner in sorted(set(world.owner) - {-1})])


ALL = {"three": three, "hundred-thousand": hundred_thousand, "many-owners": many_owners,
       "assigned": assigned, "empty": empty}
