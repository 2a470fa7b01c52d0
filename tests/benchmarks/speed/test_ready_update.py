import pytest
import torch

from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract_benchmarks.speed.ready_update import ReadyUpdate, cartpole_work


def test_work_counts_steps_and_samples() -> None:
    work = cartpole_work()
    # 1,024 segments of 32 steps, passed over four times.
    assert (work.num_steps, work.num_samples) == (32_768, 131_072)


@pytest.mark.parametrize("shared", [True, False])
def test_a_batch_says_what_its_policy_says_and_the_policy_comes_back_after_each_update(shared: bool) -> None:
    ready = ReadyUpdate(cartpole_work(shared_trunk=shared, num_steps=1024), torch.device("cpu"))
    before = evaluate_batch(ready.policy, ready.distribution, ready.batch)
    torch.testing.assert_close(before.log_probs, ready.batch.log_prob)
    torch.testing.assert_close(before.values, ready.batch.value)
    assert ready.batch.terminated.any() and ready.batch.truncated.any() and ready.batch.valid.all()
    assert ready.run() > 0
    after = evaluate_batch(ready.policy, ready.distribution, ready.batch)
    assert torch.equal(after.log_probs, before.log_probs)
