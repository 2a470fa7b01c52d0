"""Cells as processes of their own: they hold the same bits, and what one learner of all rows would."""

import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from attract.errors import GroupError
from attract.learner.ppo import minibatches
from cell_processes import Case, learn, start_cells, together, united_partition

BOX = {"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}
CASES = {
    "fused": Case(),
    "autograd, agents that are away, lag": Case(
        learner="autograd", invalid=0.5, lag=True, num_agents=2, settings={"target_kl": 0.02}
    ),
    "masks, several choices": Case(action={"kind": "multi_discrete", "nvec": [2, 4]}, masks=6),
    "continuous": Case(
        action=BOX, settings={"normalize_advantage": False, "lag_correction": "vtrace"}, lag=True
    ),
    "memory": Case(network={"recurrent": "lstm"}, invalid=0.5, settings={"burn_in_steps": 1}),
}
UPDATES = 3


def alone(monkeypatch, case, size):
    with monkeypatch.context() as patch:
        patch.setattr(
            minibatches, "shuffled_partition", united_partition(case, size, minibatches.shuffled_partition)
        )
        # What four cells make of one minibatch may differ by more than the one step that a learner's own do.
        patch.setattr(minibatches.Minibatches, "_normalised_parts", normalised_one_by_one)
        return learn(case, UPDATES)


def normalised_one_by_one(self, advantages, sizes):
    parts = [self._normalised(part) for part in advantages.split(sizes)]
    return torch.cat(parts), [1.0] * len(sizes)


def assert_like_one(cells, one):
    first = cells[0]
    for cell in cells:
        assert cell.weights.keys() == first.weights.keys()
        assert all(np.array_equal(tensor, first.weights[name]) for name, tensor in cell.weights.items())
        for mine, other in zip(cell.reports, first.reports, strict=True):
            assert mine == pytest.approx(other, rel=0, abs=0, nan_ok=True)
    for name, tensor in one.weights.items():
        np.testing.assert_allclose(first.weights[name], tensor, rtol=1e-5, atol=1e-6, err_msg=name)
    for mine, other in zip(first.reports, one.reports, strict=True):
        assert mine == pytest.approx(other, rel=1e-4, abs=1e-5, nan_ok=True)


@pytest.fixture(scope="module")
def two_cells():
    """What two cells came to in each case; they are started once."""
    return dict(zip(CASES, together(list(CASES.values()), UPDATES, 2), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_0064_two_cells_hold_the_same_bits_and_what_one_learner_makes_of_all_rows(
    monkeypatch, two_cells, name
):
    assert_like_one(two_cells[name], alone(monkeypatch, CASES[name], 2))


def test_P8_an_update_is_undone_in_all_cells_or_in_none():
    # The row of the second cell alone is not finite, in the second of three updates.
    (cells,) = together([replace(CASES["fused"], spoilt=1)], UPDATES, 2)
    assert [len(cell.errors) for cell in cells] == [1, 1]
    assert [len(cell.reports) for cell in cells] == [2, 2]
    first, second = cells
    assert all(np.array_equal(tensor, first.weights[name]) for name, tensor in second.weights.items())
    (fine,) = together([CASES["fused"]], 1, 2)
    assert not np.array_equal(fine[0].weights["trunk.0.weight"], first.weights["trunk.0.weight"])


def sums(connection, group):
    """Sums without end; says so after each."""
    tensor = torch.ones(4)
    while True:
        group.all_reduce(tensor)
        tensor /= group.size
        connection.send((group.rank, os.getpid()))


def test_who_is_killed_is_named_by_the_others():
    cells = start_cells(3, sums)
    said = [cell.said() for cell in cells]
    began = time.monotonic()
    os.kill(said[1][1], signal.SIGKILL)
    for cell in (cells[0], cells[2]):
        with pytest.raises(GroupError, match=r"cell 1 is lost; its part of an update was awaited"):
            while True:
                cell.said()
    # Not after the limit: a connection that breaks is noticed.
    assert time.monotonic() - began < 30


def waits(connection, group):
    """Rank 1 never comes."""
    connection.send(os.getpid())
    if group.rank == 1:
        time.sleep(60)
    group.all_gather(torch.zeros(1))


def test_who_is_late_is_awaited_for_the_limit_alone():
    cells = start_cells(2, waits, limit_seconds=1.0)
    with pytest.raises(GroupError, match="its part of an update was awaited"):
        while True:
            cells[0].said()
    cells[1].process.kill()


@pytest.mark.soak
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", CASES)
def test_one_and_four_cells_hold_what_one_learner_makes_of_all_rows(monkeypatch, name, size):
    case = CASES[name]
    (cells,) = together([case], UPDATES, size)
    assert_like_one(cells, alone(monkeypatch, case, size))
    (again,) = together([case], UPDATES, size)
    for one, other in zip(cells, again, strict=True):
        assert all(np.array_equal(tensor, other.weights[name]) for name, tensor in one.weights.items())
