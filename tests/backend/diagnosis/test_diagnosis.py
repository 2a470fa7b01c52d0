"""What is said of recorded runs, and that it is said once; `planted_failures.py` recorded them."""

import pytest

from attract.diagnosis.diagnosis import CLEAR_UPDATES, Diagnosis
from attract.diagnosis.verdict import Measured, Verdict, judge
from known_runs import run_facts
from planted_failures import PLANTED, RECORDED, SOUND, Run, Stream

UNPAID = {"rollout/reward_min": 0.0, "rollout/reward_max": 0.0}
PAID = {"rollout/reward_min": 0.0, "rollout/reward_max": 1.0}
UNCERTAIN = {"rollout/constant_observations": 1.0, "rollout/first_constant_observation": 0.0}


def stream(run: Run) -> Stream:
    return Stream.load(RECORDED / f"{run.name}.json")


@pytest.mark.parametrize("run", PLANTED, ids=lambda run: run.name)
def test_a_planted_failure_is_found_with_one_thing_to_try(run: Run) -> None:
    said = [finding for _, finding in stream(run).said() if finding.finding_id in run.expected]
    assert said, [finding for _, finding in stream(run).said()]
    finding = said[0]
    assert any(digit in finding.text for digit in "0123456789"), "a finding without its number"
    assert finding.advice and "{" not in finding.advice
    assert finding.setting is None or f"`{finding.setting}`" in finding.advice


@pytest.mark.parametrize("run", SOUND, ids=lambda run: run.name)
def test_of_a_game_that_learns_nothing_is_said(run: Run) -> None:
    assert stream(run).said() == []


@pytest.mark.parametrize("name", ["car", "far-goal"])
def test_where_nothing_can_be_found_by_chance_it_is_said_within_a_quarter_of_the_steps(name: str) -> None:
    (run,) = [run for run in PLANTED if run.name == name]
    steps = [steps for steps, finding in stream(run).said() if finding.finding_id == "reward-constant"]
    assert steps[0] <= run.total_steps / 4


def judged(mean: float) -> Verdict:
    """Beside random play's 5."""
    return judge(Measured(mean, 0.1, 100), Measured(5.0, 0.1, 100), num_agents=1)


def test_at_the_end_of_a_short_run_the_verdict_is_a_finding_unless_another_explains_it() -> None:
    diagnosis = Diagnosis(run_facts({"total_steps": 40_000}, max_steps=10))
    assert diagnosis.ended(3, 3_000, judged(9.0)) == []
    (finding,) = diagnosis.ended(3, 3_000, judged(4.0))
    assert (finding.finding_id, finding.first_update, finding.first_agent_steps) == (
        "not-above-random",
        3,
        3_000,
    )
    assert finding.text == "the return, 4, is not above that of random play, 5"
    assert diagnosis.findings == [finding]
    assert diagnosis.ended(3, 3_000, judged(4.0)) == [], "said twice"
    (unclear,) = Diagnosis(run_facts()).ended(3, 3_000, judged(5.1))
    assert unclear.text == "the return, 5.1, is not clearly above that of random play, 5"
    # What was said while it trained is taken back where the last returns are better.
    (withdrawn,) = diagnosis.ended(4, 4_000, judged(9.0))
    assert withdrawn.withdrawn and diagnosis.findings == []
    unpaid = Diagnosis(run_facts({"total_steps": 40_000}, max_steps=10))
    for update in range(1, 11):
        unpaid.observe(update, 2_000 * update, UNPAID)
    assert [finding.finding_id for finding in unpaid.findings] == ["reward-constant"]
    assert unpaid.ended(10, 20_000, judged(4.0)) == []


def test_a_finding_is_said_once_it_has_lasted_and_again_only_when_it_was_withdrawn() -> None:
    diagnosis = Diagnosis(run_facts({"total_steps": 40_000}, max_steps=10))
    said = [
        [
            (finding.finding_id, finding.withdrawn)
            for finding in diagnosis.observe(update, 2_000 * update, UNPAID)
        ]
        for update in range(1, 11)
    ]
    # From 5,000 steps on, an eighth of the run, which is update 3; the third row that shows it is update 5.
    assert said == [[], [], [], [], [("reward-constant", False)], [], [], [], [], []]
    (finding,) = diagnosis.findings
    assert (finding.first_update, finding.first_agent_steps) == (3, 6_000)
    assert "20,000 steps" in finding.text, "its number does not go on"
    said = [
        [
            (finding.finding_id, finding.withdrawn)
            for finding in diagnosis.observe(update, 2_000 * update, PAID)
        ]
        for update in range(11, 11 + CLEAR_UPDATES + 5)
    ]
    assert said == [[]] * (CLEAR_UPDATES - 1) + [[("reward-constant", True)]] + [[]] * 5
    assert diagnosis.findings == []
    assert [(finding.finding_id, finding.withdrawn) for finding in diagnosis.all_said] == [
        ("reward-constant", True)
    ]


def test_an_evaluation_far_from_the_training_is_said_at_once_and_again_by_its_row() -> None:
    facts = run_facts(page="index.html")
    rows = [{"rollout/ep_rew_mean": mean, "rollout/ep_rew_std": 1.0, "rollout/episodes": 50.0}
            for mean in (10.0,) * 4 + (50.0,) * 6]  # fmt: skip
    diagnosis = Diagnosis(facts)
    for update, values in enumerate(rows, start=1):
        assert not diagnosis.observe(update, 2_000 * update, values)
    values = {"eval/mean_reward": 12.0, "eval/std_reward": 2.0}
    (said,) = diagnosis.evaluated(len(rows), 2_000 * len(rows), values)
    assert (said.finding_id, said.value, said.first_update) == ("evaluation-differs", 12.0, 10)
    assert "state-survives-start" in said.advice and diagnosis.findings == [said]
    # Read again from the run's folder, where an evaluation stands in the row of its update.
    again = Diagnosis(facts)
    for update, row in enumerate([*rows[:-1], rows[-1] | values], start=1):
        again.observe(update, 2_000 * update, row)
    assert [finding.finding_id for finding in again.findings] == ["evaluation-differs"]
    # The next evaluation is as training is.
    better = {"eval/mean_reward": 51.0, "eval/std_reward": 2.0}
    for update in range(CLEAR_UPDATES):
        diagnosis.evaluated(11 + update, 22_000, better)
    assert diagnosis.findings == []


def test_what_follows_from_another_finding_is_not_said_beside_it() -> None:
    facts = run_facts({"total_steps": 40_000}, max_steps=10, num_numbers=1)
    row = {**UNCERTAIN, "rollout/first_constant_value": 0.5}
    beside, by_itself = Diagnosis(facts), Diagnosis(facts)
    for update in range(1, 21):
        beside.observe(update, 2_000 * update, {**row, **UNPAID})
        by_itself.observe(update, 2_000 * update, {**row, **PAID})
    assert [finding.finding_id for finding in beside.findings] == ["reward-constant"]
    assert [finding.finding_id for finding in by_itself.findings] == ["observation-constant"]


def test_a_number_that_never_changes_does_not_explain_that_nothing_is_foreseen() -> None:
    facts = run_facts({"total_steps": 400_000}, max_steps=100, num_numbers=2)
    diagnosis = Diagnosis(facts)
    row = {
        **PAID,
        **UNCERTAIN,
        "rollout/first_constant_value": 0.5,
        "rollout/ep_rew_mean": 0.1,
        "rollout/ep_rew_std": 0.3,
        "rollout/episodes": 100.0,
        "train/explained_variance": 0.0,
    }
    for update in range(1, 61):
        diagnosis.observe(update, 6_000 * update, row)
    assert [finding.finding_id for finding in diagnosis.findings] == [
        "observation-constant",
        "value-unexplained",
    ]


def test_the_same_rows_give_the_same_findings() -> None:
    run = PLANTED[0]
    assert stream(run).said() == stream(run).said()
