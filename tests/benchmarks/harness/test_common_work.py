"""The work that Attract and its baselines are compared on is the same work."""

import pytest

from attract.settings.run import RunSettings
from attract_benchmarks.harness.common_work import (
    BATCH_STEPS,
    GAMES,
    QUICK_UPDATES,
    SKIPPED_UPDATES,
    UPDATES,
    baseline_settings,
    cartpole_settings,
    updates_of,
)
from attract_benchmarks.harness.measure import BenchOptions


@pytest.mark.parametrize("environments", [16, 512])
def test_a_baselines_rollout_is_our_batch_however_many_games_share_it(environments: int):
    assert baseline_settings(environments)["n_steps"] * environments == BATCH_STEPS


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_ours_has_the_same_batch_minibatch_and_epochs_and_as_many_games(workers: int):
    given = cartpole_settings(50, num_workers=workers, shared_trunk=True)
    settings = RunSettings.from_mapping({name: value for name, value in given.items() if name != "preset"})
    theirs = baseline_settings()
    assert settings.ppo.batch_segments is not None
    assert settings.ppo.batch_segments * settings.ppo.horizon == BATCH_STEPS
    assert settings.ppo.minibatch_steps == theirs["batch_size"]
    for name in ("n_epochs", "learning_rate", "gamma", "gae_lambda", "clip_range"):
        assert getattr(settings.ppo, name) == theirs[name]
    assert settings.total_steps == 50 * BATCH_STEPS
    assert settings.collection.instances_per_worker is not None
    assert settings.collection.instances_per_worker * workers == GAMES


def test_a_quick_round_still_outlasts_what_is_left_out():
    assert updates_of(BenchOptions()) == UPDATES
    assert updates_of(BenchOptions(quick=True)) == QUICK_UPDATES > SKIPPED_UPDATES + 1
