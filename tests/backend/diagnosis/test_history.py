import pytest

from attract.diagnosis.history import History, Returns

GAMES = {"fleet/instances": 100.0}


def row(mean: float, *, std: float = 10.0, episodes: float = 50, length: float = 10, **more: float):
    return {
        "rollout/ep_rew_mean": mean,
        "rollout/ep_rew_std": std,
        "rollout/ep_len_mean": length,
        "rollout/episodes": episodes,
        **more,
    }


def test_a_return_is_better_only_beyond_chance_and_by_a_fifth_of_a_deviation():
    # Standard error of the difference: sqrt(100/100 + 100/100) = 1.414; three of them are 4.24.
    assert not Returns(104.0, 10.0, 100).exceeds(Returns(100.0, 10.0, 100))
    assert Returns(104.5, 10.0, 100).exceeds(Returns(100.0, 10.0, 100))
    # With 10,000 episodes each 0.42 would be beyond chance; a fifth of 10 is 2.
    assert not Returns(101.9, 10.0, 10_000).exceeds(Returns(100.0, 10.0, 10_000))
    assert Returns(102.1, 10.0, 10_000).exceeds(Returns(100.0, 10.0, 10_000))


def test_equal_returns_do_not_exceed_each_other_by_rounding():
    assert not Returns(-1e6 + 1e-9, 0.0, 100).exceeds(Returns(-1e6, 0.0, 100))


def test_the_baseline_waits_until_long_episodes_have_ended_as_well_as_short_ones():
    history = History()
    # Each of 100 games has played 10 steps of episodes of 40: only short ones can have ended.
    history.add(1, 1_000, row(-12.0, length=12, **GAMES))
    history.add(2, 2_000, row(-25.0, length=40, **GAMES))
    assert history.baseline is None
    history.add(3, 8_000, row(-40.0, length=40, **GAMES))
    assert history.baseline is not None
    assert (history.baseline.mean, history.baseline.count) == (-40.0, 100)
    assert history.earliest is not None
    assert history.earliest.mean == -12.0


def test_twenty_episodes_make_a_baseline():
    history = History()
    history.add(1, 1_000, row(1.0, episodes=19))
    assert history.baseline is None
    history.add(2, 2_000, row(2.0, episodes=1))
    assert history.baseline is not None
    assert history.baseline.count == 20


@pytest.mark.parametrize(
    ("name", "late", "is_untrained"),
    [
        ("train/entropy_share", 0.95, True),
        ("train/entropy_share", 0.7, False),
        ("train/action_spread", 0.58, True),  # 0.58 of 0.6 at first is 0.97
        ("train/action_spread", 0.3, False),
    ],
)
def test_a_late_baseline_is_untrained_only_under_a_policy_as_undecided_as_at_first(name, late, is_untrained):
    history = History()
    first = 1.0 if name == "train/entropy_share" else 0.6
    for update in range(1, 10):
        history.add(update, 1_000 * update, {**GAMES, name: first if update == 1 else late})
    history.add(10, 10_000, row(1.0, episodes=100, **{name: late}))
    assert history.baseline is not None
    assert history.is_baseline_untrained is is_untrained


def test_the_first_episodes_to_end_are_short_and_make_no_baseline():
    history = History()
    # After 30 steps of each of 100 games 50 short episodes have ended: the mean length is theirs.
    history.add(1, 3_000, row(-12.0, length=12, episodes=50, **GAMES))
    assert history.earliest is not None and history.baseline is None
    history.add(2, 30_000, row(-150.0, length=100, episodes=50, **GAMES))
    assert history.baseline is not None and history.baseline.mean == -150.0


def test_an_improvement_is_remembered():
    history = History()
    history.add(1, 1_000, row(0.0))
    for update in range(2, 8):
        history.add(update, 1_000 * update, row(50.0))
    assert history.has_improved
    for update in range(8, 20):
        history.add(update, 1_000 * update, row(0.0))
    assert history.has_improved
    assert history.now is not None and history.now.mean == 0.0
    assert history.best is not None and history.best.mean == 50.0


def test_rows_without_new_episodes_add_nothing_to_what_is_known_of_the_return():
    history = History()
    history.add(1, 1_000, row(0.0, episodes=40))
    history.add(2, 2_000, row(0.0, episodes=0))
    assert history.now is not None and history.now.count == 40
    for update in range(3, 8):
        history.add(update, 1_000 * update, row(0.0, episodes=300))
    # Five rows of the last 100 episodes each.
    assert history.now.count == 500


def test_rewards_and_ends_are_those_since_the_start():
    history = History()
    history.add(1, 1_000, {"rollout/reward_min": -1.0, "rollout/reward_max": 0.0})
    history.add(2, 2_000, {"rollout/reward_min": 0.0, "rollout/reward_max": 2.0})
    history.add(3, 3_000, row(0.0, episodes=4, **{"rollout/time_limit_share": 0.25}))
    assert (history.reward_low, history.reward_high) == (-1.0, 2.0)
    assert (history.num_episodes, history.num_at_limit) == (4, 1.0)


def test_the_usual_reward_is_the_geometric_mean_of_its_rows():
    history = History()
    assert history.usual_reward is None
    for update, usual in enumerate((1.0, 100.0), start=1):
        history.add(update, update, {"rollout/reward_usual": usual})
    history.add(3, 3, {"rollout/reward_min": 0.0, "rollout/reward_max": 0.0})
    assert history.usual_reward == pytest.approx(10.0)


def test_a_median_needs_half_of_its_rows():
    history = History()
    for update in range(1, 5):
        history.add(update, update, {"a": float(update)})
    assert history.median("a", 10) is None
    history.add(5, 5, {"a": 100.0})
    assert history.median("a", 10) == 3.0
    assert history.last("a") == 100.0 and history.last("b") is None


def test_each_policy_has_metrics_of_its_own():
    history = History()
    history.add(1, 1, {"train/approx_kl/scout": 1.0, "train/approx_kl/keeper": 2.0, "train/approx_klx": 3.0})
    assert history.policies("train/approx_kl") == [
        ("train/approx_kl/keeper", "keeper"),
        ("train/approx_kl/scout", "scout"),
    ]
    history.add(2, 2, {"train/approx_kl": 1.0})
    assert history.policies("train/approx_kl") == [("train/approx_kl", "")]


def test_means_are_over_the_rows_that_have_the_metric():
    history = History()
    history.add(1, 1, {"reward/food": 1.0})
    history.add(2, 2, {"reward/food": 3.0, "reward/step": -1.0})
    assert history.means("reward/") == {"reward/food": 2.0, "reward/step": -1.0}


def test_what_once_changed_is_no_constant_after_the_learner_was_started_anew():
    def constant(count: float) -> dict[str, float]:
        first = {"rollout/first_constant_observation": 2.0, "rollout/first_constant_value": 0.5}
        return {"rollout/constant_observations": count, **(first if count else {})}

    history = History()
    history.add(1, 1_000, constant(3))
    history.add(2, 2_000, constant(1))
    assert history.constants == (1, 2, 0.5)
    history.add(3, 3_000, constant(4))
    assert history.constants == (1, 2, 0.5)
    history.add(4, 4_000, constant(0))
    history.add(5, 5_000, constant(2))
    assert history.constants is None
