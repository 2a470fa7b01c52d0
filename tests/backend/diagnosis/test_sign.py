import pytest

from attract.diagnosis.history import History
from attract.diagnosis.sign import is_like_random, percent
from run_facts import run_facts


def late(first: float, now: float, share: float) -> History:
    """Short episodes end at once, long ones after the policy has changed; then `now` for a while."""
    history = History()
    common = {"rollout/ep_rew_std": 1.0, "rollout/episodes": 50.0, "fleet/instances": 100}
    history.add(1, 1_000, {"rollout/ep_rew_mean": first, "rollout/ep_len_mean": 10.0, **common})
    for update in range(2, 40):
        row = {"rollout/ep_rew_mean": now, "rollout/ep_len_mean": 100.0, "train/entropy_share": share}
        history.add(update, 1_000 * update, {**row, **common})
    return history


@pytest.mark.parametrize(
    ("first", "now", "share", "expected"),
    [
        (-10.0, -500.0, 0.01, True),  # stuck, and worse than what ended first
        (-10.0, 500.0, 0.01, False),  # decided and better than what ended first: it has learned
        (-10.0, -500.0, 0.95, True),  # as undecided as at first
        (-10.0, -500.0, 0.5, False),  # on its way: unknown
    ],
)
def test_a_late_first_return_counts_as_untrained_only_under_a_telling_policy(first, now, share, expected):
    assert is_like_random(late(first, now, share), run_facts()) is expected


def test_nothing_is_like_random_where_returns_cannot_be_compared():
    assert not is_like_random(late(-10.0, -500.0, 0.95), run_facts(starts_untrained=False))
    assert not is_like_random(History(), run_facts())


def test_a_share_is_read_as_percent():
    assert [percent(share) for share in (0.0, 0.004, 0.123, 1.0)] == ["0 %", "under 1 %", "12 %", "100 %"]
