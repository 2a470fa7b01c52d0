"""`attract replay`: how episodes are ordered, and what is said of each; no browser is started."""

import json

import pytest
from tests.backend.schema.test_recorded_episode import EPISODE

from attract.commands import replay as module
from attract.commands.episodes import Recorded
from attract.schema.recorded_episode import EpisodeDifference, EpisodeReplay, RecordedEpisode


def one(**changed: object) -> RecordedEpisode:
    return RecordedEpisode.model_validate({**EPISODE, **changed})


def test_many_episodes_are_ordered_in_parts_that_a_message_holds(monkeypatch: pytest.MonkeyPatch):
    recorded = [Recorded(str(n), one()) for n in range(40)]
    parts = list(module.in_orders(recorded))
    assert [len(part) for part in parts] == [16, 16, 8]
    assert [single.name for part in parts for single in part] == [str(n) for n in range(40)]
    monkeypatch.setattr(module, "ORDER_BYTES", 10)
    assert [len(part) for part in module.in_orders(recorded[:5])] == [2, 2, 1]


def test_a_difference_is_said_with_its_second_and_its_step():
    replay = EpisodeReplay(
        equal=False,
        difference=EpisodeDifference(step=184, seconds=12.27, text="the agent sees something else"),
        returns=[1.0],
        num_steps=184,
        num_ticks=184,
        end_reason="stopped",
        play_seconds=0.1,
    )
    recorded = Recorded("one", one())
    assert module.replay_text(recorded, replay) == (
        "differs at 12.3 s (step 184): the agent sees something else"
    )
    equal = replay.model_copy(update={"equal": True, "difference": None, "num_steps": 3, "returns": [3.0]})
    assert module.replay_text(recorded, equal) == "equal: 3 steps (0.1 s), return 3, time_limit"
    assert json.dumps(replay.model_dump(mode="json"))
