"""Games of any number of agents as PettingZoo's parallel environments, by PettingZoo's own tests."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test
from tests.backend.vector.environments.library_games import write_games

from attract.errors import GameError
from attract.vector import PettingZooEnv

GAMES = ("cartpole", "foragers", "harvest", "keydoor", "lander", "memory", "pendulum", "snake")


@pytest.mark.parametrize(
    "game",
    # One agent and several; the other games differ in their spaces, which test_gymnasium_spaces.py converts.
    [
        pytest.param(game, marks=[] if game in ("foragers", "keydoor") else [pytest.mark.long])
        for game in GAMES
    ],
)
def test_pettingzoos_own_tests_find_nothing_in_a_bundled_game(game: str):
    env = PettingZooEnv(game)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(env, num_cycles=300)
    env.close()
    made: list[PettingZooEnv] = []

    def make() -> PettingZooEnv:
        made.append(PettingZooEnv(game))
        return made[-1]

    parallel_seed_test(make, num_cycles=30)
    for environment in made:
        environment.close()


def test_E9_who_is_out_leaves_and_saw_the_end(tmp_path: Path):
    env = PettingZooEnv("leavers.js", project_dir=write_games(tmp_path))
    seen, infos = env.reset(seed=3)
    assert env.agents == env.possible_agents == ["agent_0", "agent_1", "agent_2"]
    assert [seen[agent].tolist() for agent in env.agents] == [[0, 0], [1, 0], [2, 0]]
    assert infos == {agent: {} for agent in env.agents}
    bit = np.array([0, 1], np.int8)
    seen, rewards, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, bit))
    assert rewards == {"agent_0": 2, "agent_1": 2, "agent_2": 2}
    assert (terminated, any(truncated.values())) == (
        {"agent_0": True, "agent_1": False, "agent_2": False},
        False,
    )
    assert seen["agent_0"].tolist() == [0, 1]
    assert env.agents == ["agent_1", "agent_2"]
    # Each remaining agent gets its own action, and agents that are out are not asked.
    seen, rewards, terminated, *_ = env.step({"agent_1": bit * 0, "agent_2": bit})
    assert (rewards, sorted(seen)) == ({"agent_1": 1, "agent_2": 2}, ["agent_1", "agent_2"])
    seen, rewards, terminated, truncated, _ = env.step({"agent_2": bit})
    assert (terminated, truncated) == ({"agent_2": False}, {"agent_2": True})
    assert (seen["agent_2"].tolist(), env.agents) == ([2, 3], [])
    with pytest.raises(RuntimeError, match="reset"):
        env.step({})
    seen, _ = env.reset()
    assert (seen["agent_1"].tolist(), len(env.agents)) == ([1, 0], 3)
    with pytest.raises(ValueError, match="agent_1, agent_2 has none"):
        env.step({"agent_0": bit})
    env.close()


def test_agents_that_join_late_and_come_back_are_listed_and_played(tmp_path: Path):
    env = PettingZooEnv("comers.js", project_dir=write_games(tmp_path))
    seen, _ = env.reset(seed=3)
    listed = [list(seen)]
    ended: list[list[str]] = []
    while env.agents:
        step = len(listed)
        seen, rewards, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, 1))
        # Who played has the reward of its own action, who joins has none yet.
        assert rewards == {agent: 100 + step if agent in listed[-1] else 0 for agent in rewards}
        assert seen.keys() == rewards.keys() == terminated.keys() == truncated.keys() == infos.keys()
        assert all(env.action_space(agent).n == 2 for agent in seen)
        assert {agent: seen[agent].tolist() for agent in seen} == {
            agent: [int(agent[6]), step] for agent in seen
        }
        ended.append([agent for agent in seen if terminated[agent] or truncated[agent]])
        listed.append(list(env.agents))
    first, back = ["agent_0", "agent_1"], "agent_1_life_2"
    assert listed == [
        first,
        first,
        ["agent_0", back],
        [back],
        [back, "agent_2"],
        ["agent_0_life_2", back, "agent_2"],
        ["agent_0_life_2", back, "agent_2"],
        [],
    ]
    assert [ended[1], ended[2]] == [["agent_1"], ["agent_0"]]
    assert sorted(ended[6]) == ["agent_0_life_2", back, "agent_2"]
    assert env.possible_agents == ["agent_0", "agent_1", "agent_2", back, "agent_0_life_2"]
    env.reset()
    assert (env.agents, len(env.possible_agents)) == (first, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(env, num_cycles=60)
    env.close()


def test_masks_are_told_of_who_plays(tmp_path: Path):
    env = PettingZooEnv("counter.js", project_dir=write_games(tmp_path))
    _, infos = env.reset()
    assert infos["agent_0"]["action_mask"].tolist() == [1, 1, 1]
    *_, infos = env.step({"agent_0": 1})
    assert infos["agent_0"]["action_mask"].tolist() == [0, 1, 1]
    assert infos["agent_0"]["action_mask"].dtype == np.int8
    env.close()


def test_S5_a_game_that_fails_truncates_the_agents_that_play(tmp_path: Path):
    env = PettingZooEnv("dial.js", project_dir=write_games(tmp_path))
    env.reset()
    before, *_ = env.step({"agent_0": np.float32([0, 1])})
    seen, rewards, terminated, truncated, _ = env.step({"agent_0": np.float32([0, 10])})
    assert (terminated, truncated, rewards) == ({"agent_0": False}, {"agent_0": True}, {"agent_0": 0})
    np.testing.assert_array_equal(seen["agent_0"], before["agent_0"])
    assert env.agents == []
    env.close()


def test_I1_a_thread_that_hangs_is_an_error(tmp_path: Path):
    code = (write_games(tmp_path) / "dial.js").read_text()
    (tmp_path / "hangs.js").write_text(code.replace('throw new Error("the dial broke")', "for (;;);"))
    env = PettingZooEnv("hangs.js", project_dir=tmp_path, lease_seconds=0.5)
    env.reset()
    with pytest.raises(GameError, match="does not answer"):
        env.step({"agent_0": np.float32([0, 10])})
    env.close()
