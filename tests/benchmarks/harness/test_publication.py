"""How long versions took to reach a fleet, from what was seen of them."""

import pytest

from attract_benchmarks.harness.publication import Acknowledged, Reached, Ready, Sent, reached


def ack(socket: int, when: float, version: int) -> Acknowledged:
    return Acknowledged(socket, when, version, 1.0)


def test_a_version_has_reached_the_fleet_with_its_last_worker():
    ready = [Ready(1, 10.0, 10.25)]
    sent = [Sent(7, 10.5, 1), Sent(8, 10.75, 1)]
    assert reached(ready, sent, [ack(8, 12.0, 1), ack(7, 11.0, 1)], 2) == [Reached(1, 0.25, 0.5, 1.0, 2.0)]


def test_a_worker_that_skipped_a_version_has_it_with_the_next():
    ready = [Ready(2, 20.0, 20.0), Ready(1, 10.0, 10.0)]
    sent = [Sent(1, 11.0, 1), Sent(1, 21.0, 2), Sent(2, 22.0, 2)]
    acks = [ack(1, 12.0, 1), ack(1, 23.0, 2), ack(2, 25.0, 2)]
    assert [(reach.version, reach.first, reach.last) for reach in reached(ready, sent, acks, 2)] == [
        (1, 2.0, 15.0),
        (2, 3.0, 5.0),
    ]


@pytest.mark.parametrize("acks", [[], [ack(1, 12.0, 1)], [ack(1, 12.0, 1), ack(2, 13.0, 0)]])
def test_a_version_that_a_worker_still_waits_for_does_not_count(acks: list[Acknowledged]):
    assert reached([Ready(1, 10.0, 10.0)], [Sent(1, 11.0, 1)], acks, 2) == []


def test_a_worker_that_came_back_has_another_socket_and_is_one_worker():
    acks = [ack(1, 12.0, 1), ack(3, 13.0, 1), ack(2, 19.0, 1)]
    assert [reach.last for reach in reached([Ready(1, 10.0, 10.0)], [Sent(1, 11.0, 1)], acks, 2)] == [3.0]
