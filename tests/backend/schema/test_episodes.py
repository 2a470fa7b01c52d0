"""Episodes as columns and as rows, recorded ones and their actions; what is damaged is refused by name."""

import base64
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pydantic import ValidationError

from attract.errors import ConfigurationError, ProtocolError
from attract.schema.episode_actions import check_recorded, deflated, num_marks, pack_actions, unpack_actions
from attract.schema.episode_results import EpisodeColumns, EpisodeResult
from attract.schema.episodes import Episode, Episodes, check_columns, check_names, columns_of
from attract.schema.recorded_episode import MAX_ACTION_BYTES, PackedActions, RecordedEpisode
from fake_worker import counting_description
from recorded_episodes import EPISODE

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


shapes = hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=30)


@given(hnp.arrays(np.int32, shapes, elements=st.integers(0, 2**20)) | hnp.arrays(np.float32, shapes))
def test_packed_actions_are_the_same_numbers_again(actions: np.ndarray):
    packed = pack_actions(actions)
    again = unpack_actions(packed)
    assert again.shape == actions.shape
    np.testing.assert_array_equal(again, actions)


@pytest.mark.parametrize(("highest", "dtype"), [(255, "uint8"), (256, "uint16"), (65_536, "int32")])
def test_whole_numbers_take_the_least_type(highest: int, dtype: str):
    assert pack_actions(np.array([[0], [highest]])).dtype == dtype


def test_a_minute_at_fifteen_decisions_a_second_is_small():
    random = np.random.default_rng(0).integers(0, 5, (900, 1))
    assert len(pack_actions(random).data) < 700


def packed(data: bytes, shape: list[int], *, deflated: bool = False) -> PackedActions:
    return PackedActions(dtype="uint8", shape=shape, deflated=deflated, data=base64.b64encode(data).decode())


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        (packed(b"abc", [2, 1]), r"3 bytes, where shape \[2, 1\] of uint8 needs 2"),
        (packed(b"a", [MAX_ACTION_BYTES, 2]), "the limit is 1,048,576"),
        (packed(b"not deflated", [2, 1], deflated=True), "the actions are damaged"),
        (packed(b"abc", [3, 1]).model_copy(update={"data": "abc"}), "the actions are damaged"),
    ],
)
def test_damaged_actions_say_what_is_wrong(actions: PackedActions, text: str):
    with pytest.raises(ConfigurationError, match=text):
        unpack_actions(actions)


def test_a_stream_that_would_fill_the_memory_is_read_no_further_than_its_shape_says():
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(bytes(64 << 20)) + packer.flush()
    with pytest.raises(ConfigurationError, match="3 bytes, where shape"):
        unpack_actions(packed(bomb, [2, 1], deflated=True))


def test_a_kept_episode_is_deflated_once():
    episode = RecordedEpisode.model_validate(
        {
            **EPISODE,
            "num_steps": 300,
            "actions": pack_actions(np.zeros((300, 1), np.uint8)).model_copy(
                update={"deflated": False, "data": base64.b64encode(bytes(300)).decode()}
            ),
        }
    )
    small = deflated(episode)
    assert len(small.actions.data) < 20
    assert small.actions.deflated and deflated(small) is small
    np.testing.assert_array_equal(unpack_actions(small.actions), unpack_actions(episode.actions))


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"num_steps": 4}, "actions.shape"),
        ({"seats": [{"player": "random"}] * 2, "returns": [1.0, 2.0]}, "actions.shape"),
        ({"returns": [1.0, 2.0]}, "returns"),
        ({"end_reason": "failed"}, "error"),
        ({"marks": {"interval": 1, "hashes": "0123abcd"}}, "marks.hashes"),
        (
            {"actions": {**EPISODE["actions"], "data": "AQAA"[:4], "shape": [3, 1], "deflated": True}},
            "actions",
        ),
    ],
)
def test_fields_that_disagree_are_named(change: dict[str, object], setting: str):
    check_recorded(RecordedEpisode.model_validate(EPISODE))
    with pytest.raises(ConfigurationError) as caught:
        check_recorded(RecordedEpisode.model_validate({**EPISODE, **change}))
    assert str(caught.value.setting).startswith(setting)


@pytest.mark.parametrize(("steps", "interval", "count"), [(0, 5, 0), (1, 5, 1), (5, 5, 1), (6, 5, 2)])
def test_a_mark_stands_before_every_interval(steps: int, interval: int, count: int):
    assert num_marks(steps, interval) == count


def test_game_time_and_return_are_those_of_the_whole_episode():
    episode = RecordedEpisode.model_validate(EPISODE)
    assert episode.seconds == pytest.approx(0.06)
    assert episode.mean_return == 3.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "demonstration"),
        ("version", 3),
        ("id", "../../x"),
        ("game_sha256", "../x"),
        ("seats", []),
        ("returns", [float("nan")]),
        ("num_steps", 1 << 21),
        ("end_reason", "gone"),
        ("marks", {"interval": 0, "hashes": ""}),
        ("marks", {"interval": 1, "hashes": "xyz"}),
        ("actions", {"dtype": "int64", "shape": [1, 1], "deflated": False, "data": ""}),
        ("actions", {"dtype": "uint8", "shape": [1], "deflated": False, "data": ""}),
        ("actions", {"dtype": "uint8", "shape": [1, 1], "deflated": False, "data": "<script>"}),
        ("another", 1),
    ],
)
def test_a_field_out_of_bounds_is_refused_by_its_name(field: str, value: object):
    with pytest.raises(ValidationError, match=field):
        RecordedEpisode.model_validate({**EPISODE, field: value})
