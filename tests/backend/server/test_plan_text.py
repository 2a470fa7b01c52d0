import pytest

from attract.schema.game import GameReference
from attract.server.plan_text import plan_lines
from attract.settings import RunSettings
from socket_fleet import DESCRIPTION

GAME = GameReference(name="counting", sha256="a" * 64, url="games/x.js")


def lines(**settings):
    collection = {"num_workers": 2, "instances_per_worker": 3, **settings.pop("collection", {})}
    return plan_lines(RunSettings.from_mapping({"collection": collection, **settings}), DESCRIPTION, GAME)


def test_S5_what_is_derived_is_told():
    # 6 slots x 2 segments of 8 steps: 96 steps. In parts of at most 40: three of 32.
    told = lines(ppo={"horizon": 8, "rollout_steps": 16, "minibatch_steps": 40, "n_epochs": 2})
    assert told[0] == (
        "batch: 12 segments of 8 steps, 96 steps, from 6 slots (2 workers x 3) in rollouts of 16"
    )
    assert (
        told[1] == "minibatches: 3 of up to 32 steps, by step; times 2 epochs are 6 optimizer steps an update"
    )


def test_S5_whole_segments_are_counted_as_such():
    # 12 segments in 5 parts: three at most, of 8 steps each.
    ppo = {"horizon": 8, "rollout_steps": 16, "num_minibatches": 5, "n_epochs": 1}
    told = lines(ppo=ppo, policy={"recurrent": "lstm"})
    assert (
        told[1]
        == "minibatches: 5 of up to 24 steps, by segment; times 1 epochs are 5 optimizer steps an update"
    )
    assert "drawn by priority (alpha 0.5)" in lines(ppo={**ppo, "prio_alpha": 0.5})[1]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"ppo": {"learning_rate_schedule": "constant"}}, "schedules: none, every rate stays as it is"),
        (
            {"ppo": {"learning_rate_schedule": "linear"}},
            "schedules: learning_rate stay constant, there is nothing to run over: "
            "give --total-steps or --ppo.schedule-steps",
        ),
        (
            {"total_steps": 900, "ppo": {"clip_range_schedule": "linear", "prio_alpha": 1.0}},
            "schedules: learning_rate, clip_range, prio_beta over 900 agent steps",
        ),
        (
            {"total_steps": 900, "ppo": {"learning_rate_schedule": "linear", "schedule_steps": 500}},
            "schedules: learning_rate over 500 agent steps",
        ),
    ],
)
def test_P10_what_schedules_run_over_is_told(settings, expected):
    assert lines(**settings)[2] == expected


def test_P9_a_correction_is_told():
    told = lines(collection={"schedule": "async", "max_policy_lag": 3})
    assert told[3:] == ["lag: up to 3 versions, corrected by V-trace"]
    assert len(lines()) == 3


def test_E9_who_plays_whom_is_told_and_how_each_share_is_cut():
    trio = DESCRIPTION.model_copy(update={"num_agents": 3})
    collection = {"num_workers": 1, "instances_per_worker": 2, "seats": ["a", "b", "b"]}
    ppo = {"horizon": 8, "minibatch_steps": 16}
    settings = RunSettings.from_mapping({"collection": collection, "ppo": ppo})
    told = plan_lines(settings, trio, GAME)
    assert (
        told[1] == "policies: a plays agent 0, b plays agents 1 and 2; each learns from its own agents alone"
    )
    assert told[2].startswith("minibatches of a: 1 of up to 16 steps")
    assert told[3].startswith("minibatches of b: 2 of up to 16 steps")
