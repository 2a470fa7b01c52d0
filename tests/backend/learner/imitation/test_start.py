"""Version 0 from demonstrations: its statistics are theirs, and what it says of itself."""

from pathlib import Path

import pytest
import torch

from attract.games.library import GameLibrary
from attract.learner.imitation.demonstrations import play_again
from attract.learner.imitation.fitting import FitPlan
from attract.learner.imitation.start import RETURNS, clone
from attract.learner.registry import choose_algorithm
from attract.settings.run import RunSettings
from demonstration_recorder import keydoor_player, record, write_demonstrations


async def test_P7_P11_statistics_are_those_of_the_demonstrations(tmp_path: Path):
    source = write_demonstrations(tmp_path, record("keydoor", keydoor_player, episodes=2))
    game, played = play_again(await GameLibrary(Path.cwd()).resolve("keydoor"), source)
    settings = RunSettings()
    algorithm = choose_algorithm(settings)
    reported: list[str] = []
    start = clone(
        game, settings, algorithm, played, FitPlan(epochs=2), torch.device("cpu"),
        lambda policy_id, _: reported.append(policy_id),
    )  # fmt: skip
    steps = sum(replayed.episode.num_steps for replayed in played)
    ((policy_id, state),) = start.state.policies.items()
    assert reported == [policy_id] * 2
    seen = torch.cat([torch.from_numpy(replayed.play.steps["obs.obs"][:, 0]) for replayed in played])
    statistics = state.observation_statistics["obs"]
    assert float(statistics.count) == steps
    assert torch.allclose(statistics.mean.float(), seen.mean(0), atol=1e-5)
    assert float(state.algorithm.moments[RETURNS].count) == steps
    metrics = start.metrics()
    assert metrics["train/cloning_epochs"] == 2 and 0 <= metrics["train/cloning_agreement"] <= 1
    assert "train/cloning_held_out_loss" not in metrics
    document = start.snapshot("cloned", game, settings).document
    assert (document["run_id"], document["game_id"]) == ("cloned", "Keydoor-v1")
    assert document["metrics"]["train/cloning_loss"] == pytest.approx(metrics["train/cloning_loss"])
