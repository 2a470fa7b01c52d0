from attract.run.goal import Goal
from attract.schema.api import EvaluationView
from attract.schema.episodes import Episode


def episodes(count: int, episode_return: float, end_reason: str = "terminated") -> list[Episode]:
    return [
        Episode(
            instance_id=0,
            episode=n,
            step=0,
            returns=[episode_return],
            length_steps=10,
            length_ticks=10,
            end_reason=end_reason,
        )
        for n in range(count)
    ]


def count(goal: Goal, results: list[Episode]) -> None:
    for result in results:
        goal.window.add(result)


def evaluation(mean: float, deviation: float = 0.0, *, confirmed: bool = True) -> EvaluationView:
    return EvaluationView(
        policy_version=1,
        episodes=100,
        return_mean=mean,
        return_std=deviation,
        length_mean=10.0,
        deterministic=True,
        confirmed=confirmed,
    )


def test_the_goal_needs_100_episodes_before_anything_is_evaluated():
    goal = Goal(475.0, None)
    count(goal, episodes(99, 500.0))
    assert goal.after_update(1, 1000) == "go_on"
    count(goal, episodes(1, 500.0))
    assert goal.after_update(2, 2000) == "evaluate"


def test_the_mean_is_over_the_last_100():
    goal = Goal(475.0, None)
    count(goal, episodes(100, 0.0) + episodes(99, 500.0))
    assert goal.return_mean == 495.0  # (0 + 99 * 500) / 100
    assert goal.after_update(1, 1000) == "evaluate"


def test_E1_cut_episodes_never_count():
    goal = Goal(475.0, None)
    count(goal, episodes(100, 500.0, "cut"))
    assert goal.return_mean is None
    assert goal.after_update(1, 1000) == "go_on"


def test_an_evaluation_that_falls_short_is_tried_again_ever_more_seldom():
    goal = Goal(475.0, None)
    count(goal, episodes(100, 480.0))
    tried = []
    for update in range(1, 40):
        if goal.after_update(update, update) == "evaluate":
            tried.append(update)
            assert goal.evaluated(update, evaluation(474.9)) == "go_on"
    assert tried == [1, 2, 4, 8, 16, 32]  # gaps of 1, 2, 4, 8, 16
    assert not goal.reached


def test_a_confirmed_goal_ends_the_run():
    goal = Goal(475.0, None)
    count(goal, episodes(100, 480.0))
    assert goal.after_update(1, 1) == "evaluate"
    assert goal.evaluated(1, evaluation(475.0)) == "finish"
    assert goal.reached


def test_a_mean_that_luck_may_have_lifted_over_the_goal_confirms_nothing():
    goal = Goal(475.0, None)
    assert goal.evaluated(1, evaluation(479.9, 50.0)) == "go_on"  # the standard error is 50 / sqrt(100) = 5
    assert goal.evaluated(2, evaluation(480.0, 50.0)) == "finish"


def test_an_evaluation_by_strangers_confirms_nothing():
    goal = Goal(475.0, None)
    assert goal.evaluated(1, evaluation(500.0, confirmed=False)) == "go_on"
    assert not goal.reached


def test_total_steps_end_the_run_without_a_goal_reached():
    goal = Goal(None, 1000)
    count(goal, episodes(100, 480.0))
    assert goal.after_update(1, 999) == "go_on"
    assert goal.after_update(2, 1000) == "finish"
    assert not goal.reached


def test_the_return_of_several_agents_is_their_mean():
    goal = Goal(None, None)
    one = episodes(1, 0.0)[0]._replace(returns=[1.0, 2.0, 6.0])
    count(goal, [one, one._replace(returns=[3.0, 0.0, 0.0])])
    assert (goal.return_mean, goal.window.length_mean) == (2.0, 10.0)  # (3 + 1) / 2
    assert goal.window.agent_return_means == [2.0, 1.0, 3.0]


def test_a_game_of_one_agent_has_no_mean_of_each() -> None:
    goal = Goal(None, None)
    count(goal, episodes(3, 5.0))
    assert goal.window.agent_return_means == []
