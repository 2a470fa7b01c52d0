import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attract.algorithm.advantages import advantages_from_segments, vtrace_from_segments
from attract.algorithm.streams import chain_segments

NAN = float("nan")


def column(numbers, dtype=torch.float32):
    return torch.tensor(numbers, dtype=dtype).unsqueeze(1)


def three_steps(*, terminated=(0, 0, 0), truncated=(0, 0, 0), final=(NAN, NAN, NAN), bootstrap=40.0):
    """Rewards 1, 2, 3 and values 10, 20, 30, then a bootstrap value of 40; gamma 1/2, lambda 1/2."""
    return advantages_from_segments(
        column([1, 2, 3]),
        column([10, 20, 30]),
        column(list(final)),
        torch.tensor([bootstrap]),
        column(list(terminated), torch.bool),
        column(list(truncated), torch.bool),
        column([1, 1, 1], torch.bool),
        None,
        gamma=0.5,
        gae_lambda=0.5,
    )[:, 0].tolist()


def test_E6_without_an_episode_end():
    # delta: 1 + 20/2 - 10 = 1, 2 + 30/2 - 20 = -3, 3 + 40/2 - 30 = -7
    # A_2 = -7, A_1 = -3 - 7/4 = -4.75, A_0 = 1 - 4.75/4 = -0.1875
    assert three_steps() == [-0.1875, -4.75, -7.0]


def test_E6_a_termination_is_worth_nothing_and_cuts():
    # delta_1 = 2 + 0 - 20 = -18 = A_1; A_0 = 1 - 18/4 = -3.5
    assert three_steps(terminated=(0, 1, 0)) == [-3.5, -18.0, -7.0]


def test_E6_a_truncation_is_worth_its_final_value_and_cuts():
    # delta_1 = 2 + 100/2 - 20 = 32 = A_1; A_0 = 1 + 32/4 = 9
    assert three_steps(truncated=(0, 1, 0), final=(NAN, 100.0, NAN)) == [9.0, 32.0, -7.0]


def test_E1_both_flags_count_as_terminated():
    assert three_steps(terminated=(0, 1, 0), truncated=(0, 1, 0), final=(NAN, 100.0, NAN)) == [
        -3.5,
        -18.0,
        -7.0,
    ]


def test_E6_a_truncation_on_the_last_step_uses_its_final_value():
    # delta_2 = 3 + 60/2 - 30 = 3 = A_2, A_1 = -3 + 3/4 = -2.25, A_0 = 1 - 2.25/4 = 0.4375
    assert three_steps(truncated=(0, 0, 1), final=(NAN, NAN, 60.0)) == [0.4375, -2.25, 3.0]


def test_S5_invalid_steps_are_zero_and_pass_nothing_on():
    # The agent dies at step 1; steps 2 and 3 are invalid and full of NaN; a new trajectory begins at step 4.
    advantages = advantages_from_segments(
        column([1, 2, NAN, NAN, 5]),
        column([10, 20, NAN, NAN, 40]),
        column([NAN] * 5),
        torch.tensor([8.0]),
        column([0, 1, 0, 0, 0], torch.bool),
        column([0, 0, 0, 0, 0], torch.bool),
        column([1, 1, 0, 0, 1], torch.bool),
        None,
        gamma=0.5,
        gae_lambda=0.5,
    )
    # A_4 = 5 + 8/2 - 40 = -31; A_1 = 2 - 20 = -18; A_0 = 1 + 20/2 - 10 - 18/4 = -3.5
    assert advantages[:, 0].tolist() == [-3.5, -18.0, 0.0, 0.0, -31.0]


def test_S2_consecutive_segments_of_a_slot_are_one_stream():
    # Slot 7 plays steps 0-1, then 2-3; the columns come in the other order, slot 5 in between.
    slot_id, first_step = torch.tensor([7, 5, 7]), torch.tensor([2, 0, 0])
    follows = chain_segments(slot_id, first_step, horizon=2)
    assert follows is not None and follows.tolist() == [-1, -1, 0]
    flags = torch.zeros((2, 3), dtype=torch.bool)
    advantages = advantages_from_segments(
        torch.tensor([[3.0, 0.0, 1.0], [4.0, 0.0, 2.0]]),
        torch.tensor([[30.0, 0.0, 10.0], [40.0, 0.0, 20.0]]),
        torch.full((2, 3), NAN),
        torch.tensor([50.0, 0.0, 999.0]),
        flags,
        flags,
        ~flags,
        follows,
        gamma=0.5,
        gae_lambda=0.5,
    )
    # Slot 7 as one stream 1, 2, 3, 4 with values 10, 20, 30, 40, 50:
    # delta = 1, -3, -7, -11; A_3 = -11, A_2 = -7 - 11/4 = -9.75, A_1 = -3 - 9.75/4 = -5.4375,
    # A_0 = 1 - 5.4375/4 = -0.359375. The first segment's own bootstrap value (999) is not read.
    assert advantages.tolist() == [[-9.75, 0.0, -0.359375], [-11.0, 0.0, -5.4375]]


def test_shapes_that_do_not_fit_are_refused():
    steps = torch.zeros((2, 3))
    flags = torch.zeros((2, 3), dtype=torch.bool)
    with pytest.raises(ValueError, match=r"expected values of shape \(2, 3\), got \(3, 3\)"):
        advantages_from_segments(
            steps,
            torch.zeros((3, 3)),
            steps,
            torch.zeros(3),
            flags,
            flags,
            ~flags,
            None,
            gamma=1,
            gae_lambda=1,
        )
    with pytest.raises(ValueError, match=r"expected bootstrap_value of shape \(3,\), got \(2,\)"):
        advantages_from_segments(
            steps, steps, steps, torch.zeros(2), flags, flags, ~flags, None, gamma=1, gae_lambda=1
        )


def by_the_definition(batch, *, horizon, gamma, gae_lambda):
    """Sums written out: A_t = sum over k of (gamma lambda)^(k-t) delta_k, up to and with the first cut.

    Follows a step to the next by looking up (slot, step): knows nothing of runs, chains or recursion.
    """
    where = {}
    for s, (slot, first) in enumerate(zip(batch["slot_id"], batch["first_step"], strict=True)):
        for t in range(horizon):
            where[int(slot), int(first) + t] = (t, s)
    result = np.zeros(batch["rewards"].shape)
    for (slot, step), place in where.items():
        if not batch["valid"][place]:
            continue
        total, weight, k = 0.0, 1.0, step
        while True:
            t, s = where[slot, k]
            value, reward = batch["values"][t, s], batch["rewards"][t, s]
            is_last = (slot, k + 1) not in where
            if batch["terminated"][t, s]:
                next_value, cut = 0.0, True
            elif batch["truncated"][t, s]:
                next_value, cut = batch["final_values"][t, s], True
            elif is_last:
                next_value, cut = batch["bootstrap_value"][s], True
            else:
                next_value, cut = batch["values"][where[slot, k + 1]], False
            total += weight * (reward + gamma * next_value - value)
            if cut:
                break
            weight *= gamma * gae_lambda
            k += 1
        result[place] = total
    return result


@st.composite
def batches(draw):
    """The horizon, and a few slots with segments of several runs, with holes and invalid stretches."""
    horizon = draw(st.integers(1, 6))
    keys = [
        (slot, horizon * segment + offset)
        for slot, offset in enumerate(draw(st.lists(st.integers(0, 50), min_size=1, max_size=5)))
        for segment in sorted(draw(st.sets(st.integers(0, 8), min_size=1)))
    ]
    keys = draw(st.permutations(keys))
    shape = (horizon, len(keys))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ends = draw(st.sampled_from([0.0, 0.15, 0.6]))
    terminated, truncated = random.random(shape) < ends, random.random(shape) < ends
    valid = np.ones(shape, bool)
    # E9: after a termination an agent may stay away for some steps of its stream.
    where = {(slot, first + t): (t, s) for s, (slot, first) in enumerate(keys) for t in range(horizon)}
    for slot, step in sorted(where):
        before = where.get((slot, step - 1))
        gone = before is not None and (not valid[before] or (terminated | truncated)[before])
        if gone and random.random() < 0.5:
            place = where[slot, step]
            valid[place] = terminated[place] = truncated[place] = False
    numbers = {name: random.normal(size=shape) for name in ("rewards", "values", "final_values")}
    numbers["rewards"][~valid] = numbers["values"][~valid] = np.nan
    numbers["final_values"][~truncated] = np.nan
    return horizon, {
        **numbers,
        "bootstrap_value": random.normal(size=len(keys)),
        "terminated": terminated,
        "truncated": truncated,
        "valid": valid,
        "slot_id": np.array([slot for slot, _ in keys]),
        "first_step": np.array([first for _, first in keys]),
    }


@given(batches())
def test_E6_S2_S5_equals_the_sum_written_out(drawn):
    horizon, batch = drawn
    tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in batch.items()}
    slot_id, first_step = tensors.pop("slot_id"), tensors.pop("first_step")
    got = advantages_from_segments(
        **tensors, next_segment=chain_segments(slot_id, first_step, horizon), gamma=0.9, gae_lambda=0.8
    )
    expected = by_the_definition(batch, horizon=horizon, gamma=0.9, gae_lambda=0.8)
    np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=1e-12)


@given(batches(), st.data())
def test_S2_the_order_of_columns_does_not_matter(drawn, data):
    horizon, batch = drawn
    tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in batch.items()}
    order = torch.tensor(data.draw(st.permutations(range(len(batch["slot_id"])))))

    def compute(columns):
        follows = chain_segments(columns["slot_id"], columns["first_step"], horizon)
        rest = {name: array for name, array in columns.items() if name not in ("slot_id", "first_step")}
        return advantages_from_segments(**rest, next_segment=follows, gamma=0.9, gae_lambda=0.8)

    assert torch.equal(
        compute({name: array[..., order] for name, array in tensors.items()}), compute(tensors)[:, order]
    )


def hand_example(*, rho_max=1.0, c_max=1.0, **flags):
    """`three_steps`, where the learner is 2, 1/2 and 4 times as likely to act so."""
    none = (0, 0, 0)
    advantages, targets = vtrace_from_segments(
        column([2, 0.5, 4]),
        column([1, 2, 3]),
        column([10, 20, 30]),
        column(list(flags.get("final", (NAN, NAN, NAN)))),
        torch.tensor([40.0]),
        column(list(flags.get("terminated", none)), torch.bool),
        column(list(flags.get("truncated", none)), torch.bool),
        column([1, 1, 1], torch.bool),
        None,
        gamma=0.5,
        gae_lambda=0.5,
        rho_max=rho_max,
        c_max=c_max,
    )
    return advantages[:, 0].tolist(), targets[:, 0].tolist()


def test_P9_worked_by_hand():
    # delta: 1, -3, -7 as above. With rho and c clipped at 1: rho 1, 1/2, 1; c = 1/2, 1/4, 1/2.
    # v - V: -7; -3/2 + 1/2 * 1/4 * -7 = -2.375; 1 + 1/2 * 1/2 * -2.375 = 0.40625
    # A = delta + 1/4 (v' - V'): -7; -3 - 7/4 = -4.75; 1 - 2.375/4 = 0.40625
    assert hand_example() == ([0.40625, -4.75, -7.0], [10.40625, 17.625, 23.0])
    # rho up to 3, c up to 3/2: rho 2, 1/2, 3; c = 3/4, 1/4, 3/4.
    # v - V: -21; -3/2 - 21/8 = -4.125; 2 + 1/2 * 3/4 * -4.125 = 0.453125
    # A: -7; -3 - 21/4 = -8.25; 1 - 4.125/4 = -0.03125
    assert hand_example(rho_max=3.0, c_max=1.5) == ([-0.03125, -8.25, -7.0], [10.453125, 15.875, 9.0])


def test_P9_is_cut_where_gae_is():
    # Terminated at step 1: delta_1 = 2 - 20 = -18, v - V = -9, A_1 = -18. Step 0 sees v_1 - V_1 = -9.
    # v - V at 0: 1 + 1/4 * -9 = -1.25; A_0 = 1 - 9/4 = -1.25
    assert hand_example(terminated=(0, 1, 0)) == ([-1.25, -18.0, -7.0], [8.75, 11.0, 23.0])
    # Truncated there, worth 100: delta_1 = 2 + 50 - 20 = 32, v - V = 16; 1 + 16/4 = 5 twice
    assert hand_example(truncated=(0, 1, 0), final=(NAN, 100.0, NAN)) == (
        [5.0, 32.0, -7.0],
        [15.0, 36.0, 23.0],
    )


def vtrace_by_the_definition(batch, ratios, *, horizon, gamma, gae_lambda, rho_max, c_max):
    """v_t = V_t + sum over k of gamma^(k-t) (product of c_t .. c_{k-1}) rho_k delta_k, up to the first cut.

    Follows a step to the next by looking up (slot, step), as `by_the_definition` does.
    """
    where = {}
    for s, (slot, first) in enumerate(zip(batch["slot_id"], batch["first_step"], strict=True)):
        for t in range(horizon):
            where[int(slot), int(first) + t] = (t, s)

    def value_after(slot, k):
        """Value of what follows step k, and whether the sum ends here."""
        t, s = where[slot, k]
        if batch["terminated"][t, s]:
            return 0.0, True
        if batch["truncated"][t, s]:
            return batch["final_values"][t, s], True
        if (slot, k + 1) not in where:
            return batch["bootstrap_value"][s], True
        return batch["values"][where[slot, k + 1]], False

    def target(slot, step):
        total, weight, k, ended = batch["values"][where[slot, step]], 1.0, step, False
        while not ended:
            place = where[slot, k]
            after, ended = value_after(slot, k)
            delta = batch["rewards"][place] + gamma * after - batch["values"][place]
            total += weight * min(rho_max, ratios[place]) * delta
            weight *= gamma * gae_lambda * min(c_max, ratios[place])
            k += 1
        return total

    advantages, targets = np.zeros(ratios.shape), np.array(batch["values"])
    for (slot, step), place in where.items():
        if batch["valid"][place]:
            value, ended = value_after(slot, step)
            later = value if ended else target(slot, step + 1)
            mixed = gae_lambda * later + (1 - gae_lambda) * value
            advantages[place] = batch["rewards"][place] + gamma * mixed - batch["values"][place]
            targets[place] = target(slot, step)
    return advantages, targets


def vtrace_of(batch, ratios, horizon, **numbers):
    tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in batch.items()}
    follows = chain_segments(tensors.pop("slot_id"), tensors.pop("first_step"), horizon)
    return vtrace_from_segments(torch.from_numpy(ratios), **tensors, next_segment=follows, **numbers)


@given(batches(), st.integers(0, 2**32 - 1))
def test_P9_S2_S5_equals_the_sum_of_products_written_out(drawn, seed):
    horizon, batch = drawn
    ratios = np.exp(np.random.default_rng(seed).normal(size=batch["rewards"].shape))
    ratios[~batch["valid"]] = np.nan
    numbers = {"gamma": 0.9, "gae_lambda": 0.8, "rho_max": 1.3, "c_max": 1.1}
    got = vtrace_of(batch, ratios, horizon, **numbers)
    expected = vtrace_by_the_definition(batch, ratios, horizon=horizon, **numbers)
    valid = batch["valid"]
    for mine, reference in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine.numpy()[valid], reference[valid], rtol=0, atol=1e-12)
    assert (got[0].numpy()[~valid] == 0).all()


@given(batches())
def test_P9_on_policy_it_is_gae(drawn):
    horizon, batch = drawn
    batch = {name: a.astype(np.float32) if a.dtype == np.float64 else a for name, a in batch.items()}
    ratios = np.ones_like(batch["rewards"])
    advantages, targets = vtrace_of(batch, ratios, horizon, gamma=0.9, gae_lambda=0.8, rho_max=1.0, c_max=1.0)
    tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in batch.items()}
    follows = chain_segments(tensors.pop("slot_id"), tensors.pop("first_step"), horizon)
    expected = advantages_from_segments(**tensors, next_segment=follows, gamma=0.9, gae_lambda=0.8)
    valid = tensors["valid"]
    torch.testing.assert_close(advantages[valid], expected[valid], rtol=0, atol=1e-6)
    torch.testing.assert_close(targets[valid], (expected + tensors["values"])[valid], rtol=0, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@given(batches())
def test_E6_cuda_gives_the_numbers_of_the_cpu(drawn):
    horizon, batch = drawn
    results = []
    for device in ("cpu", "cuda"):
        data = {name: torch.from_numpy(np.asarray(array)).to(device) for name, array in batch.items()}
        follows = chain_segments(data.pop("slot_id"), data.pop("first_step"), horizon)
        results.append(
            advantages_from_segments(**data, next_segment=follows, gamma=0.9, gae_lambda=0.8).cpu()
        )
    torch.testing.assert_close(results[1], results[0], rtol=1e-12, atol=1e-12)
