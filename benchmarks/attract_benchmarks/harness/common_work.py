"""The work that Attract and its baselines are compared on: CartPole, 64-64 tanh, 32,768 steps an update."""

from typing import Any, Final

from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.harness.training import Training, train

BATCH_STEPS: Final = 32_768
MINIBATCH_STEPS: Final = 4_096
EPOCHS: Final = 4
LEARNING_RATE: Final = 1e-3
GAMMA, GAE_LAMBDA, CLIP_RANGE = 0.99, 0.95, 0.2
BASELINE_ENVIRONMENTS: Final = 16

WORKERS: Final = 2
INSTANCES: Final = 128
"""Games of each worker: Attract's own number."""
GAMES: Final = WORKERS * INSTANCES
"""Games of all workers together, however many they are."""
HORIZON: Final = 64

SKIPPED_UPDATES: Final = 10
"""Browser and learner load, compile and fill their caches in these."""
UPDATES: Final = 50
QUICK_UPDATES: Final = 14

PHASES: Final = {
    "load_ms": "time/load_seconds",
    "compute_ms": "time/update_seconds",
    "handover_ms": "time/idle_seconds",
    "checkpoint_ms": "time/checkpoint_seconds",
}
"""The learner's time metrics, by their names in a figure's `detail`."""
SHARES: Final = {
    "workers_game_share": "fleet/game_fraction",
    "workers_inference_share": "fleet/inference_fraction",
    "workers_wait_share": "fleet/wait_fraction",
}


def updates_of(options: BenchOptions) -> int:
    """Length of a training in a round, in batches of the requested size; a busy machine's are larger."""
    return QUICK_UPDATES if options.quick else UPDATES


def baseline_settings(environments: int = BASELINE_ENVIRONMENTS) -> dict[str, Any]:
    """The same work under Stable-Baselines3's names, its 32,768 steps shared among `environments`."""
    return {
        "n_steps": BATCH_STEPS // environments,
        "batch_size": MINIBATCH_STEPS,
        "n_epochs": EPOCHS,
        "learning_rate": LEARNING_RATE,
        "gamma": GAMMA,
        "gae_lambda": GAE_LAMBDA,
        "clip_range": CLIP_RANGE,
    }


def cartpole_settings(updates: int, *, num_workers: int, shared_trunk: bool) -> dict[str, Any]:
    """Settings of a run of Attract on it, `overlap`, for `updates` updates; the workers share `GAMES`."""
    return {
        "preset": "default",
        "total_steps": updates * BATCH_STEPS,
        "policy": {"hidden_sizes": [64, 64], "activation": "tanh", "shared_trunk": shared_trunk},
        "collection": {
            "schedule": "overlap",
            "num_workers": num_workers,
            "instances_per_worker": GAMES // num_workers,
        },
        "ppo": {
            "horizon": HORIZON,
            "batch_segments": BATCH_STEPS // HORIZON,
            "minibatch_steps": MINIBATCH_STEPS,
            "n_epochs": EPOCHS,
            "learning_rate": LEARNING_RATE,
            "gamma": GAMMA,
            "gae_lambda": GAE_LAMBDA,
            "clip_range": CLIP_RANGE,
            # As the others do: all epochs of every update, at one rate.
            "target_kl": None,
            "learning_rate_schedule": "constant",
            "entropy_coef": 0.0,
        },
    }


def train_cartpole(updates: int, *, seed: int, shared_trunk: bool, num_workers: int = WORKERS) -> Training:
    """Attract on it for `updates` updates, as `attract train` runs it."""
    settings = cartpole_settings(updates, num_workers=num_workers, shared_trunk=shared_trunk)
    return train("cartpole", seed=seed, settings=settings, metrics=(*PHASES.values(), *SHARES.values()))
