"""Recorded episodes in the real game: the same steps again, or refused by what differs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.schema.messages import Seed
from attract.schema.recorded_episode import RecordedEpisode
from attract.vector.environments.replaying import EpisodeReplayer
from demonstration_recorder import demonstrated, keydoor_player, record

GAME = """import { box, defineGame, discrete } from "attract";
export default defineGame({
  id: "Count-v1", tickSeconds: 1, observation: box({ shape: [2] }), action: discrete(2), numAgents: 2,
  actionMask: true, parameters: { start: { default: 1, low: 0, high: 9 } },
  create: () => {
    let at = 0, drawn = 0;
    const seen = (out) => {
      out.actionMask[0].set([1, 1]);
      out.actionMask[1].set([1, at > 2 ? 0 : 1]);
      return { observation: [[at, drawn], [-at, drawn]] };
    };
    return {
      start: ({ random, parameters, out }) => {
        at = parameters.start;
        drawn = random.int(1000);
        return seen(out);
      },
      update: (_, [a, b], out) => {
        at += a;
        return { ...seen(out), reward: [a, 2 * b], terminated: [at >= 4, at >= 4] };
      },
    };
  },
});
"""


@pytest.fixture(scope="module")
def replayer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EpisodeReplayer]:
    import asyncio

    folder = tmp_path_factory.mktemp("game")
    (folder / "count.ts").write_text(GAME)
    module = asyncio.run(GameLibrary(folder).resolve("count.ts"))
    with EpisodeReplayer(module) as one:
        yield one


def demonstration(**changed: Any) -> RecordedEpisode:
    whole: dict[str, Any] = {
        "game_id": "Count-v1",
        "seed": Seed(low=7, high=1),
        "episode": 3,
        "parameters": {"start": 2},
        "actions": [[0, 1], [1, 0], [1, 0]],
        "returns": [2, 2],
    }
    return demonstrated(**{**whole, **changed})


def test_C5_every_step_comes_again_with_what_was_seen_paid_and_allowed(replayer: EpisodeReplayer):
    play = replayer.replay(demonstration())
    assert play.steps["obs.obs"][:, 0, 0].tolist() == [2, 2, 3]
    assert play.steps["reward"].tolist() == [[0, 2], [1, 0], [1, 0]]
    assert play.steps["terminated"].tolist() == [[0, 0], [0, 0], [1, 1]]
    assert play.steps["action_mask"][2].tolist() == [[1, 1], [1, 0]]
    again = replayer.replay(demonstration())
    assert np.array_equal(again.steps["obs.obs"], play.steps["obs.obs"])
    other = replayer.replay(demonstration(episode=4))
    assert other.steps["obs.obs"][0, 0, 1] != play.steps["obs.obs"][0, 0, 1]


def test_an_episode_that_the_player_stopped_is_played_as_far_as_it_went(replayer: EpisodeReplayer):
    short = demonstration(actions=[[0, 1], [1, 0]], returns=[1, 2], ended=False)
    play = replayer.replay(short)
    assert not play.steps["terminated"].any() and play.after["obs"][0].tolist()[0] == 3


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"returns": [2, 3]}, "return of agent 1 was 3, and now is 2"),
        ({"ended": False}, "went on after 3 steps, and now ends after 3"),
        ({"parameters": {"start": 0}, "returns": [2, 2]}, "ended after 3 steps, and now not"),
        ({"game_id": "Other-v1"}, "an episode of Other-v1, not of Count-v1"),
        ({"parameters": {"size": 2}}, "parameters size; Count-v1 has start"),
        ({"returns": [2], "actions": [[0], [1], [1]]}, "has 1 agents, Count-v1 has 2"),
        (
            {"actions": [[[0], [1]], [[1], [0]], [[1], [0]]]},
            r"are uint8 \[3, 2, 1\]; those of Count-v1 would be int32",
        ),
    ],
)
def test_what_the_game_does_not_play_so_is_refused(
    replayer: EpisodeReplayer, changed: dict[str, object], problem: str
):
    with pytest.raises(ConfigurationError, match=problem):
        replayer.replay(demonstration(**changed))
    assert len(replayer.replay(demonstration()).action) == 3


async def test_what_the_recorder_of_the_tests_leaves_is_played_again():
    found = record("keydoor", keydoor_player, episodes=3)
    assert all(episode.returns == [1] for episode in found)
    module = await GameLibrary(Path.cwd()).resolve("keydoor")
    with EpisodeReplayer(module) as one:
        assert [len(one.replay(each).action) for each in found] == [each.num_steps for each in found]
