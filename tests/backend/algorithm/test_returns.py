import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attract.algorithm.normalisation import RunningMoments
from attract.algorithm.returns import past_returns, reward_divisor, scaled_rewards
from attract.algorithm.streams import chain_segments

NAN = float("nan")


def brute_force(rewards, ended, valid, gamma, carried=0.0):
    """One slot's steps, one after the other, in Python's own numbers."""
    running, found = carried, []
    for reward, is_end, is_valid in zip(rewards, ended, valid, strict=True):
        running = gamma * running + reward if is_valid else 0.0
        found.append(running)
        running = 0.0 if is_end or not is_valid else running
    return found


def test_P11_past_rewards_are_discounted_and_begin_anew_after_an_end():
    # 1, 1 + 0.5, then an end: 4 stands alone; 1 + 0.5 * 4 = 3.
    returns = past_returns(
        torch.tensor([[1.0], [1.0], [4.0], [1.0]]),
        torch.tensor([[False], [True], [False], [False]]),
        torch.ones(4, 1, dtype=torch.bool),
        torch.tensor([2.0]),
        None,
        0.5,
    )
    assert returns.flatten().tolist() == [2.0, 2.0, 4.0, 3.0]  # the first: 1 + 0.5 * 2


@given(
    st.integers(1, 6), st.integers(1, 4), st.integers(1, 5), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1)
)
def test_P11_streams_of_segments_are_followed_like_one_long_slot(
    horizon: int, runs: int, slots: int, gamma: float, seed: int
):
    generator = torch.Generator().manual_seed(seed)
    long = (horizon * runs, slots)
    rewards = torch.randn(long, generator=generator)
    ended = torch.rand(long, generator=generator) < 0.2
    valid = torch.rand(long, generator=generator) < 0.8
    carried = torch.randn(slots, generator=generator)
    expected = torch.tensor(
        [
            brute_force(
                *(array[:, slot].tolist() for array in (rewards, ended, valid)), gamma, carried[slot].item()
            )
            for slot in range(slots)
        ]
    ).T
    # Columns in an order of their own: segment r of slot s anywhere.
    order = torch.randperm(runs * slots, generator=generator)
    slot_id, run = order % slots, order // slots

    def cut(array: torch.Tensor) -> torch.Tensor:
        return torch.stack(
            [
                array[r * horizon : (r + 1) * horizon, s]
                for s, r in zip(slot_id.tolist(), run.tolist(), strict=True)
            ],
            1,
        )

    found = past_returns(
        cut(rewards).masked_fill(~cut(valid), NAN),
        cut(ended),
        cut(valid),
        # What a slot brought along is read at its first segment alone.
        torch.where(run == 0, carried[slot_id], NAN).nan_to_num(1e9),
        chain_segments(slot_id, run * horizon, horizon),
        gamma,
    )
    assert torch.allclose(found, cut(expected), atol=1e-5)


def test_P11_the_divisor_is_the_deviation_of_the_returns():
    seen = RunningMoments.of(torch.tensor([3.0, 5.0, 4.0, 9.0]), torch.tensor([True, True, True, False]))
    assert reward_divisor(seen) == pytest.approx((2 / 3) ** 0.5)  # of 3, 5 and 4


def test_P11_rewards_that_were_always_zero_stay_as_they_are():
    seen = RunningMoments.of(torch.zeros(4), torch.ones(4, dtype=torch.bool))
    assert reward_divisor(seen) == reward_divisor(RunningMoments.empty(())) == 1.0


def test_P11_the_same_return_in_every_step_divides_by_a_tenth_of_it():
    # Its deviation is 0: divided by that, the reward would be infinite.
    seen = RunningMoments.of(torch.full((8,), -100.0), torch.ones(8, dtype=torch.bool))
    assert reward_divisor(seen) == pytest.approx(10.0)


def test_P11_what_a_reward_is_counted_in_does_not_matter():
    generator = torch.Generator().manual_seed(3)
    rewards = torch.randn(8, 4, generator=generator)
    everything = torch.ones(8, 4, dtype=torch.bool)
    nothing = torch.zeros(8, 4, dtype=torch.bool)

    def scaled(factor: float) -> torch.Tensor:
        raw = rewards * factor
        returns = past_returns(raw, nothing, everything, torch.zeros(4), None, 0.99)
        return scaled_rewards(raw, reward_divisor(RunningMoments.of(returns, everything)))

    for factor in (1e-3, 1e3, 1e-12):
        assert torch.allclose(scaled(factor), scaled(1.0), rtol=1e-5)


def test_P11_a_rare_large_reward_is_clipped():
    assert scaled_rewards(torch.tensor([5.0, -1000.0]), 10.0).tolist() == [0.5, -10.0]


def test_P8_P11_a_reward_that_is_not_finite_shows():
    seen = RunningMoments.of(torch.tensor([1.0, float("inf")]), torch.ones(2, dtype=torch.bool))
    scaled = scaled_rewards(torch.tensor([1.0, float("inf")]), reward_divisor(seen))
    assert not torch.isfinite(scaled).all()
