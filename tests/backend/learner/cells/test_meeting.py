from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch.distributed import TCPStore

from attract.errors import GroupError
from attract.learner.cells.meeting import in_words, meet, open_store
from attract.settings.cells import Cell
from free_port import free_port


@pytest.fixture
def launcher():
    """A store that outlives learners, as `torchrun` keeps one."""
    return TCPStore(
        "127.0.0.1", 0, None, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=10)
    )


def cells(port, size):
    return [
        Cell(rank=rank, size=size, address="127.0.0.1", port=port, has_store=True) for rank in range(size)
    ]


def test_all_get_the_number_of_the_same_meeting(launcher):
    group = cells(launcher.port, 3)
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda cell: meet(open_store(cell, 10), cell, 10), group)) == [1, 1, 1]


def test_who_comes_after_a_loss_waits_for_the_next_meeting(launcher):
    leader, other = cells(launcher.port, 2)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda cell: meet(open_store(cell, 10), cell, 10), (leader, other))) == [1, 1]
        # The store still says that meeting 1 has begun with a learner of cell 1: not with this one.
        waiting = pool.submit(meet, open_store(other, 10), other, 10)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        assert meet(open_store(leader, 10), leader, 10) == 2
        assert waiting.result(10) == 2


def test_those_that_do_not_come_are_named(launcher):
    leader, other, _ = cells(launcher.port, 3)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(meet, open_store(other, 10), other, 0.4)
        with pytest.raises(GroupError, match=r"cell 2 did not join within 0\.3 s"):
            meet(open_store(leader, 10), leader, 0.3)
        with pytest.raises(GroupError, match="another cell"):
            waiting.result(10)
    assert in_words([1]) == "cell 1" and in_words([1, 2]) == "cells 1, 2"


def test_cell_0_is_awaited_at_its_address():
    port = free_port()
    alone = Cell(rank=1, size=2, address="127.0.0.1", port=port)
    with pytest.raises(GroupError, match=rf"cell 0 is awaited at 127\.0\.0\.1:{port}, for 0\.2 s"):
        open_store(alone, 0.2)
