import threading

import pytest

from attract.learner.group import membership
from attract.learner.group.membership import HEARTBEAT_SECONDS, NOTHING, Heartbeats, Membership, in_words
from attract.learner.group.store import KeyValueStore, StoreLostError
from servers import free_port
from waiting import WAIT_SECONDS

LIMIT_SECONDS = 30.0


class Served:
    """A store of this process, and members of its group."""

    def __init__(self):
        self.port = free_port()
        self.store = KeyValueStore.open("127.0.0.1", self.port, LIMIT_SECONDS, serves=True)
        self.members = []

    def connect(self):
        return KeyValueStore.open("127.0.0.1", self.port, LIMIT_SECONDS, serves=False)

    def member(self, rank, size, **options):
        """A member whose store cannot come back."""
        self.members.append(Membership(rank, size, self.connect(), **options))
        return self.members[-1]


@pytest.fixture
def served():
    served = Served()
    yield served
    for member in served.members:
        member.close()


def until(is_so):
    """Wait for what the members' threads do."""
    waited = threading.Event()
    for _ in range(int(WAIT_SECONDS / 0.05)):
        if is_so():
            return
        waited.wait(0.05)
    raise AssertionError("it did not come to be")


def test_scale_12_a_member_whose_heartbeat_stands_still_is_silent_after_a_while():
    heartbeats = Heartbeats(15.0)
    heartbeats.observe({0: 5, 1: 44}, 100.0)
    heartbeats.observe({0: 6, 1: 44}, 114.9)
    assert heartbeats.silent() == []
    heartbeats.observe({0: 7, 1: 44}, 115.0)
    assert heartbeats.silent() == [1]
    heartbeats.observe({0: 8, 1: 45}, 116.0)
    assert heartbeats.silent() == []


def test_0064_one_that_never_came_to_this_store_may_still_be_starting():
    heartbeats = Heartbeats(15.0)
    for now in (100.0, 699.0):
        heartbeats.observe({1: 0}, now)
    assert heartbeats.silent() == []


def test_0064_after_a_pause_of_its_own_a_member_takes_nobody_for_lost():
    heartbeats = Heartbeats(15.0)
    heartbeats.observe({1: 1, 2: 7}, 100.0)
    # It stood still for a minute: the others are judged by what it sees then, and not before.
    assert heartbeats.silent() == []
    heartbeats.observe({1: 200, 2: 7}, 160.0)
    assert heartbeats.silent() == [2]


def test_long_silence_is_noticed(served):
    first, second = (served.member(rank, 2, lost_seconds=1.0) for rank in range(2))
    until(lambda: first.look(served.store) == [] and first.why_away == "")
    second.close()
    until(lambda: first.look(served.store) == [1])


def test_the_end_is_heard_by_all_before_rank_0_goes(served):
    first = served.member(0, 3)
    others = [served.member(rank, 3) for rank in (1, 2)]
    first.leave()
    assert all(member.is_over.is_set() and member.store(WAIT_SECONDS) is None for member in others)


def test_0064_rank_0_does_not_wait_for_one_that_has_left_and_waits_for_one_that_reads(served, monkeypatch):
    monkeypatch.setattr(membership, "SHUTDOWN_SECONDS", 100 * WAIT_SECONDS)
    first, second, third = (served.member(rank, 3) for rank in range(3))
    second.leave()
    ended = threading.Thread(target=first.leave, daemon=True)
    with third.in_use():
        ended.start()
        ended.join(6 * HEARTBEAT_SECONDS)
        assert ended.is_alive() and not third.is_over.is_set()
    ended.join(WAIT_SECONDS)
    assert not ended.is_alive() and third.is_over.is_set()


def test_scale_12_a_member_that_is_cut_off_returns_to_the_store_that_comes_in_its_place(served):
    first = served.member(0, 2)
    connected = []
    other = Membership(1, 2, None, served.connect, on_connect=lambda store: connected.append(store))
    served.members.append(other)
    before = other.store(WAIT_SECONDS)
    assert before is not None and connected == [before]
    # As a process that is killed: its store is gone with it.
    first.close()
    del first
    served.members.pop(0)
    served.store = None
    until(lambda: other.why_away != "")
    assert other.store(0.0) is None
    served.store = KeyValueStore.open("127.0.0.1", served.port, LIMIT_SECONDS, serves=True)
    served.member(0, 2)
    after = other.store(WAIT_SECONDS)
    assert after is not None and after is not before and connected == [before, after]
    assert after.read(["gone/1"]) == [NOTHING]
    with pytest.raises(StoreLostError):
        before.read(["over"])


def test_members_in_words():
    assert (in_words("trainer", [1]), in_words("trainer", [2, 0])) == ("trainer 1", "trainers 0, 2")
