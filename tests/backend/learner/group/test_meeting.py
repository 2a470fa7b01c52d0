from concurrent.futures import ThreadPoolExecutor

import pytest

from attract.errors import GroupError
from attract.learner.group.meeting import meet
from attract.learner.group.store import KeyValueStore
from attract.settings.cells import Cell
from servers import free_port


@pytest.fixture
def port():
    """Port of a store that outlives learners, as `torchrun` keeps one."""
    port = free_port()
    store = KeyValueStore.open("127.0.0.1", port, 10.0, serves=True)
    yield port
    del store


def cells(port, size):
    return [
        Cell(rank=rank, size=size, address="127.0.0.1", port=port, has_store=True) for rank in range(size)
    ]


def number(cell):
    return meet(cell, 10)[1]


def test_all_get_the_number_of_the_same_meeting(port):
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(number, cells(port, 3))) == [1, 1, 1]


def test_who_comes_after_a_loss_waits_for_the_next_meeting(port):
    leader, other = cells(port, 2)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(number, (leader, other))) == [1, 1]
        # The store still says that meeting 1 has begun with a learner of cell 1: not with this one.
        waiting = pool.submit(number, other)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        assert number(leader) == 2
        assert waiting.result(10) == 2


def test_those_that_do_not_come_are_named(port):
    leader, other, _ = cells(port, 3)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(meet, other, 0.4)
        with pytest.raises(GroupError, match=r"cell 2 did not join within 0\.3 s"):
            meet(leader, 0.3)
        with pytest.raises(GroupError, match="another cell"):
            waiting.result(10)


def test_cell_0_is_awaited_at_its_address():
    port = free_port()
    alone = Cell(rank=1, size=2, address="127.0.0.1", port=port)
    with pytest.raises(GroupError, match=rf"cell 0 is awaited at 127\.0\.0\.1:{port}, for 0\.2 s"):
        meet(alone, 0.2)
