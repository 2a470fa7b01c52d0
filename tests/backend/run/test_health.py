"""A run's health: what counts as over."""

from typing import get_args

import pytest

from attract.collection.standing import Standing
from attract.run.health import RunHealth
from attract.schema.api import RunState
from attract.schema.learner import Counters

STANDING = Standing(
    hosts={},
    workers={},
    leases_open=0,
    leases_lapsed=0,
    blocks_accepted=0,
    blocks_refused=0,
    rows={},
    versions_unpublished=0,
)


@pytest.mark.parametrize("state", get_args(RunState))
def test_a_run_is_over_once_it_finished_stopped_or_failed(state: RunState):
    health = RunHealth(
        run_id="r",
        game="g",
        state=state,
        num_workers=1,
        counters=Counters(),
        policy_version=0,
        episode_return_mean=None,
        updates_dropped=0,
        is_described=True,
        learner_is_alive=True,
        learner_is_ready=True,
        learner_restarts=0,
        disk_refuses=False,
        collection=STANDING,
    )
    assert health.is_over == (state in {"finished", "stopped", "failed"})
