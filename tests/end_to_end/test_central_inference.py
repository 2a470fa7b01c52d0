"""CartPole trained in headless browsers that only step: the policy runs in the server's inference process."""

import json
from pathlib import Path

import pytest

from attract_command import AttractCommand, Outcome

# `make test` trains so in test_worker_killed.py, and looks for what is left in shared memory in
# test_trainer_killed.py.
pytestmark = pytest.mark.long
GOAL = 475
"""What the same settings reach with the policy beside the games (`test_main_job.py`)."""


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def outcome(runs_dir: Path) -> Outcome:
    command = AttractCommand(
        "train", "cartpole", "--headless", "--workers", "2", "--until-return", str(GOAL),
        "--total-steps", "600000", "--collection.inference", "server", "--collection.trace",
        "--seed", "1", "--run-id", "central", "--json", runs_dir=runs_dir,
    )  # fmt: skip
    return command.wait()


def test_C9_training_reaches_the_return_that_inference_in_the_worker_reaches(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["goal_reached"] is True
    assert outcome.json["episode_return_mean"] >= GOAL


def test_I2_the_runs_timeline_shows_games_stepping_while_the_policy_decides(
    outcome: Outcome, runs_dir: Path
) -> None:
    assert outcome.code == 0, outcome.stderr
    timeline = json.loads((runs_dir / "central" / "logs" / "timeline.json").read_text())
    events = timeline["traceEvents"]
    tracks = {event["args"]["name"]: event["tid"] for event in events if event["ph"] == "M"}
    games = [
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event["ph"] == "X" and event["tid"] == tracks["games of group 1"]
    ]
    decisions = [event for event in events if event["ph"] == "X" and event["args"].get("group") == 0]
    assert len(decisions) > 500
    overlapping = 0
    at = 0
    for event in decisions:
        while at < len(games) and games[at][1] <= event["ts"]:
            at += 1
        overlapping += at < len(games) and games[at][0] < event["ts"] + event["dur"]
    # Not where a round begins anew after an update, nor where both groups were done at once.
    assert overlapping > 0.5 * len(decisions)


def test_nothing_is_left_in_shared_memory(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.stderr
    assert not list(Path("/dev/shm").glob("attract-store-central-*"))
