"""Games as Stable-Baselines3's vectorised environments; its own PPO plays them."""

from pathlib import Path

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor
from tests.backend.vector.environments.library_games import write_games

from attract.vector import GymnasiumVectorEnv, Sb3VecEnv


def test_what_sb3_asks_of_an_episode_that_ended_is_there(tmp_path: Path):
    env = Sb3VecEnv("counter.js", 2, project_dir=write_games(tmp_path))
    env.seed(4)
    seen = env.reset()
    assert isinstance(seen, dict)
    assert env.observation_space.contains({key: values[0] for key, values in seen.items()})
    env.step(np.array([1, 1]))
    seen, rewards, dones, infos = env.step(np.array([1, 2]))
    assert (rewards.tolist(), rewards.dtype, dones.tolist()) == ([1, 2], np.float32, [False, True])
    assert (infos[0], infos[1]["TimeLimit.truncated"]) == ({}, False)
    assert infos[1]["terminal_observation"]["tick"].tolist() == [2]
    for _ in range(5):
        seen, _, dones, infos = env.step(np.array([1, 1]))
    assert (dones.tolist(), infos[0]["TimeLimit.truncated"]) == ([True, False], True)
    assert infos[0]["terminal_observation"]["tick"].tolist() == [7]
    assert isinstance(seen, dict) and seen["tick"][:, 0].tolist() == [0, 5]
    env.close()


def test_masks_are_had_as_sb3_contrib_asks_for_them(tmp_path: Path):
    env = Sb3VecEnv("counter.js", 2, project_dir=write_games(tmp_path))
    assert env.has_attr("action_masks")
    env.reset()
    env.step(np.array([1, 1]))
    assert np.stack(env.env_method("action_masks")).tolist() == [[False, True, True]] * 2
    assert np.stack(env.env_method("action_masks", indices=1)).tolist() == [[False, True, True]]
    env.close()
    plain = Sb3VecEnv("cartpole", 2)
    assert not plain.has_attr("action_masks")
    with pytest.raises(AttributeError, match="gravity"):
        plain.set_attr("gravity", 1.0)
    plain.close()


def test_C5_a_seed_counts_for_the_next_reset_alone():
    with_seed = Sb3VecEnv("cartpole", 3)
    with_seed.seed(7)
    first = with_seed.reset()
    second = with_seed.reset()
    games = GymnasiumVectorEnv("cartpole", 3)
    np.testing.assert_array_equal(first, games.reset(seed=7)[0])
    assert not np.array_equal(first, second)
    games.close()
    with_seed.close()


@pytest.mark.parametrize("game", ["counter.js", "dial.js", pytest.param("cartpole", marks=pytest.mark.long)])
def test_sb3s_own_ppo_trains_in_games_of_every_space(game: str, tmp_path: Path):
    env = VecMonitor(Sb3VecEnv(game, 4, project_dir=write_games(tmp_path)))
    policy = "MultiInputPolicy" if game == "counter.js" else "MlpPolicy"
    model = PPO(policy, env, n_steps=32, batch_size=64, n_epochs=1, seed=1, device="cpu")
    model.learn(512)
    assert model.num_timesteps == 512
    assert model.ep_info_buffer
    env.close()


@pytest.mark.soak
def test_sb3s_own_ppo_solves_cartpole():
    """With the settings that SB3's zoo has for it, and well past its 100,000 steps."""
    env = VecMonitor(Sb3VecEnv("cartpole", 8))
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=32,
        batch_size=256,
        gae_lambda=0.8,
        gamma=0.98,
        n_epochs=20,
        ent_coef=0.0,
        learning_rate=lambda left: 1e-3 * left,
        clip_range=lambda left: 0.2 * left,
        seed=1,
        device="cpu",
    )
    model.learn(150_000)
    env.close()
    games = GymnasiumVectorEnv("cartpole", 50)
    seen, _ = games.reset(seed=12_345)
    returns, is_playing = np.zeros(50), np.ones(50, bool)
    while is_playing.any():
        seen, rewards, terminated, truncated, _ = games.step(model.predict(seen, deterministic=True)[0])
        returns += rewards * is_playing
        is_playing &= ~(terminated | truncated)
    games.close()
    assert returns.mean() >= 475


def test_a_games_metrics_reach_sb3_with_the_end_of_their_episode(tmp_path: Path):
    games = write_games(tmp_path)
    won = (games / "counter.js").read_text().replace('falls: "sum"', 'falls: "sum", won: "last"')
    (games / "won.js").write_text(won.replace("info: {", "info: { won: ticks > 2 ? 1 : 0,"))
    env = VecMonitor(Sb3VecEnv("won.js", 2, project_dir=games), info_keywords=("falls", "won"))
    env.reset()
    env.step(np.array([1, 1]))
    _, _, dones, infos = env.step(np.array([1, 2]))
    assert (dones.tolist(), infos[0]) == ([False, True], {})
    assert (infos[1]["falls"], infos[1]["won"], infos[1]["is_success"]) == (1.0, 0.0, False)
    assert infos[1]["episode"]["falls"] == 1.0
    for _ in range(5):
        _, _, dones, infos = env.step(np.array([1, 1]))
    assert (dones[0], infos[0]["is_success"]) == (True, True)
    env.close()
