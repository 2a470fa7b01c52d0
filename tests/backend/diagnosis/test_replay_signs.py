"""Signs of a replay buffer at their thresholds, from rows made by hand."""

import pytest

from attract.diagnosis import learning_signs as signs
from attract.diagnosis.history import History
from known_runs import run_facts

FACTS = run_facts({"algorithm": "dqn", "total_steps": 100_000})


def history(num_rows: int = 30, *, steps: int = 1_000, **values: float) -> History:
    """The same row again and again, so many steps apart; names without `train/`, a `__` for a slash."""
    found = History()
    row = {f"train/{name.replace('__', '/')}": value for name, value in values.items()}
    for update in range(1, num_rows + 1):
        found.add(update, steps * update, row)
    return found


@pytest.mark.parametrize(
    ("predicted", "played", "is_shown"),
    [
        # Above by more than 1 and the size of what followed.
        (5.1, 2.0, True),
        (4.9, 2.0, False),
        (1.1, 0.0, True),
        (0.9, 0.0, False),
        (2.1, -0.5, True),
        (-3.0, -9.0, False),
        (1.0, 4.0, False),
    ],
)
def test_predicted_returns_are_set_beside_those_that_followed(
    predicted: float, played: float, is_shown: bool
) -> None:
    sign = signs.values_too_high(history(q_value=predicted, discounted_return=played, epsilon=0.02), FACTS)
    assert (sign is not None) is is_shown
    if sign is not None:
        assert (sign.value, sign.advice) == (predicted, "values-too-high")
        assert f"{predicted:.3g}, and {played:.3g} followed" in sign.text


def test_predicted_returns_are_not_judged_while_the_games_are_played_at_random_or_from_few_rows() -> None:
    assert signs.values_too_high(history(q_value=9.0, discounted_return=1.0, epsilon=0.2), FACTS) is None
    assert signs.values_too_high(history(9, q_value=9.0, discounted_return=1.0), FACTS) is None
    # An algorithm without an epsilon.
    assert signs.values_too_high(history(q_value=9.0, discounted_return=1.0), FACTS) is not None


def test_what_followed_is_a_mean_over_all_rows_so_that_rare_rewards_count() -> None:
    found = history(29, q_value=2.0, discounted_return=0.0)
    found.add(30, 30_000, {"train/q_value": 2.0, "train/discounted_return": 30.0})
    assert signs.values_too_high(found, FACTS) is None


def test_of_several_policies_the_one_at_fault_is_named() -> None:
    found = history(
        q_value__scout=9.0, discounted_return__scout=1.0, q_value__keeper=1.0, discounted_return__keeper=1.0
    )
    sign = signs.values_too_high(found, FACTS)
    assert sign is not None and "the policy `scout` predicts" in sign.text


def test_exploration_is_long_where_half_of_the_actions_are_random_after_50_000_steps() -> None:
    endless = run_facts({"algorithm": "dqn"})
    sign = signs.explores_long(history(50, epsilon=0.755), endless)
    assert sign is not None and sign.advice == "explores-long"
    # 20,000 of the 1,000,000 steps over which schedules of a run without an end run.
    assert sign.numbers == {"fraction": 0.02}
    assert sign.text == "after 50,000 steps 76 % of the actions are random"
    assert signs.explores_long(history(49, epsilon=0.755), endless) is None
    assert signs.explores_long(history(50, epsilon=0.49), endless) is None
    assert signs.explores_long(history(50), endless) is None


def test_a_buffer_is_small_where_its_memory_is_full_with_less_than_half_of_the_steps() -> None:
    sign = signs.buffer_small(history(buffer_steps=38_000.0, buffer_mebibytes=1023.0), FACTS)
    assert sign is not None and (sign.value, sign.advice) == (38_000.0, "buffer-small")
    # 100,000 steps of 38,000 in 1,024 MiB.
    assert sign.numbers == {"mebibytes": 2695}
    assert sign.text.startswith("the replay buffer is full with 38,000 steps of 100,000")
    for steps, mebibytes in ((51_000.0, 1023.0), (38_000.0, 900.0)):
        assert signs.buffer_small(history(buffer_steps=steps, buffer_mebibytes=mebibytes), FACTS) is None
    endless = run_facts({"algorithm": "sac"})
    sign = signs.buffer_small(history(buffer_steps=38_000.0, buffer_mebibytes=1023.0), endless)
    assert sign is not None and sign.numbers == {"mebibytes": 4096}
    assert signs.buffer_small(history(buffer_steps=38_000.0, buffer_mebibytes=1023.0), run_facts()) is None


def test_a_buffer_of_a_named_policy_is_named() -> None:
    found = history(buffer_steps__scout=10.0, buffer_mebibytes__scout=1024.0)
    sign = signs.buffer_small(found, FACTS)
    assert sign is not None and "the replay buffer of the policy `scout` is full" in sign.text
