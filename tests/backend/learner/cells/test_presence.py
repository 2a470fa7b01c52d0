import threading
from datetime import timedelta

import pytest
from torch.distributed import PrefixStore, TCPStore

from attract.learner.cells import presence
from attract.learner.cells.presence import Presence


@pytest.fixture
def store():
    return TCPStore(
        "127.0.0.1", 0, None, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=10)
    )


@pytest.fixture
def beside(store):
    """Makes a cell's presence; closes all."""
    made = []

    def make(rank, size, on_over=lambda: None):
        made.append(Presence(PrefixStore("1", store.clone()), rank, size, on_over))
        return made[-1]

    yield make
    for watcher in made:
        watcher.close()


def test_who_shows_no_life_is_named_by_all(beside):
    first, second, third = (beside(rank, 3) for rank in range(3))
    second.close()
    assert first.find_gone() == "cell 1 is lost"
    # Even when others, who have heard, are gone as well by then.
    first.close()
    assert third.find_gone() == "cell 1 is lost"


def test_long_silence_is_noticed(beside, monkeypatch):
    monkeypatch.setattr(presence, "TIMEOUT_SECONDS", 1.0)
    first, second = beside(0, 2), beside(1, 2)
    waited = threading.Event()
    while not first._heartbeats.get(1, (0, 0.0))[0]:
        waited.wait(0.05)
    assert first.timed_out() == []
    second.close()
    waited.wait(1.8)
    assert first.timed_out() == [1]


def test_the_end_is_heard_by_all_before_cell_0_goes(beside):
    heard = [threading.Event(), threading.Event()]
    first = beside(0, 3)
    for rank, event in enumerate(heard, 1):
        beside(rank, 3, event.set)
    first.end()
    assert all(event.is_set() for event in heard)
