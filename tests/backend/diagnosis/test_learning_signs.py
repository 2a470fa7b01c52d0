"""Signs at their thresholds, from rows made by hand; real runs are in `test_diagnosis.py`."""

import pytest

from attract.diagnosis import learning_signs as signs
from attract.diagnosis.history import History
from attract.diagnosis.sign import RunFacts
from attract.diagnosis.verdict import Measured
from known_runs import run_facts

FACTS = run_facts()


def history(*parts: tuple[int, dict[str, float]]) -> History:
    """So many rows of each, 4,000 steps apart."""
    found, update = History(), 0
    for num_rows, row in parts:
        for _ in range(num_rows):
            update += 1
            found.add(update, 4_000 * update, row)
    return found


def row(mean: float = 0.0, **values: float) -> dict[str, float]:
    return {
        "rollout/ep_rew_mean": mean,
        "rollout/ep_rew_std": 1.0,
        "rollout/ep_len_mean": 100.0,
        "rollout/episodes": 50.0,
        **{f"train/{name}": value for name, value in values.items()},
    }


def test_updates_go_too_far_by_their_kl_or_by_what_is_clipped() -> None:
    sign = signs.kl_high(history((20, row(approx_kl=0.4, clip_fraction=0.2, learning_rate=0.01))), FACTS)
    # A twentieth of the rate for a KL of 0.02.
    assert sign is not None and (sign.value, sign.numbers["lower_rate"]) == (0.4, pytest.approx(0.0005))
    for kl, factor in ((0.3, 1 / 15), (0.05, 0.2), (50.0, 0.01)):
        rows = row(approx_kl=kl, clip_fraction=0.7, learning_rate=1.0)
        sign = signs.kl_high(history((20, rows)), FACTS)
        assert sign is not None and sign.numbers["lower_rate"] == pytest.approx(factor)
    assert signs.kl_high(history((20, row(approx_kl=0.1, clip_fraction=0.7))), FACTS) is not None
    # A sound run of CartPole shows these in passing.
    assert signs.kl_high(history((20, row(approx_kl=0.12, clip_fraction=0.45))), FACTS) is None
    spike = history((20, row(approx_kl=0.02, clip_fraction=0.1)), (4, row(approx_kl=9.0, clip_fraction=0.9)))
    assert signs.kl_high(spike, FACTS) is None


@pytest.mark.parametrize(
    ("num_rows", "facts", "random", "is_shown"),
    [
        # 50 rows of 4,000 steps; the return is 0 beside random play's 0.5.
        (50, FACTS, Measured(0.5, 0.1, 100), True),
        (49, FACTS, Measured(0.5, 0.1, 100), False),
        # Half of a shorter run tells it as well, from 100,000 steps on.
        (30, run_facts({"total_steps": 240_000}), Measured(0.5, 0.1, 100), True),
        (29, run_facts({"total_steps": 240_000}), Measured(0.5, 0.1, 100), False),
        (60, FACTS, Measured(-5.0, 0.1, 100), False),
        (60, FACTS, Measured(0.5, 0.1, 19), False),
        (60, FACTS, None, False),
        (60, run_facts(starts_untrained=False), Measured(0.5, 0.1, 100), False),
    ],
)
def test_the_return_is_not_above_random_play_s(
    num_rows: int, facts: RunFacts, random: Measured | None, is_shown: bool
) -> None:
    found = history((num_rows, row()))
    found.random = random
    sign = signs.not_above_random(found, facts)
    assert (sign is not None) is is_shown
    if sign is not None:
        assert sign.text == "the return, 0, is not above that of random play, 0.5"
        assert (sign.value, sign.advice) == (0.0, "not-above-random/long")


def beaten(share: float, episodes: float = 100.0, version: float = 40.0) -> dict[str, float]:
    found = {"win_rate": share, "version": version, "episodes": episodes}
    return row() | {f"rollout/hardest_{name}": value for name, value in found.items()}


def test_a_past_version_that_beats_the_newest_is_named() -> None:
    sign = signs.loses_to_past(history((3, beaten(0.25))), FACTS)
    # Wilson's interval of 25 of 100 is 0.175 to 0.343.
    assert sign is not None and (sign.value, sign.advice) == (0.25, "loses-to-past")
    assert sign.text == (
        "the newest version wins 25 % of the last 100 episodes against version 40, an older one (95 % "
        "interval 18 % to 34 %): it forgets how to beat what it did before"
    )
    # A fifth of PPO's 0.0025.
    assert sign.numbers == {"algorithm": "ppo", "lower_rate": pytest.approx(0.0005)}


@pytest.mark.parametrize(
    ("rows", "is_shown"),
    [
        # The interval of 30 of 100 ends at 0.396, that of 31 at 0.406.
        (beaten(0.30), True),
        (beaten(0.31), False),
        (beaten(0.5), False),
        (beaten(0.1, episodes=99.0), False),
        (row(), False),
    ],
)
def test_that_it_is_beaten_must_be_more_than_chance(rows: dict[str, float], is_shown: bool) -> None:
    assert (signs.loses_to_past(history((3, rows)), FACTS) is not None) is is_shown
    assert signs.loses_to_past(history((3, rows), (1, row())), FACTS) is None, "it has left the pool"


def test_of_several_policies_the_one_at_fault_is_named() -> None:
    rows = row() | {
        "train/approx_kl/scout": 0.01,
        "train/clip_fraction/scout": 0.1,
        "train/approx_kl/keeper": 0.5,
        "train/clip_fraction/keeper": 0.9,
    }
    sign = signs.kl_high(history((20, rows)), FACTS)
    assert sign is not None and "`keeper`" in sign.text


def test_a_policy_that_tries_nothing_is_stuck_only_at_a_return_like_random_plays() -> None:
    stuck = history((2, row(entropy_share=1.0)), (20, row(entropy_share=0.01)))
    sign = signs.entropy_collapsed(stuck, FACTS)
    assert sign is not None and (sign.value, sign.advice) == (0.01, "entropy-collapsed/discrete")
    solved = history((2, row(entropy_share=1.0)), (20, row(50.0, entropy_share=0.01)))
    assert signs.entropy_collapsed(solved, FACTS) is None
    assert signs.entropy_collapsed(history((22, row(entropy_share=0.5))), FACTS) is None
    continuous = run_facts(action="continuous")
    sign = signs.entropy_collapsed(history((22, row(action_spread=0.02))), continuous)
    assert sign is not None and sign.advice == "entropy-collapsed/continuous"
    sign = signs.entropy_collapsed(stuck, run_facts({"ppo": {"learning_rate": 0.5}}))
    assert sign is not None and sign.advice == "entropy-collapsed/rate"
    assert sign.text.endswith("at a learning rate of 0.5")
    several = run_facts(starts_untrained=False)
    assert signs.entropy_collapsed(stuck, several) is None, "agents that are each other's measure"


def test_a_return_that_is_lost_again_is_told_and_one_that_sways_is_not() -> None:
    # 100 better than at first; three fifths of that lost is 40.
    fell = history((5, row(0.0)), (20, row(100.0)), (20, row(39.0)))
    sign = signs.return_fell(fell, FACTS)
    assert sign is not None and sign.value == 39.0 and "was 100 before" in sign.text
    assert signs.return_fell(history((5, row(0.0)), (20, row(100.0)), (20, row(41.0))), FACTS) is None
    # A gain of less than one and a half of the first returns' own deviation is none to speak of.
    assert signs.return_fell(history((5, row(0.0)), (20, row(1.4)), (20, row(0.0))), FACTS) is None


def standing(**changes: float) -> History:
    """Longer episodes than at first, and for 70 updates a return of 10 that differs much between them."""
    first = row(0.0, entropy_share=1.0) | {"rollout/time_limit_share": 0.0}
    then = row(10.0, entropy_share=0.6, explained_variance=0.9) | {
        "rollout/time_limit_share": 0.0,
        "rollout/ep_len_mean": 300.0,
        "rollout/ep_rew_std": 4.0,
    }
    return history((2, first), (53, then), (17, then | changes))


def test_a_return_that_stays_though_the_policy_is_undecided_and_loses_is_told() -> None:
    sign = signs.stands_still(standing(), FACTS)
    assert sign is not None and (sign.value, sign.advice) == (10.0, "stands-still/unexplored")
    assert "what it was 200,000 steps ago" in sign.text and "60 % of its maximum" in sign.text
    explores = signs.stands_still(standing(), run_facts({"exploration": "rnd", "seed": 3}))
    assert explores is not None
    assert (explores.advice, explores.numbers) == ("stands-still/explores", {"other_seed": 4})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rollout/ep_rew_mean", 20.0),
        ("rollout/ep_rew_mean", 5.0),
        ("train/entropy_share", 0.49),
        ("train/explained_variance", 0.5),
        ("rollout/time_limit_share", 0.6),
        ("rollout/ep_len_mean", 90.0),
        ("rollout/ep_rew_std", 2.0),
    ],
)
def test_it_moves_is_decided_left_to_luck_lasts_ends_sooner_than_at_first_or_plays_the_same(
    name: str, value: float
) -> None:
    assert signs.stands_still(standing(**{name: value}), FACTS) is None


def test_a_return_stands_still_by_steps_and_not_by_updates_and_only_where_actions_are_chosen() -> None:
    assert signs.stands_still(standing(), run_facts(action="continuous")) is None
    for steps, is_told in ((3_000, True), (2_900, False)):
        history = History()
        for update in range(1, 72):
            lasts = {"rollout/time_limit_share": 0.0, "rollout/ep_len_mean": 100.0 + update}
            values = row(0.0 if update < 3 else 3.0, entropy_share=0.6, explained_variance=0.9)
            history.add(update, steps * update, values | lasts)
        assert (signs.stands_still(history, FACTS) is not None) is is_told


def test_updates_that_change_nothing_are_told_while_the_policy_is_undecided() -> None:
    still = history((22, row(approx_kl=1e-7, entropy_share=1.0, learning_rate=1e-8)))
    sign = signs.policy_unchanged(still, FACTS)
    assert sign is not None and "1e-08" in sign.text
    assert signs.policy_unchanged(history((22, row(approx_kl=0.001, entropy_share=1.0))), FACTS) is None
    assert signs.policy_unchanged(history((22, row(approx_kl=0.0, entropy_share=0.01))), FACTS) is None
    solved = history((2, row()), (20, row(50.0, approx_kl=0.0, entropy_share=0.9)))
    assert signs.policy_unchanged(solved, FACTS) is None


def test_a_policy_that_settled_before_the_limit_let_it_find_anything_is_left_to_the_limit() -> None:
    def sign(high: float, name: str, facts: RunFacts) -> signs.Sign | None:
        cut = row() | {
            "rollout/time_limit_share": 1.0,
            "rollout/reward_min": -0.1,
            "rollout/reward_max": high,
        }
        first, later = {f"train/{name}": 1.0}, {f"train/{name}": 0.01}
        return signs.entropy_collapsed(history((2, cut | first), (20, cut | later)), facts)

    limited = run_facts(max_steps=30)
    assert sign(0.0, "entropy_share", limited) is None
    # Without a limit, where something was earned, or with actions that hardly move, it is the policy itself.
    assert sign(0.0, "entropy_share", FACTS) is not None
    assert sign(1.0, "entropy_share", limited) is not None
    assert sign(0.0, "action_spread", run_facts(max_steps=30, action="continuous")) is not None


def test_a_discount_that_hides_the_end_is_told_once_nothing_has_come_of_it() -> None:
    facts = run_facts({"ppo": {"gamma": 0.5}})
    sign = signs.short_sighted(history((60, row(entropy_share=0.95))), facts)
    assert sign is not None and (sign.value, "next 2 steps" in sign.text) == (0.5, True)
    assert signs.short_sighted(history((49, row(entropy_share=0.95))), facts) is None, "196,000 steps"
    assert signs.short_sighted(history((60, row(entropy_share=0.95))), FACTS) is None
    # It has preferences by now: it is on its way.
    assert signs.short_sighted(history((60, row(entropy_share=0.5))), facts) is None
    assert signs.short_sighted(history((2, row()), (58, row(9.0, entropy_share=0.95))), facts) is None


def test_a_critic_that_foresees_nothing_is_told_where_nothing_is_learned() -> None:
    blind = row(entropy_share=0.95, explained_variance=0.01)
    sign = signs.value_unexplained(history((60, blind)), FACTS)
    assert sign is not None and (sign.value, sign.advice) == (0.01, "value-unexplained/forgetful")
    sign = signs.value_unexplained(history((60, blind)), run_facts({"policy": {"recurrent": "lstm"}}))
    assert sign is not None and sign.advice == "value-unexplained/remembering"
    sighted = row(entropy_share=0.95, explained_variance=0.3)
    assert signs.value_unexplained(history((60, sighted)), FACTS) is None
    stuck = history((2, blind), (58, {**blind, "train/entropy_share": 0.01}))
    assert signs.value_unexplained(stuck, FACTS) is None
    # A solved CartPole is not foreseen either: all its episodes are alike.
    solved = history((2, row()), (58, row(9.0, entropy_share=0.95, explained_variance=0.0)))
    assert signs.value_unexplained(solved, FACTS) is None


def test_a_critic_that_foresees_nothing_is_told_where_better_returns_are_still_left_to_chance() -> None:
    found = row(3.3, entropy_share=0.5, explained_variance=0.01) | {"rollout/ep_rew_std": 4.7}
    begun = row(1.0, entropy_share=0.95, explained_variance=0.0)
    sign = signs.value_unexplained(history((10, begun), (25, found)), FACTS)
    assert sign is not None and (sign.value, sign.advice) == (0.01, "value-unexplained/forgetful")
    assert sign.text.endswith("and they no longer improve (3.3)")
    opponents = run_facts({"self_play": {"seats": "newest,pool"}}, num_agents=2)
    assert signs.value_unexplained(history((10, begun), (25, found)), opponents) is None
    # It was better or worse 20 updates ago, the ends are alike, or it is early.
    assert signs.value_unexplained(history((10, begun), (20, found)), FACTS) is None
    worse = found | {"rollout/ep_rew_mean": 1.5}
    assert signs.value_unexplained(history((10, begun), (20, found), (5, worse)), FACTS) is None
    alike = found | {"rollout/ep_rew_std": 1.6}
    assert signs.value_unexplained(history((10, begun), (25, alike)), FACTS) is None
    assert signs.value_unexplained(history((5, begun), (19, found)), FACTS) is None
    foreseen = found | {"train/explained_variance": 0.06}
    assert signs.value_unexplained(history((10, begun), (25, foreseen)), FACTS) is None


def test_where_nothing_else_is_seen_the_return_alone_is_told() -> None:
    sign = signs.no_improvement(history((60, row(entropy_share=0.95))), FACTS)
    assert sign is not None and "240,000 steps" in sign.text
    assert signs.no_improvement(history((60, row(entropy_share=0.5))), FACTS) is None
    swayed = history((2, row()), (10, row(50.0)), (50, row(entropy_share=0.95)))
    assert signs.no_improvement(swayed, FACTS) is None, "it was better in between"
    # Where the end of the run is known, half of it is enough.
    short = run_facts({"total_steps": 220_000})
    assert signs.no_improvement(history((28, row(entropy_share=0.95))), short) is not None
    assert signs.no_improvement(history((27, row(entropy_share=0.95))), short) is None


def in_page(training: float, **evaluation: float) -> History:
    """History of a decided policy: from 10 at first to `training`, evaluated at the end."""
    early = row(mean=10.0, entropy_share=0.99)
    late = row(mean=training, entropy_share=0.2)
    values = {f"eval/{name}_reward": value for name, value in evaluation.items()}
    return history((6, early), (59, late), (1, late | values))


def test_evaluations_in_fresh_pages_that_lack_what_was_learned_are_told() -> None:
    facts = run_facts(page="index.html")
    sign = signs.evaluation_differs(in_page(100.0, mean=40.0, std=5.0), facts)
    assert sign is not None and sign.value == 40.0
    assert "is 40 in evaluations, each episode in a fresh page, and 100 in training" in sign.text
    above = signs.evaluation_differs(in_page(100.0, mean=190.0, std=5.0), facts)
    assert above is not None
    # Less than half of what was learned, and within what chance does.
    assert signs.evaluation_differs(in_page(100.0, mean=60.0, std=5.0), facts) is None
    assert signs.evaluation_differs(in_page(100.0, mean=40.0, std=50.0), facts) is None
    assert signs.evaluation_differs(in_page(100.0), facts) is None
    # Another game's copies are fresh objects anyway; under lessons it is another game that is evaluated.
    worse = in_page(100.0, mean=40.0, std=5.0)
    assert signs.evaluation_differs(worse, run_facts()) is None
    assert signs.evaluation_differs(worse, run_facts(page="index.html", starts_untrained=False)) is None


def test_a_policy_that_still_tries_much_is_better_without_trying() -> None:
    rows = (6, row(mean=10.0, entropy_share=0.99)), (60, row(mean=40.0, entropy_share=0.7))
    undecided = history(*rows)
    undecided.add_evaluation({"eval/mean_reward": 100.0, "eval/std_reward": 1.0})
    assert signs.evaluation_differs(undecided, run_facts(page="index.html")) is None
