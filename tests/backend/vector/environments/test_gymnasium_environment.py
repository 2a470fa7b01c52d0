"""Games as Gymnasium's environments, in real Node threads, and by Gymnasium's own checker."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers.vector import (
    FlattenObservation,
    NormalizeObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    RescaleObservation,
)
from tests.backend.vector.environments.library_games import write_games

from attract.errors import ConfigurationError, GameError
from attract.vector import GymnasiumEnv, GymnasiumVectorEnv, PettingZooEnv, Sb3VecEnv, VectorEnvironment

ONE_AGENT = ("cartpole", "harvest", "keydoor", "lander", "memory", "pendulum", "snake")


@pytest.mark.parametrize("game", ONE_AGENT)
def test_gymnasiums_own_checker_finds_nothing_in_a_bundled_game(game: str):
    with warnings.catch_warnings():
        # That it was not made by `gymnasium.make`, and advice on how to choose spaces.
        warnings.simplefilter("ignore", UserWarning)
        env = GymnasiumEnv(game)
        check_env(env)
        env.close()


@pytest.mark.parametrize("game", ["counter.js", "dial.js"])
def test_nor_in_games_of_other_spaces(game: str, tmp_path: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        env = GymnasiumEnv(game, project_dir=write_games(tmp_path))
        env.action_space.seed(3)
        if game == "dial.js":
            # Beyond that it throws, as it should.
            env.action_space = gymnasium.spaces.Box(np.float32([-2, 0]), np.float32([2, 9]))
        check_env(env)
        env.close()


def test_E3_a_game_that_ends_begins_anew_in_the_same_step_and_says_what_it_saw_last(tmp_path: Path):
    env = GymnasiumVectorEnv("counter.js", 3, num_workers=2, project_dir=write_games(tmp_path))
    seen, infos = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert infos["action_mask"].tolist() == [[True, True, True]] * 3
    seen, reward, terminated, truncated, infos = env.step([1, 0, 1])
    assert (reward.tolist(), reward.dtype) == ([1.0, 0.0, 1.0], np.float64)
    assert not terminated.any() and not truncated.any() and "final_obs" not in infos
    assert infos["action_mask"].tolist() == [[False, True, True]] * 3
    seen, reward, terminated, truncated, infos = env.step(np.array([1, 2, 2]))
    assert (terminated.tolist(), truncated.any()) == ([False, True, True], False)
    assert seen["tick"][:, 0].tolist() == [2, 0, 0]
    assert infos["_final_obs"].tolist() == [False, True, True]
    assert infos["final_obs"][0] is None
    last = infos["final_obs"][2]
    assert (last["tick"].tolist(), int(last["last"]), last["pair"].tolist()) == ([2.0], 2, [0, 2])
    assert env.single_observation_space.contains(last)
    # The metric of episodes that ended, and of no other.
    assert infos["final_info"]["falls"].tolist() == [0, 1, 1]
    assert infos["final_info"]["_falls"].tolist() == [False, True, True]
    for _ in range(5):
        seen, reward, terminated, truncated, infos = env.step([1, 1, 1])
    assert (truncated.tolist(), terminated.any()) == ([True, False, False], False)
    assert infos["final_obs"][0]["tick"].tolist() == [7.0]
    env.close()


def test_C5_reset_with_a_seed_is_a_run_with_that_seed_however_often():
    with VectorEnvironment("cartpole", 4, 1, seed=7) as games:
        (batch,) = games.reset()
        first = batch.observation["obs"].copy()
    env = GymnasiumVectorEnv("cartpole", 4)
    played: list[np.ndarray] = []
    for seed in (7, None, 7, 8, None):
        seen, _ = env.reset(seed=seed)
        # Some way into an episode: none of it is left after the next reset.
        played.append(np.stack([seen, *(env.step([1, 0, 1, 0])[0] for _ in range(3))]))
    np.testing.assert_array_equal(played[0][0], first)
    np.testing.assert_array_equal(played[0], played[2])
    for other in (1, 3, 4):
        assert not np.array_equal(played[0], played[other])
    assert not np.array_equal(played[1], played[4])
    env.close()


def test_actions_arrive_in_the_games_own_units(tmp_path: Path):
    env = GymnasiumVectorEnv("dial.js", 2, project_dir=write_games(tmp_path))
    env.reset(seed=0)
    _, reward, *_ = env.step(np.array([[-2, 3], [1.5, 9]], np.float32))
    np.testing.assert_allclose(reward, [298, 901.5], rtol=1e-6)
    env.close()


def test_S5_an_episode_whose_game_fails_is_truncated_at_the_last_good_step(tmp_path: Path):
    env = GymnasiumVectorEnv("dial.js", 2, project_dir=write_games(tmp_path))
    env.reset(seed=0)
    env.step([[0, 1], [0, 1]])
    before, *_ = env.step([[0, 1], [0, 1]])
    seen, reward, terminated, truncated, infos = env.step([[0, 10], [0, 1]])
    assert (terminated.any(), truncated.tolist()) == (False, [True, False])
    np.testing.assert_allclose(reward, [0, 100], rtol=1e-6)
    np.testing.assert_array_equal(infos["final_obs"][0], before[0])
    assert infos["final_info"]["game_failed"].tolist() == [True, False]
    assert seen[:, 0].tolist() == [0, 3]
    env.close()


def test_I1_a_thread_that_hangs_is_an_error_and_not_a_game_that_stands_still(tmp_path: Path):
    (tmp_path / "hangs.js").write_text(
        (write_games(tmp_path) / "dial.js")
        .read_text()
        .replace('throw new Error("the dial broke")', "for (;;);")
    )
    env = GymnasiumVectorEnv("hangs.js", 4, num_workers=2, project_dir=tmp_path, lease_seconds=0.5)
    env.reset(seed=0)
    with pytest.raises(GameError, match="does not answer"):
        env.step([[0, 10], [0, 1], [0, 1], [0, 1]])
    env.close()


def test_gymnasiums_wrapper_counts_the_same_returns(tmp_path: Path):
    env = RecordEpisodeStatistics(GymnasiumVectorEnv("counter.js", 2, project_dir=write_games(tmp_path)))
    env.reset(seed=0)
    found: list[float] = []
    for step in range(14):
        *_, infos = env.step([1, 2] if step % 2 else [1, 1])
        if "episode" in infos:
            found += infos["episode"]["r"][infos["_episode"]].tolist()
    # Seven ones; one and a fall of two.
    assert sorted(found) == [3] * 7 + [7] * 2
    env.close()


UNFINISHED = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  unfinished: ["score"], id: "Page-v1", page: "index.html", observation: box({ shape: [1] }),
  action: discrete(["stay", "go"]), keys: { stay: [], go: ["Space"] }, observe: () => [0], score: () => 0,
});
"""


@pytest.mark.parametrize("adapter", [GymnasiumEnv, GymnasiumVectorEnv, PettingZooEnv, VectorEnvironment])
def test_an_unfinished_adapter_is_refused_as_by_every_command(adapter: Any, tmp_path: Path):
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "game.page.ts").write_text(UNFINISHED)
    number = {GymnasiumVectorEnv: [2], VectorEnvironment: [2]}.get(adapter, [])
    with pytest.raises(
        GameError, match=r'unfinished: this adapter lacks score: write it, then delete "unfinished"'
    ):
        adapter("game.page.ts", *number, project_dir=tmp_path)


def test_what_cannot_be_done_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="PettingZooEnv"):
        GymnasiumVectorEnv("foragers", 2)
    with pytest.raises(ConfigurationError, match=f"project_dir.*{tmp_path}"):
        GymnasiumEnv("none.js", project_dir=tmp_path)
    env = GymnasiumVectorEnv("cartpole", 2)
    with pytest.raises(RuntimeError, match="reset"):
        env.step([0, 0])
    with pytest.raises(ValueError, match="one seed"):
        env.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="by themselves"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset()
    with pytest.raises(ValueError, match="Discrete"):
        env.step([0, 2])
    # And goes on as if nothing had been asked.
    assert env.step([0, 1])[1].tolist() == [1, 1]
    env.close()


def test_the_wrappers_that_the_guide_names_refuse_the_autoreset_mode_and_the_others_work():
    env = GymnasiumVectorEnv("cartpole", 2)
    refusing = (FlattenObservation, NormalizeObservation, lambda env: RescaleObservation(env, -1, 1))
    for wrapper in refusing:
        with pytest.raises(ValueError, match="SAME_STEP"):
            wrapper(env)
    NormalizeReward(env)
    counted, lengths, ended = RecordEpisodeStatistics(env), np.zeros(2, int), 0
    counted.reset(seed=1)
    while ended < 4:
        *_, terminated, truncated, infos = counted.step(np.array([0, 1]))
        lengths += 1
        for game in np.flatnonzero(terminated | truncated):
            assert infos["episode"]["l"][game] == lengths[game]
            lengths[game], ended = 0, ended + 1
    env.close()


SNAKE = {"size": {"uniform": [6, 8]}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size": {"uniform": [6]}}, "parameters.size"),
        ({"size": "eight"}, "parameters.size"),
        ({"sise": 8}, "did you mean 'size'"),
        ({"size": 4000}, "outside the range that the game declares"),
    ],
)
def test_parameters_are_those_of_a_run_and_refused_as_there(given: Any, said: str):
    with pytest.raises(ConfigurationError, match=said):
        GymnasiumEnv("snake", parameters=given)


def test_parameters_are_numbers_distributions_or_those_of_a_lease():
    from attract.schema.messages import ParameterDistribution

    drawn = {"size": ParameterDistribution(kind="uniform", values=[6, 8])}
    for given in ({"size": 7}, SNAKE, drawn):
        env = GymnasiumEnv("snake", parameters=given)
        env.reset(seed=1)
        env.close()


@pytest.mark.parametrize("adapter", [GymnasiumEnv, GymnasiumVectorEnv, PettingZooEnv, Sb3VecEnv])
def test_pictures_and_games_in_pages_are_refused_by_the_constructor(adapter: Any):
    with pytest.raises(ConfigurationError, match=r"render_mode: .* no pictures"):
        adapter("cartpole", render_mode="rgb_array")
    with pytest.raises(ConfigurationError, match="meteors lives in a page: only a browser plays it"):
        adapter("meteors")
