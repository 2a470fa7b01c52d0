import pytest

from attract.collection.batches import ClosedBatch
from attract.collection.learning import LearnerState
from attract.schema.learner import Counters, Published, Ready, RejectedRow


def ready(version: int, **counters: int) -> Ready:
    return Ready(
        policy_version=version,
        needs_warmup=False,
        onnx=b"",
        weights_sha256="",
        num_parameters=1,
        device="cpu",
        counters=Counters(**counters),
    )


def batch(version: int) -> ClosedBatch:
    return ClosedBatch(
        batch_id=4,
        version=version,
        rows=(1, 2),
        verify_rows=(1,),
        trust_all=True,
        worker_of_row={1: 0, 2: 0},
        valid_steps=8,
    )


@pytest.mark.parametrize(("version", "outcome"), [(5, "same"), (6, "finished"), (4, "lost"), (7, "lost")])
def test_what_a_learner_that_came_back_means_for_its_batch(version: int, outcome: str) -> None:
    learner = LearnerState()
    learner.ready(ready(5))
    learner.begin(batch(5))
    assert learner.ready(ready(version)) == outcome
    assert learner.phase == ("busy" if outcome == "same" else "idle")
    assert learner.version == version


def test_D2_a_fresh_learner_brings_its_counters() -> None:
    learner = LearnerState()
    assert learner.ready(ready(5, agent_steps=70, updates=5)) == "fresh"
    train = learner.begin(batch(5))
    assert (train.counters.agent_steps, train.counters.updates) == (78, 6)
    assert learner.counters.snapshot().agent_steps == 70, "not counted before it is committed"


@pytest.mark.parametrize(("rejected", "steps"), [([], 8), ([RejectedRow(row=1, largest_difference=1.0)], 4)])
def test_T4_rejected_rows_do_not_count(rejected: list[RejectedRow], steps: int) -> None:
    learner = LearnerState()
    learner.ready(ready(5))
    learner.begin(batch(5))
    published = Published(
        batch_id=4,
        policy_version=6,
        onnx=b"",
        checkpoint="",
        weights_sha256="",
        metrics={},
        valid_steps=4,
        rejected=rejected,
    )
    learner.commit(batch(5), published)
    assert learner.counters.agent_steps == steps
    assert learner.version == 6
