"""Episodes as columns and as rows, and what is refused of columns that a browser sent."""

from typing import Any

import pytest
from pydantic import ValidationError

from attract.errors import ProtocolError
from attract.schema.episodes import Episode, Episodes, check_columns, check_names, columns_of
from attract.schema.messages import EpisodeColumns, EpisodeResult
from fake_worker import counting_description

FIRST = Episode(3, 0, 2, (1.5, -1.0), 7, 14, "terminated", {"food": 4.0}, {"step": -0.25}, "easy")
SECOND = Episode(5, 8, 31, (0.0, 2.0), 9, 18, "cut", {}, {"step": 1.0})


def columns(**changes: Any) -> EpisodeColumns:
    return columns_of([FIRST, SECOND]).model_copy(update=changes)


def test_rows_become_columns_and_the_same_rows_again():
    columns = columns_of([FIRST, SECOND])
    assert columns.instance_id == [3, 5]
    assert columns.returns == [1.5, -1.0, 0.0, 2.0]
    assert columns.metrics == {"food": [4.0, None]}
    assert columns.reward_terms == {"step": [-0.25, 1.0]}
    assert columns.lesson_id == ["easy", None]
    assert list(Episodes(columns, num_agents=2)) == [FIRST, SECOND]


def test_results_of_an_evaluation_have_the_same_columns():
    result = EpisodeResult(
        instance_id=3,
        episode=0,
        step=2,
        returns=[1.5, -1.0],
        length_steps=7,
        length_ticks=14,
        end_reason="terminated",
        metrics={"food": 4.0},
        reward_terms={"step": -0.25},
        lesson_id="easy",
    )
    assert columns_of([result]) == columns_of([FIRST])


def test_without_lessons_no_lesson_travels():
    assert columns_of([SECOND]).lesson_id == []
    assert [episode.lesson_id for episode in Episodes.of([SECOND], 2)] == [None]


def test_returns_are_one_per_agent():
    episodes = Episodes.of([FIRST, SECOND], 2)
    assert len(episodes) == 2
    assert list(episodes.returns) == [(1.5, -1.0), (0.0, 2.0)]


def test_E1_what_was_cut_is_no_finished_episode():
    finished = Episodes.of([SECOND, FIRST, SECOND], 2).finished()
    assert list(finished) == [FIRST]
    whole = Episodes.of([FIRST], 2)
    assert whole.finished() is whole


def test_what_was_told_in_full_passes():
    check_columns(columns())
    check_columns(EpisodeColumns())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"episode": [0]}, "block.episodes.episode: 1 entries"),
        ({"step": [1, 2, 3]}, "block.episodes.step: 3 entries"),
        ({"length_ticks": [14, -1]}, "block.episodes.length_ticks: -1"),
        ({"end_reason": ["cut"]}, "block.episodes.end_reason: 1 entries"),
        ({"lesson_id": ["easy"]}, "block.episodes.lesson_id: 1 entries"),
        ({"metrics": {"food": [1.0]}}, "block.episodes.metrics.food: 1 entries"),
        ({"reward_terms": {"step": [2e30, None]}}, "block.episodes.reward_terms.step: 2e+30"),
        ({"returns": [0.0, -1.5e30]}, "block.episodes.returns: -1.5e+30"),
    ],
)
def test_hostile_04_a_column_that_cannot_be_is_named(changes: dict[str, Any], says: str):
    with pytest.raises(ProtocolError) as refused:
        check_columns(columns(**changes))
    assert refused.value.reason.startswith(says)
    assert refused.value.fix


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_hostile_04_numbers_that_are_none_never_get_as_far(number: float):
    with pytest.raises(ValidationError, match="finite"):
        EpisodeColumns(returns=[0.0, number])
    with pytest.raises(ValidationError, match="finite"):
        EpisodeColumns(metrics={"food": [number]})


def test_hostile_05_an_episode_tells_only_of_what_its_game_declares():
    game = counting_description().model_copy(
        update={"metrics": {"food": "sum"}, "reward_terms": {"step": 0.0}}
    )
    check_names(columns(), game)
    with pytest.raises(ProtocolError, match=r"episodes\.metrics: 'gold'") as refused:
        check_names(columns(metrics={"food": [1.0, 1.0], "gold": [1.0, 1.0]}), game)
    assert "['food']" in refused.value.fix
    with pytest.raises(ProtocolError, match=r"episodes\.reward_terms: 'step'"):
        check_names(columns(metrics={}), counting_description())
