import pytest

from attract.collection import inputs
from attract.collection.effects import EvaluationDone
from attract.collection.evaluation import Evaluation
from attract.errors import ProtocolError
from attract.schema.episode_results import EpisodeResult
from attract.schema.messages import EvaluationResult, Seed
from driven_core import DrivenCore, small_config
from fake_worker import counting_description


def result(value: float) -> EpisodeResult:
    return EpisodeResult(
        instance_id=0,
        episode=0,
        step=0,
        returns=[value],
        length_steps=10,
        length_ticks=10,
        end_reason="terminated",
    )


def test_results_come_back_by_index_whichever_lease_is_first() -> None:
    evaluation = Evaluation(5, True, Seed(low=1, high=2), 3)
    first = evaluation.next_share(2)
    evaluation.lease(1, first)
    second = evaluation.next_share(2)
    evaluation.lease(2, second)
    assert (first, second) == ([0, 1, 2], [3, 4])
    evaluation.complete(2, [result(3.0), result(4.0)])
    assert evaluation.done() is None
    evaluation.complete(1, [result(0.0), result(1.0), result(2.0)])
    done = evaluation.done()
    assert done is not None
    assert [episode.returns[0] for episode in done.results] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert done.view.return_mean == 2.0
    assert done.view.return_std == pytest.approx(2.0**0.5)  # (4 + 1 + 0 + 1 + 4) / 5 = 2
    assert (done.view.policy_version, done.view.length_mean) == (3, 10.0)


def test_E9_every_agent_has_its_mean_and_the_return_of_an_episode_is_over_all() -> None:
    evaluation = Evaluation(2, True, Seed(low=1, high=2), 3)
    evaluation.lease(1, evaluation.next_share(1))
    both = [result(0.0).model_copy(update={"returns": returns}) for returns in ([1.0, 5.0], [3.0, 3.0])]
    evaluation.complete(1, both)
    done = evaluation.done()
    assert done is not None
    assert (done.view.return_mean, done.view.return_std) == (3.0, 0.0)  # each episode's mean is 3
    assert done.view.agent_return_means == [2.0, 4.0]


def test_E9_an_evaluation_result_without_a_return_for_every_agent_is_refused() -> None:
    driven = DrivenCore(small_config(num_workers=1), counting_description(num_agents=2))
    driven.host()
    driven.join(10)
    driven.ready()
    driven.give(inputs.pause)
    driven.give(inputs.request_evaluation, 2, True, Seed(low=5, high=6))
    driven.play(10, 2)
    (answer,) = driven.workers[10].play()
    assert isinstance(answer, EvaluationResult)
    short = answer.episodes[1].model_copy(update={"returns": [1.0]})
    with pytest.raises(ProtocolError, match="returns"):
        driven.say(10, answer.model_copy(update={"episodes": [answer.episodes[0], short]}))
    driven.say(10, answer)
    assert len(driven.wanted(EvaluationDone)) == 1


def test_C3_lapsed_episodes_wait_again() -> None:
    evaluation = Evaluation(4, True, Seed(low=1, high=2), 0)
    evaluation.lease(1, evaluation.next_share(2))
    evaluation.lapse(1)
    assert evaluation.waiting == [0, 1, 2, 3]


def test_a_result_too_few_is_refused_and_the_lease_stays() -> None:
    evaluation = Evaluation(2, True, Seed(low=1, high=2), 0)
    evaluation.lease(1, [0, 1])
    with pytest.raises(ProtocolError, match="asked for 2"):
        evaluation.complete(1, [result(0.0)])
    assert evaluation.has_leased(1)


def evaluated_by(tiers: dict[int, str]) -> DrivenCore:
    """An evaluation of four episodes, asked for when workers of these tiers are there."""
    driven = DrivenCore(small_config(num_workers=2))
    driven.host(max_workers=2)
    for index, (connection_id, tier) in enumerate(tiers.items()):
        driven.tier = tier
        driven.join(connection_id, index, host_id=f"{index:032x}")
    driven.wait(5.0)
    driven.ready()
    driven.give(inputs.request_evaluation, 4, True, Seed(low=1, high=2))
    for _ in range(12):
        for connection_id in tiers:
            driven.play(connection_id)
    return driven


def test_hostile_09_while_a_worker_of_ones_own_is_there_strangers_evaluate_nothing() -> None:
    driven = evaluated_by({10: "local", 11: "invited"})
    (done,) = driven.wanted(EvaluationDone)
    assert done.view.confirmed
    assert not [lease for lease in driven.leases(11) if lease.purpose == "evaluate"]


def test_hostile_09_what_strangers_alone_evaluate_is_not_confirmed() -> None:
    driven = evaluated_by({10: "invited", 11: "invited"})
    (done,) = driven.wanted(EvaluationDone)
    assert not done.view.confirmed


def test_a_lease_has_few_episodes_so_that_results_come_while_others_play() -> None:
    shares: dict[tuple[int, int], list[int]] = {}
    for episodes, workers in ((100, 2), (100, 8), (20, 2), (12, 2), (3, 8)):
        evaluation = Evaluation(episodes, True, Seed(low=1, high=2), 0)
        sizes = shares[episodes, workers] = []
        while evaluation.waiting:
            share = evaluation.next_share(workers)
            evaluation.lease(len(sizes), share)
            sizes.append(len(share))
    assert shares == {
        (100, 2): [8] * 12 + [4],
        (100, 8): [7] * 14 + [2],
        (20, 2): [5] * 4,
        (12, 2): [6, 6],
        (3, 8): [1, 1, 1],
    }


def evaluating(episodes: int) -> DrivenCore:
    """One worker whose lease of the evaluation is open."""
    driven = DrivenCore(small_config(num_workers=1))
    driven.host()
    driven.join(10)
    driven.ready()
    driven.give(inputs.pause)
    driven.give(inputs.request_evaluation, episodes, True, Seed(low=1, high=2))
    driven.play(10, 2)
    return driven


def test_an_evaluation_that_is_ended_early_is_that_of_the_episodes_so_far() -> None:
    driven = evaluating(20)
    driven.play(10)
    assert driven.core.evaluated == (7, 20)
    driven.give(inputs.end_evaluation)
    (done,) = driven.wanted(EvaluationDone)
    assert (done.view.episodes, len(done.results)) == (7, 7)
    assert driven.core.evaluated is None
    # The lease that was open is void: the worker plays no more of it.
    assert driven.core.fleet_view(driven.now).leases_open == 0


def test_an_evaluation_without_any_episode_is_not_ended_early() -> None:
    driven = evaluating(20)
    assert driven.core.evaluated == (0, 20)
    driven.give(inputs.end_evaluation)
    assert driven.wanted(EvaluationDone) == []
    driven.play(10, 3)
    (done,) = driven.wanted(EvaluationDone)
    assert done.view.episodes == 20
