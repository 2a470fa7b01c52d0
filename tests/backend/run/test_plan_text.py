import pytest

from attract.run.plan_text import plan_lines
from attract.schema.game import GameReference
from attract.schema.spaces import BoxSpace, DictSpace
from attract.settings.run import RunSettings
from socket_fleet import DESCRIPTION

GAME = GameReference(name="counting", sha256="a" * 64, url="games/x.js")


def lines(*, verbose=True, **settings):
    collection = {"num_workers": 2, "instances_per_worker": 3, **settings.pop("collection", {})}
    rates = {"learning_rate_schedule": "constant", "entropy_coef_schedule": "constant"}
    ppo = {**rates, **settings.pop("ppo", {})}
    chosen = RunSettings.from_mapping({"collection": collection, "ppo": ppo, **settings})
    return plan_lines(chosen, DESCRIPTION, GAME, verbose=verbose)


@pytest.mark.parametrize(
    ("settings", "end"),
    [
        ({}, "no end given: Ctrl-C stops, saves and exports"),
        ({"until_return": 475.0}, "it ends when the mean return is 475"),
        ({"total_steps": 20_000}, "it ends after 20,000 steps"),
        ({"until_return": 0.5, "total_steps": 9}, "it ends when the mean return is 0.5 or after 9 steps"),
    ],
)
def test_the_first_line_is_for_a_newcomer_and_says_when_it_ends(settings, end):
    # 2 workers x 3 games x 8 steps
    printed = lines(verbose=False, ppo={"horizon": 8}, **settings)
    assert printed == [f"training: 6 games at once in 2 workers, an update every 48 steps; {end}"]


def test_what_a_newcomer_must_know_is_not_left_to_the_details():
    printed = lines(verbose=False, ppo={"learning_rate_schedule": "linear"}, collection={"num_workers": 1})
    assert "3 games at once in 1 worker," in printed[0]
    # Without an end rates fall all the same.
    assert printed[1] == "schedules: learning_rate change over 1,000,000 agent steps, then stay constant"
    rates = {"learning_rate_schedule": "linear"}
    assert len(lines(verbose=False, total_steps=900, ppo=rates)) == 1
    sooner = lines(verbose=False, total_steps=900, ppo={**rates, "schedule_steps": 500})
    assert sooner[1] == "schedules: learning_rate change over 500 agent steps, then stay constant"


def test_S5_what_is_derived_is_told():
    # 6 slots x 2 segments of 8 steps: 96 steps. In parts of at most 40: three of 32.
    printed = lines(ppo={"horizon": 8, "rollout_steps": 16, "minibatch_steps": 40, "n_epochs": 2})
    assert printed[1] == (
        "batch: 12 segments of 8 steps, 96 steps, from 6 slots (2 workers x 3) in rollouts of 16"
    )
    assert (
        printed[2]
        == "minibatches: 3 of up to 32 steps, by step; times 2 epochs are 6 optimizer steps an update"
    )


@pytest.mark.parametrize(
    ("settings", "printed"),
    [
        ({}, "learner: fused on a CPU (--learner autograd: by torch's autograd)"),
        ({"learner": "autograd"}, "learner: autograd, as it is set"),
        ({"algorithm": "dqn"}, "learner: fused on a CPU (--learner autograd: by torch's autograd)"),
        ({"device": "cuda"}, "learner: autograd, since it computes on a GPU"),
        ({"policy": {"recurrent": "gru"}}, "learner: autograd, since the policy has a memory (gru)"),
        (
            {"cloning": {"demonstrations": "played"}},
            "learner: autograd, since it also learns from demonstrations",
        ),
    ],
)
def test_the_learner_says_how_it_computes_gradients(settings, printed):
    assert [line for line in lines(**settings) if line.startswith("learner")] == [printed]


def test_the_learner_says_that_pictures_stay_with_autograd():
    picture = BoxSpace(shape=[12, 12, 1], dtype="uint8")
    for observation in (picture, DictSpace(spaces={"map": picture, "place": BoxSpace(shape=[2])})):
        seeing = DESCRIPTION.model_copy(update={"observation": observation})
        printed = plan_lines(RunSettings(), seeing, GAME)
        assert "learner: autograd, since the policy sees pictures" in printed


def test_S5_whole_segments_are_counted_as_such():
    # 12 segments in 5 parts: three at most, of 8 steps each.
    ppo = {"horizon": 8, "rollout_steps": 16, "num_minibatches": 5, "n_epochs": 1}
    printed = lines(ppo=ppo, policy={"recurrent": "lstm"})
    assert (
        printed[2]
        == "minibatches: 5 of up to 24 steps, by segment; times 1 epochs are 5 optimizer steps an update"
    )
    assert "drawn by priority (alpha 0.5)" in lines(ppo={**ppo, "prio_alpha": 0.5})[2]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "schedules: none, every rate stays as it is"),
        (
            {"ppo": {"entropy_coef": 0.0, "entropy_coef_schedule": "linear"}},
            "schedules: none, every rate stays as it is",
        ),
        (
            {"ppo": {"learning_rate_schedule": "linear"}},
            "schedules: learning_rate change over 1,000,000 agent steps, then stay constant",
        ),
        (
            {"total_steps": 900, "ppo": {"clip_range_schedule": "linear", "prio_alpha": 1.0}},
            "schedules: clip_range, prio_beta change over 900 agent steps, then stay constant",
        ),
        (
            {"total_steps": 900, "ppo": {"learning_rate_schedule": "linear", "schedule_steps": 500}},
            "schedules: learning_rate change over 500 agent steps, then stay constant",
        ),
    ],
)
def test_P10_what_schedules_run_over_is_told(settings, expected):
    assert expected in lines(**settings)[3:]


def test_P9_a_correction_is_told():
    printed = lines(collection={"schedule": "async", "max_policy_lag": 3})
    assert "lag: up to 3 versions, corrected by V-trace" in printed[4:]
    assert not any(line.startswith("lag:") for line in lines())


def test_E9_who_plays_whom_is_told_and_how_each_share_is_cut():
    trio = DESCRIPTION.model_copy(update={"num_agents": 3})
    collection = {"num_workers": 1, "instances_per_worker": 2, "seats": ["a", "b", "b"]}
    ppo = {"horizon": 8, "minibatch_steps": 16}
    settings = RunSettings.from_mapping({"collection": collection, "ppo": ppo})
    printed = plan_lines(settings, trio, GAME)
    assert (
        printed[2]
        == "policies: a plays agent 0, b plays agents 1 and 2; each learns from its own agents alone"
    )
    assert printed[3].startswith("minibatches of a: 1 of up to 16 steps")
    assert printed[4].startswith("minibatches of b: 2 of up to 16 steps")
