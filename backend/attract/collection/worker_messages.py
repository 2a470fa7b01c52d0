"""The messages that tell a worker what to do: its welcome and its leases."""

from attract.collection.config import FittedConfig
from attract.collection.evaluation import Evaluation
from attract.collection.fleet import Worker
from attract.collection.leases import Lease
from attract.schema.messages import EpisodeOrder, Seat, WelcomeWorker
from attract.schema.messages import Lease as LeaseMessage


def welcome_message(config: FittedConfig, worker: Worker) -> WelcomeWorker:
    """What a worker must know to take part; the same whenever it comes back."""
    return WelcomeWorker(
        run_id=config.run_id,
        worker_id=worker.worker_id,
        game=config.game,
        description=config.description,
        instance_ids=list(worker.instance_ids),
        seed=config.stream_seed,
        horizon=config.horizon,
        max_frame_bytes=config.frame_bytes(is_local=worker.tier == "local"),
        state_size=config.state_size,
    )


def lease_message(config: FittedConfig, lease: Lease, evaluation: Evaluation | None) -> LeaseMessage:
    """The order itself; `evaluation` is that of an `evaluate` lease."""
    seats = [
        Seat(
            policy_id=policy_id,
            policy_version=lease.version,
            script="random" if lease.purpose in ("warmup", "replay") else None,
            deterministic=evaluation is not None and evaluation.deterministic,
            learns=lease.purpose in ("train", "replay"),
        )
        for policy_id in config.seating.seats
    ]
    return LeaseMessage(
        run_id=config.run_id,
        lease_id=lease.lease_id,
        purpose=lease.purpose,
        seats=seats if lease.seats is None else list(lease.seats.seats),
        game_sha256=config.game.sha256,
        seed=config.stream_seed if evaluation is None else evaluation.seed,
        num_segments=lease.num_segments,
        episodes=[EpisodeOrder(index=index) for index in lease.episodes],
        max_episode_steps=None if evaluation is None else config.longest_episode,
        desync_steps=config.desync_limit if lease.purpose in ("train", "replay") else 0,
        parameters=dict(lease.lesson.parameters),
        lesson_id=lease.lesson.lesson_id,
        group_sizes=config.group_sizes if lease.purpose == "train" else [],
        record=lease.record,
        replays=list(lease.replays),
    )
