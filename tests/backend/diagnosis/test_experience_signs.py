"""Signs at their thresholds, from rows made by hand; real runs are in `test_diagnosis.py`."""

from attract.diagnosis import experience_signs as signs
from attract.diagnosis.history import History
from known_runs import run_facts

FACTS = run_facts({"total_steps": 400_000}, max_steps=100, num_numbers=8)


def history(num_rows: int = 30, *, steps: int = 4_000, games: int = 10, **values: float) -> History:
    """The same row again and again; `__` in a name stands for its slash."""
    found = History()
    row = {name.replace("__", "/"): value for name, value in values.items()}
    row["fleet/instances"] = games
    for update in range(1, num_rows + 1):
        found.add(update, steps * update, row)
    return found


def ended(mean: float = 0.0, *, share: float = 1.0, low: float = 0.0, high: float = 0.0) -> dict[str, float]:
    return {
        "rollout__ep_rew_mean": mean,
        "rollout__ep_rew_std": 1.0,
        "rollout__ep_len_mean": 100.0,
        "rollout__episodes": 10.0,
        "rollout__time_limit_share": share,
        "rollout__reward_min": low,
        "rollout__reward_max": high,
    }


def test_a_price_for_each_step_is_a_failure_only_where_every_episode_lasts_as_long() -> None:
    sign = signs.reward_constant(history(**ended(low=-1, high=-1)), FACTS)
    assert sign is not None and (sign.value, sign.advice) == (-1.0, "reward-constant/unexplored")
    # A reward for each step survived, with episodes of every length.
    assert signs.reward_constant(history(**ended(share=0.9, low=1, high=1)), FACTS) is None
    assert signs.reward_constant(history(**ended(low=-1, high=0)), FACTS) is None


def test_no_reward_at_all_is_a_failure_however_episodes_end() -> None:
    for share, advice in ((1.0, "reward-constant/unexplored"), (0.5, "reward-constant/unpaid")):
        sign = signs.reward_constant(history(**ended(share=share)), FACTS)
        assert sign is not None and sign.advice == advice
    exploring = run_facts({"exploration": "rnd", "total_steps": 160_000})
    explored = signs.reward_constant(history(**ended()), exploring)
    assert explored is not None and explored.advice == "reward-constant/explored"
    assert explored.numbers["longer_step"] == 0.8
    assert signs.reward_constant(history(29, **ended()), exploring) is None, "it may find something yet"
    assert signs.reward_constant(history(12, **ended()), FACTS) is None, "48,000 steps are too few"


def test_a_reward_is_too_large_where_it_dwarfs_the_usual_one() -> None:
    sign = signs.reward_size(history(rollout__reward_usual=3.2, **ended(low=-1e25, high=1.0)), FACTS)
    assert sign is not None and (sign.value, sign.advice) == (1e25, "reward-size")
    assert sign.text.startswith("the largest reward was 1e+25, a usual one 3.2: ")
    assert signs.reward_size(history(rollout__reward_usual=1e20, **ended(high=2e20)), FACTS) is None
    assert signs.reward_size(history(rollout__reward_usual=1.0, **ended(high=1e9)), FACTS) is None
    assert signs.reward_size(history(rollout__reward_usual=1.0, **ended(high=1.01e9)), FACTS) is not None
    # Small ones are no fault of the largest: a speed that dies away.
    assert signs.reward_size(history(rollout__reward_usual=1e-12, **ended(high=1.0)), FACTS) is None
    assert signs.reward_size(history(**ended()), FACTS) is None


def test_rewards_that_become_huge_later_are_noticed() -> None:
    found = history(20, rollout__reward_usual=2.0, **ended(high=3.0))
    assert signs.reward_size(found, FACTS) is None
    found.add(21, 84_000, {"rollout/reward_max": 1e25, "rollout/reward_usual": 1e25})
    # Geometric mean of twenty 2 and a 1e25: 2^(20/21) x 10^(25/21) = 30.
    sign = signs.reward_size(found, FACTS)
    assert sign is not None and "1e+25, a usual one 30:" in sign.text


def test_success_that_came_once_by_chance_does_not_hide_that_it_is_never_seen_again() -> None:
    found = history(10, **ended(), train__entropy_share=0.99)
    found.add(11, 44_000, {"rollout/reward_min": 0.0, "rollout/reward_max": 10.0, "rollout/episodes": 10.0})
    unpaid = {name.replace("__", "/"): value for name, value in ended().items()}
    for update in range(12, 31):
        found.add(update, 4_000 * update, {**unpaid, "train/entropy_share": 0.99})
    assert signs.reward_constant(found, FACTS) is None, "19 updates since then"
    found.add(31, 124_000, {**unpaid, "train/entropy_share": 0.99})
    sign = signs.reward_constant(found, FACTS)
    assert sign is not None and "last 20 updates" in sign.text
    # Solved since: every step is paid, every episode lasts, and the return is far better than at first.
    solved = history(5, **ended(20.0, share=0.0, low=1, high=1))
    for update in range(6, 40):
        row = {name.replace("__", "/"): value for name, value in ended(500.0, low=1, high=1).items()}
        solved.add(update, 4_000 * update, row)
    assert signs.reward_constant(solved, FACTS) is None


def test_an_end_that_no_run_reaches_is_named_with_the_number_of_games_that_would() -> None:
    facts = run_facts({"total_steps": 400_000}, max_steps=10_000)
    sign = signs.no_episode_ended(history(games=128), facts)
    # 128 x 10,000 steps are 1,280,000; after 120,000 of them 64 x 120,000 / 1,280,000 games would be there.
    assert sign is not None and sign.advice == "no-episode-ended/limited"
    assert "1,280,000" in sign.text and sign.numbers["fewer"] == 6
    soon = run_facts({"total_steps": 400_000}, max_steps=1_000)
    assert signs.no_episode_ended(history(games=128), soon) is None, "the first ends come at 128,000"
    late = run_facts({"total_steps": 128_001}, max_steps=1_000)
    assert signs.no_episode_ended(history(games=128), late) is None, "just within the run"
    never = run_facts({"total_steps": 128_000}, max_steps=1_000)
    assert signs.no_episode_ended(history(games=128), never) is not None
    assert signs.no_episode_ended(history(**ended()), facts) is None


def test_a_game_without_a_limit_has_time_to_end_by_itself() -> None:
    facts = run_facts(max_steps=None)
    assert signs.no_episode_ended(history(7, games=128), facts) is None, "28,000 steps are too few"
    sign = signs.no_episode_ended(history(8, games=128), facts)
    assert sign is not None and (sign.value, sign.advice) == (32_000, "no-episode-ended/unlimited")
    assert signs.no_episode_ended(history(games=1_000), facts) is None, "120 steps each are too few"


def test_episodes_that_are_all_cut_are_a_failure_only_where_the_return_stays() -> None:
    facts = run_facts({"total_steps": None}, max_steps=100)
    sign = signs.time_limit(history(60, **ended(low=-1), train__entropy_share=0.99), facts)
    assert sign is not None and sign.advice == "time-limit/always"
    assert (sign.numbers["limit"], sign.numbers["longer_limit"]) == (10.0, 40.0)
    assert signs.time_limit(history(49, **ended(low=-1), train__entropy_share=0.99), facts) is None
    assert signs.time_limit(history(60, **ended(share=0.9), train__entropy_share=0.99), facts) is None


def test_doing_nothing_where_nothing_is_rewarded_is_a_failure() -> None:
    found = history(5, **ended(-30.0, low=-0.1), train__action_spread=0.6)
    for update in range(6, 40):
        found.add(
            update,
            4_000 * update,
            {name.replace("__", "/"): value for name, value in ended(-0.1, low=-0.1).items()},
        )
    sign = signs.time_limit(found, FACTS)
    assert sign is not None and sign.advice == "time-limit/idle"
    assert "do nothing" in sign.text


def test_one_term_hides_the_others_only_at_hundreds_of_times_their_size() -> None:
    sign = signs.term_dominates(history(**ended(), reward__middle=-3_000.0, reward__food=1.0), FACTS)
    assert sign is not None and (sign.value, sign.numbers["term"]) == (3_000.0, "middle")
    assert signs.term_dominates(history(**ended(), reward__goal=100.0, reward__step=-1.0), FACTS) is None
    # What has not happened yet is no term beside which another dominates.
    assert signs.term_dominates(history(**ended(), reward__goal=0.0, reward__step=-1.0), FACTS) is None


def test_a_constant_number_is_named_and_a_board_is_none_of_ours() -> None:
    def constant(count: float, value: float, num_rows: int = 30, **more: float) -> History:
        return history(
            num_rows,
            rollout__constant_observations=count,
            rollout__first_constant_observation=3.0,
            rollout__first_constant_value=value,
            **more,
        )

    facts = run_facts(num_numbers=8)
    sign = signs.observation_constant(constant(2, 0.5), facts)
    assert sign is not None and "observation[3] was 0.5" in sign.text and "1 others" in sign.text
    assert signs.observation_constant(constant(3, 0.5), facts) is None, "three of eight may be meant"
    assert signs.observation_constant(constant(1, 0.5), run_facts()) is None
    # A 0 may stand for what has not happened yet, unless nothing is learned.
    assert signs.observation_constant(constant(1, 0.0), facts) is None
    unlearned = constant(1, 0.0, 60, **ended(high=1.0), train__entropy_share=0.99)
    assert signs.observation_constant(unlearned, facts) is not None


def test_who_waits_is_told_where_the_other_is_slow() -> None:
    sign = signs.workers_wait(history(fleet__wait_fraction=0.95, time__update_seconds=5.0), FACTS)
    assert sign is not None and sign.numbers["fewer_epochs"] == 1
    # On two cores a learner of half a second keeps workers waiting as a matter of course.
    assert signs.workers_wait(history(fleet__wait_fraction=0.97, time__update_seconds=0.5), FACTS) is None
    slow = history(time__idle_seconds=2.0, time__update_seconds=0.1)
    sign = signs.learner_waits(slow, FACTS)
    assert sign is not None and sign.advice == "learner-waits/machines"
    more = signs.learner_waits(slow, run_facts({"collection": {"num_workers": 2}}, num_cores=8))
    assert more is not None and more.advice == "learner-waits/cores"
    assert signs.learner_waits(history(time__idle_seconds=0.5, time__update_seconds=0.01), FACTS) is None
    assert signs.learner_waits(history(time__idle_seconds=2.0, time__update_seconds=1.0), FACTS) is None


def test_what_is_slow_is_judged_by_the_size_of_the_batch() -> None:
    idle = {"time__idle_seconds": 0.5, "time__update_seconds": 0.01}
    assert signs.learner_waits(history(steps=1_000, **idle), FACTS) is not None, "1,960 steps a second"
    busy = {"fleet__wait_fraction": 0.95, "time__update_seconds": 2.0}
    assert signs.workers_wait(history(steps=1_000, **busy), FACTS) is not None, "500 steps a second"
    assert signs.workers_wait(history(steps=4_000, **busy), FACTS) is None


def slow(speed: float, *, busy: float = 0.1, steps: int = 500, num_rows: int = 12) -> History:
    """Batches of `steps` steps that take the learner `busy` of the time between two."""
    seconds = steps / speed
    return history(
        num_rows,
        steps=steps,
        time__idle_seconds=(1 - busy) * seconds,
        time__update_seconds=busy * seconds,
    )


def test_few_decisions_a_second_suggest_what_learns_more_from_each() -> None:
    sign = signs.few_decisions(slow(180.0), FACTS)
    assert sign is not None and (round(sign.value), sign.advice) == (180, "few-decisions")
    assert (sign.text, sign.numbers) == ("the games give 180 decisions a second", {"algorithm": "dqn"})
    assert signs.few_decisions(slow(990.0), FACTS) is not None
    assert signs.few_decisions(slow(1010.0), FACTS) is None
    continuous = signs.few_decisions(slow(180.0), run_facts(action="continuous"))
    assert continuous is not None and continuous.numbers == {"algorithm": "sac"}


def test_nothing_is_suggested_where_the_learner_is_what_is_slow_or_many_steps_were_taken() -> None:
    assert signs.few_decisions(slow(180.0, busy=0.49), FACTS) is not None
    assert signs.few_decisions(slow(180.0, busy=0.51), FACTS) is None
    assert signs.few_decisions(slow(180.0, steps=16_000), FACTS) is not None
    assert signs.few_decisions(slow(180.0, steps=17_000), FACTS) is None
    assert signs.few_decisions(History(), FACTS) is None


def test_nothing_is_suggested_that_does_not_fit_or_was_chosen_already() -> None:
    for given in ({"policy": {"recurrent": "lstm"}}, {"preset": "slow-page", "algorithm": "ppo"}):
        assert signs.few_decisions(slow(180.0), run_facts(given)) is None
