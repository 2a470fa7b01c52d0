"""Nobody but the admin gives more than an eighth of a batch, as long as others are there to give the rest."""

from collections import Counter

import numpy as np
import pytest

from attract.collection.batches import AcceptedBlock
from attract.collection.fleet import Host as FleetHost
from attract.collection.fleet import Tier, Worker
from attract.collection.trust.admit import Caps, network_of
from attract.schema.episodes import Episodes
from attract.schema.messages import EpisodeColumns
from driven_core import changed
from fleet_simulation import Simulation, small_config


def worker(worker_id: int, address: str, tier: Tier = "invited") -> Worker:
    identity = f"0123abcd@{address}"
    found = Worker(f"{worker_id}", FleetHost(address, worker_id), 0, tier, None, 0.0, host_identity=identity)
    found.worker_id = worker_id
    return found


def block(worker_id: int, size: int, *, local: bool = False) -> AcceptedBlock:
    numbers = np.arange(size)
    return AcceptedBlock(
        numbers, numbers, numbers, 1, 0, worker_id, local, size, Episodes(EpisodeColumns(), 1)
    )


@pytest.mark.parametrize(
    ("identity", "network"),
    [
        ("0123abcd@192.0.2.7", "192.0.2.0/24"),
        ("ffff0000@192.0.2.200", "192.0.2.0/24"),
        ("0123abcd@2001:db8:1:2::/64", "2001:db8:1:2::/64"),
        ("0123abcd@2001:db8:1:2:3::1", "2001:db8:1:2::/64"),
        ("a host of ours", "a host of ours"),
    ],
)
def test_a_network_is_a_24_or_a_64(identity: str, network: str) -> None:
    assert network_of(identity) == network


def test_one_network_gives_an_eighth_where_eight_others_are_there() -> None:
    # Nine networks, the first with three workers under two addresses of it.
    workers = [worker(0, "192.0.1.1"), worker(1, "192.0.1.1"), worker(2, "192.0.1.9")]
    workers += [worker(3 + number, f"192.0.{2 + number}.1") for number in range(8)]
    caps = Caps(workers, target=80)
    assert caps.hold
    assert caps.most == 10
    blocks = [block(index, 5) for index in (0, 1, 2, 0, 3, 4, 5)]
    kept, over = caps.keep(blocks, lambda index: workers[index])
    assert [worker.worker_id for worker in kept] == [0, 1, 3, 4, 5]
    assert [worker.worker_id for worker in over] == [2, 0]


@pytest.mark.parametrize(
    ("own", "guests", "holds"),
    [
        # 2 * 1/2 of the admin's own: a batch takes them twice the time at most.
        (1, [1], True),
        (0, [1], False),
        # 2/9 + 1/8: the admin's one worker alone would take more than four times as long.
        (1, [8], False),
        (0, [1] * 8, True),
        (0, [1] * 7, False),
        (0, [10] + [1] * 8, True),
        (0, [50] + [1] * 8, False),
        (3, [], False),
    ],
)
def test_C2_caps_hold_only_where_others_fill_the_batch_in_time(
    own: int, guests: list[int], holds: bool
) -> None:
    workers = [worker(index, "127.0.0.1", "local") for index in range(own)]
    for number, count in enumerate(guests):
        workers += [worker(len(workers) + index, f"192.0.{number}.1") for index in range(count)]
    assert Caps(workers, target=80).hold == holds


@pytest.mark.parametrize("schedule", ["overlap", "sync", "async"])
def test_C2_a_guest_with_most_of_the_fleet_gets_no_more_than_its_share(schedule: str) -> None:
    config = changed(small_config(schedule=schedule, num_workers=12), horizon=5, join_seconds=0.2)
    simulation = Simulation(config, seed=3, segment_seconds=(0.2,))
    simulation.start(4)
    for number in range(8):
        # Four workers of one guest, four of four others.
        network = 0 if number < 4 else number
        simulation.add_guest(f"0123abcd@192.0.{network}.1")
    simulation.run(60.0, until=lambda: len(simulation.updates) >= 15)
    assert len(simulation.updates) >= 15
    greedy = {slot for peer in simulation.peers[4:8] for slot in peer.worker.slot_ids}
    shares = [
        Counter(slot in greedy for _, slot, _ in keys)[True] / len(keys) for keys in simulation.update_keys
    ]
    # An eighth of the target, or the one block more that a network's first may be.
    assert max(shares[5:]) <= 0.17, shares
    assert max(shares[5:]) > 0
