import pytest

from attract.collection.evaluation import Evaluation
from attract.errors import ProtocolError
from attract.schema.messages import EpisodeResult, Seed


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
    assert [one.returns[0] for one in done.results] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert done.view.return_mean == 2.0
    assert done.view.return_std == pytest.approx(2.0**0.5)  # (4 + 1 + 0 + 1 + 4) / 5 = 2
    assert (done.view.policy_version, done.view.length_mean) == (3, 10.0)


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
