"""Single blocks, as a fake worker plays them."""

from attract.schema.game import GameDescription
from attract.schema.messages import Block, Lease, Seat, Seed, WelcomeWorker
from fake_worker import FakeWorker, counting_description, counting_game

SEED = Seed(low=1, high=2)


def admitted_worker(
    *,
    num_slots: int = 3,
    horizon: int = 4,
    first_instance: int = 0,
    episode_steps: int = 7,
    description: GameDescription | None = None,
    breaks: bool = False,
) -> FakeWorker:
    """A worker that was welcomed, with version 0 at hand."""
    description = description or counting_description()
    worker = FakeWorker("run-1", episode_steps=episode_steps, breaks=breaks)
    worker.deliver(
        WelcomeWorker(
            run_id="run-1",
            worker_id=0,
            game=counting_game(),
            description=description,
            instance_ids=list(range(first_instance, first_instance + num_slots // description.num_agents)),
            seed=SEED,
            horizon=horizon,
            max_frame_bytes=1 << 18,
        )
    )
    worker.take_policy(0)
    return worker


def train_lease(lease_id: int = 1, *, version: int = 0, num_segments: int = 1) -> Lease:
    """A training lease."""
    return Lease(
        run_id="run-1",
        lease_id=lease_id,
        purpose="train",
        seats=[Seat(policy_version=version)],
        game_sha256="ab" * 32,
        seed=SEED,
        num_segments=num_segments,
    )


def played_block(
    *,
    num_slots: int = 3,
    horizon: int = 4,
    first_step: int = 0,
    segment: int = 0,
    lease_id: int = 1,
    version: int = 0,
    episode_steps: int = 7,
    first_instance: int = 0,
    description: GameDescription | None = None,
    breaks: bool = False,
) -> Block:
    """One block holding that segment of all slots."""
    worker = admitted_worker(
        num_slots=num_slots,
        horizon=horizon,
        first_instance=first_instance,
        episode_steps=episode_steps,
        description=description,
        breaks=breaks,
    )
    lease = train_lease(lease_id, version=version, num_segments=segment + 1)
    (block,) = worker.segment_blocks(lease, segment, first_step)
    return block
