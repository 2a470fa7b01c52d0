"""TensorFloat-32 is off while numbers are compared, on every thread, and afterwards as it was."""

import threading

import pytest
import torch

from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.policy.export import OnnxPatcher
from attract.policy.parity import check_parity
from attract.policy.precision import full_precision
from batches import build, play


def switches() -> tuple[bool, bool]:
    return torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32


@pytest.fixture(autouse=True, params=[(True, True), (True, False)])
def before(request: pytest.FixtureRequest):
    """Two ways in which a process may have set its switches."""
    kept = switches()
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = request.param
    yield request.param
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = kept


def test_it_is_off_inside_and_as_it_was_after_an_error(before: tuple[bool, bool]):
    with full_precision():
        assert switches() == (False, False)
        with full_precision():
            assert switches() == (False, False)
        assert switches() == (False, False)
    assert switches() == before
    with pytest.raises(ValueError, match="inside"), full_precision():
        raise ValueError("inside")
    assert switches() == before


def test_a_thread_that_leaves_does_not_turn_it_on_for_one_that_is_still_inside(before: tuple[bool, bool]):
    entered, may_leave = threading.Event(), threading.Event()

    def inside() -> None:
        with full_precision():
            entered.set()
            may_leave.wait()

    other = threading.Thread(target=inside)
    with full_precision():
        other.start()
        entered.wait()
    # We have left, the other has not.
    assert switches() == (False, False)
    may_leave.set()
    other.join()
    assert switches() == before


def test_C7_C9_correctness_6_what_is_compared_is_computed_without_tf32(
    monkeypatch: pytest.MonkeyPatch, before: tuple[bool, bool]
):
    policy, distribution = build()
    batch = play(policy, distribution)
    seen: list[tuple[bool, bool]] = []
    for name in ("unroll", "step"):
        plain = getattr(policy, name)
        monkeypatch.setattr(
            policy, name, lambda *given, plain=plain: seen.append(switches()) or plain(*given)
        )
    evaluate_batch(policy, distribution, batch)
    assert set(seen) == {(False, False)}
    seen.clear()
    check_parity(policy, OnnxPatcher(policy).patched(policy.state_dict()))
    assert seen == [(False, False)] and switches() == before
