import json

import pytest

from attract.curriculum.window import EpisodeWindow, is_of_window
from attract.schema.episodes import Episode, Episodes


def episode(*returns: float, end_reason: str = "terminated", food: float | None = None) -> Episode:
    return Episode(
        instance_id=0,
        episode=0,
        step=0,
        returns=list(returns),
        length_steps=10,
        length_ticks=20,
        end_reason=end_reason,
        metrics={} if food is None else {"food": food},
        reward_terms={"step": 4.0},
    )


def test_means_are_over_the_last_100_and_over_episodes_that_have_the_metric():
    window = EpisodeWindow({"step": -0.5})
    window.add(episode(1000.0, food=1000.0))
    for number in range(100):
        window.add(episode(float(number), food=float(number) if number % 2 else None))
    # 0 + ... + 99 = 4950; the odd ones among them: 1 + 3 + ... + 99 = 2500, 50 of them.
    assert window.mean("rollout/ep_rew_mean") == 49.5
    assert window.mean("game/food") == 50.0
    assert window.mean("rollout/ep_len_mean") == 10.0
    assert window.mean("reward/step") == -2.0
    assert window.mean("game/nothing") is None
    assert window.is_full


def test_the_deviation_is_that_of_the_episodes_in_the_window():
    window = EpisodeWindow()
    assert window.std("rollout/ep_rew_mean") is None
    for value in (1.0, 3.0, 5.0, 7.0):
        window.add(episode(value))
    # Mean 4, squares 9 + 1 + 1 + 9 = 20, over 4 is 5.
    assert window.std("rollout/ep_rew_mean") == pytest.approx(5.0**0.5)


def test_E1_cut_episodes_never_enter():
    window = EpisodeWindow()
    window.add(episode(5.0, end_reason="cut"))
    assert (len(window), window.return_mean) == (0, None)


def test_many_episodes_at_once_are_as_one_after_another():
    at_once, singly = EpisodeWindow(), EpisodeWindow()
    results = [
        episode(float(number), end_reason="cut" if number % 3 else "terminated") for number in range(400)
    ]
    at_once.extend(Episodes.of(results, 1))
    for result in results:
        singly.add(result)
    assert at_once.state() == singly.state()
    assert (len(at_once), at_once.return_mean) == (100, singly.return_mean)


def test_several_agents_have_a_mean_each_and_one_together():
    window = EpisodeWindow()
    window.add(episode(1.0, 5.0))
    window.add(episode(3.0, 1.0))
    assert window.return_mean == 2.5  # (3 + 2) / 2
    assert window.agent_return_means == [2.0, 3.0]
    assert window.mean("rollout/ep_rew_mean/agent_1") == 3.0
    assert window.mean("rollout/ep_rew_mean/agent_2") is None


def test_D2_a_window_goes_through_a_checkpoint_unchanged():
    window, other = EpisodeWindow({"step": -0.5}), EpisodeWindow()
    for number in range(3):
        window.add(episode(float(number), food=2.0))
    other.load(json.loads(json.dumps(window.state())))
    assert other.state() == window.state()
    assert other.mean("reward/step") == -2.0
    window.clear()
    assert window.return_mean is None


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("rollout/ep_rew_mean", True),
        ("rollout/ep_rew_mean/agent_2", True),
        ("game/food", True),
        ("reward/step", True),
        ("rollout/episodes", False),
        ("eval/mean_reward", False),
        ("train/entropy", False),
    ],
)
def test_what_is_a_mean_over_the_window(name: str, inside: bool):
    assert is_of_window(name) == inside
