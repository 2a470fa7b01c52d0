"""The benchmark's batch: 2,720 games of 3 agents, 64 steps each, through core and store into an update."""

from pathlib import Path

import numpy as np
import torch

from attract.collection.effects import Verdict
from attract.experience.batch import load_batch
from attract.experience.store import SegmentStore
from attract.experience.validate import check_block
from attract.learner.ppo.report import scheduled_hyperparameters
from attract.learner.ppo.update import create_optimizer, ppo_update
from attract.policy.action_kinds.table import resolve_distribution
from attract.policy.network import Policy
from attract.schema.messages import Block
from attract.settings.run import PolicySettings, PpoSettings
from driven_core import DrivenCore, small_config
from fake_worker import counting_description

GAMES, AGENTS, HORIZON = 2_720, 3, 64
SLOTS = GAMES * AGENTS
NUM_WORKERS = 8


class StoredCore(DrivenCore):
    """A driven core whose accepted blocks are written into a store, as the gateway does."""

    store: SegmentStore

    def block(self, connection_id: int, block: Block) -> Verdict:
        arrays = check_block(block, self.store.layout)
        verdict = self.core.offer_block(connection_id, block, self.now)
        if verdict.rows is not None:
            arrays["worker_id"] = np.full(len(verdict.rows), verdict.worker_id)
            self.store.write_block(verdict.rows, arrays)
        self.do(self.core.decide_block(connection_id, block, verdict, self.now))
        return verdict


def test_S1_E9_the_benchmarks_batch_fills_and_trains(tmp_path: Path) -> None:
    description = counting_description(num_agents=AGENTS, observation_size=1)
    config = small_config(
        horizon=HORIZON,
        num_workers=NUM_WORKERS,
        instances_per_worker=GAMES // NUM_WORKERS,
        batch_segments=SLOTS,
        schedule="sync",
    )
    driven = StoredCore(config, description, slots_per_block=255)
    driven.store = SegmentStore.create(tmp_path / "store", config.fitted(description).store_layout())
    driven.host(max_workers=NUM_WORKERS)
    for index in range(NUM_WORKERS):
        driven.join(10 + index, index).breaks = True
    driven.ready()
    for index in range(NUM_WORKERS):
        driven.play(10 + index)
    (train,) = driven.trains
    batch = load_batch(driven.store, train.rows)

    assert (batch.num_steps, batch.num_segments) == (HORIZON, SLOTS)
    assert batch.slot_id.tolist() == list(range(SLOTS)), "every slot once, nothing empty, in order"
    steps = torch.arange(HORIZON)[:, None]
    assert torch.equal(batch.observation["obs"][..., 0], (1000.0 * batch.slot_id + steps).float())
    # 64 steps are nine episodes of 7 and the beginning of one; agents 1 and 2 are away for 2 steps of each.
    valid = GAMES * (HORIZON + 2 * (HORIZON - 9 * 2))
    assert int(batch.valid.sum()) == valid == train.counters.agent_steps
    assert driven.core.counters.ticks == 2 * GAMES * HORIZON

    settings = PpoSettings(n_epochs=1, num_minibatches=8, horizon=HORIZON)
    distribution = resolve_distribution(description.action.model_dump())
    policy = Policy(
        description.observation,
        distribution,
        PolicySettings(hidden_sizes=(4,)),
        normalize_observations=True,
        generator=torch.Generator().manual_seed(1),
    )
    report = ppo_update(
        policy,
        create_optimizer(policy, 1e-3),
        batch.at_version(0),
        settings,
        torch.Generator().manual_seed(2),
        distribution=distribution,
        rates=scheduled_hyperparameters(settings, 0, None),
    )
    assert (report.num_minibatches, report.num_epochs) == (8, 1)
    driven.publish()
    assert driven.core.counters.agent_steps == valid
    driven.store.close(unlink=True)
