import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attract.collection.rows import RowAllocator


def test_rows_lie_next_to_each_other_where_they_can() -> None:
    rows = RowAllocator(10)
    first, second = rows.take(3), rows.take(4)
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == [3, 4, 5, 6]
    rows.give_back(first)
    assert rows.take(2).tolist() == [0, 1]
    assert rows.take(3).tolist() == [7, 8, 9]
    assert rows.num_free == 1


def test_scattered_rows_are_used_when_no_run_is_long_enough() -> None:
    rows = RowAllocator(6)
    rows.take(6)
    rows.give_back([0, 2, 4])
    assert sorted(rows.take(3).tolist()) == [0, 2, 4]


def test_a_row_is_given_back_once() -> None:
    rows = RowAllocator(4)
    taken = rows.take(2)
    rows.give_back(taken)
    with pytest.raises(RuntimeError, match="free"):
        rows.give_back(taken)


def test_no_more_rows_than_there_are() -> None:
    rows = RowAllocator(4)
    rows.reserved = 3
    assert rows.available == 1
    rows.take(4)
    with pytest.raises(RuntimeError, match="free rows"):
        rows.take(1)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 6)), max_size=40))
def test_C1_no_row_is_ever_held_twice(steps: list[tuple[bool, int]]) -> None:
    rows, held = RowAllocator(16), list[np.ndarray]()
    for take, count in steps:
        if take and count <= rows.num_free:
            held.append(rows.take(count))
        elif held:
            rows.give_back(held.pop(count % len(held)))
        owned = np.concatenate([*held, np.zeros(0, np.int64)])
        assert len(set(owned.tolist())) == len(owned)
        assert rows.num_free == 16 - len(owned)
