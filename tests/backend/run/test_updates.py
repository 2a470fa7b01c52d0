from attract.run.updates import Updates
from attract.schema.learner import Counters, RejectedRow, Train, Trained


def train(batch_id: int, agent_steps: int) -> Train:
    counters = Counters(agent_steps=agent_steps, updates=batch_id)
    return Train(batch_id=batch_id, rows=[], verify_rows=[], verify="sample", counters=counters)


def trained(batch_id: int, *, valid_steps: int = 0, rejected: bool = False) -> Trained:
    rows = [RejectedRow(row=0, largest_difference=1.0)] if rejected else []
    return Trained(
        batch_id=batch_id, policy_version=batch_id, metrics={}, valid_steps=valid_steps, rejected=rows
    )


def test_an_update_counts_once_and_no_other_than_ours() -> None:
    updates = Updates()
    updates.begin(train(1, 100))
    assert updates.counters_after(trained(2), Counters()) is None
    counters = updates.counters_after(trained(1), Counters())
    assert counters is not None and counters.agent_steps == 100
    updates.trained(1, counters, {"a": 1.0})
    assert updates.counters_after(trained(1), Counters()) is None
    taken = updates.take(1)
    assert taken is not None and taken.values == {"a": 1.0}
    assert updates.take(1) is None and updates.is_idle


def test_rejected_rows_do_not_count_after_updates_that_are_not_durable_yet() -> None:
    updates = Updates()
    updates.begin(train(1, 100))
    first = updates.counters_after(trained(1, valid_steps=90, rejected=True), Counters(agent_steps=7))
    assert first is not None and first.agent_steps == 97
    updates.trained(1, first, {})
    updates.begin(train(2, 200))
    second = updates.counters_after(trained(2, valid_steps=50, rejected=True), Counters(agent_steps=7))
    assert second is not None and second.agent_steps == 147


def test_P8_a_dropped_update_is_no_longer_under_way() -> None:
    updates = Updates()
    updates.begin(train(1, 100))
    dropped = updates.drop(1)
    assert dropped is not None and dropped.batch_id == 1
    assert updates.is_idle and updates.num_dropped == 1
    updates.begin(train(2, 100))
    updates.forget()
    assert updates.is_idle
