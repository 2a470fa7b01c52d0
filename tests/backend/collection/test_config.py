import re
from typing import Any

import numpy as np
import ormsgpack
import pytest

from attract.collection.config import (
    BLOCK_BYTES,
    FRAME_OVERHEAD_BYTES,
    MAX_SEGMENT_BYTES,
    PACKED_BYTES,
    FittedConfig,
    check_satisfiable,
    episode_bytes,
    segment_bytes,
)
from attract.errors import ConfigurationError
from attract.experience.layout import StoreLayout
from attract.schema.episode_results import EpisodeResult
from attract.schema.episodes import columns_of
from attract.schema.frames import encode
from attract.schema.game import GameDescription
from attract.schema.messages import Block, FinalObservations, Tensor
from attract.schema.spaces import BoxSpace, DictSpace, MultiBinarySpace, MultiDiscreteSpace
from attract.schema.tensor import from_numpy
from driven_core import changed, small_config
from fake_worker import counting_description

GAME = counting_description()


def test_a_stack_of_pictures_may_have_to_travel_whole_with_a_byte_that_says_so() -> None:
    space = BoxSpace(dtype="uint8", shape=[4, 4, 2])
    plain = GAME.model_copy(update={"observation": space})
    stacked = plain.model_copy(update={"picture_stacks": {"obs": 2}})
    # One for each of 4 steps, for each of 4 final observations and for the bootstrap; names and headers.
    assert segment_bytes(stacked, 4) - segment_bytes(plain, 4) == 4 + 4 + 1 + PACKED_BYTES


def fitted(description: GameDescription = GAME, **changes: Any) -> FittedConfig:
    """Of a fleet for which rows are kept for no more workers than are expected."""
    return small_config(**{"max_workers": 2, **changes}).fitted(description)


def test_S1_the_default_batch_is_one_rollout_of_the_expected_fleet() -> None:
    assert fitted(GAME, rollout_segments=3).batch_target() == 2 * 3 * 3
    assert fitted(GAME, batch_segments=7).batch_target() == 7
    assert fitted(counting_description(num_agents=2)).batch_target() == 12


def test_S1_the_named_horizon_is_the_largest_that_fits() -> None:
    big = counting_description(observation_size=10_000)
    with pytest.raises(ConfigurationError) as caught:
        check_satisfiable(fitted(big, horizon=512))
    named = int(re.findall(r"\d+", caught.value.fix or "")[-1])
    check_satisfiable(fitted(big, horizon=named))
    with pytest.raises(ConfigurationError):
        check_satisfiable(fitted(big, horizon=named + 1))
    assert segment_bytes(big, named) <= MAX_SEGMENT_BYTES < segment_bytes(big, named + 1)


def test_S1_a_batch_no_fleet_can_fill_names_the_largest_that_works() -> None:
    config = small_config(batch_segments=10_000_000)
    with pytest.raises(ConfigurationError) as caught:
        check_satisfiable(config.fitted(GAME))
    most = 65_536 * 6
    assert str(most) in (caught.value.fix or "")
    check_satisfiable(changed(config, batch_segments=most).fitted(GAME))


def test_E7_desync_defaults_to_the_time_limit_and_is_off_without_one() -> None:
    on = small_config(desync_episodes=True)
    assert on.fitted(counting_description(max_steps=7)).desync_limit == 7
    assert on.fitted(counting_description(max_steps=None)).desync_limit == 0
    seconds = counting_description(max_steps=None).model_copy(update={"max_seconds": 30.0})
    assert on.fitted(seconds).desync_limit == 150  # 0.2 s per step
    assert changed(on, desync_steps=11).fitted(GAME).desync_limit == 11
    assert fitted(GAME).desync_limit == 0


@pytest.mark.parametrize("batch", [1, 6, 100])
def test_the_store_holds_two_batches_and_two_leases_of_everybody(batch: int) -> None:
    config = fitted(batch_segments=batch, warmup_steps=48)
    lease = config.lease_segments * 6
    assert config.store_capacity >= 2 * max(batch, 12) + 2 * max(lease, 12)


def test_P7_warm_up_is_shared_by_all_slots() -> None:
    assert fitted(GAME, warmup_steps=2048).warmup_segments == 86  # 2048 / (6 slots x 4 steps), rounded up
    assert fitted(GAME, warmup_steps=0).warmup_segments == 0
    # No more than the run itself has: 100 / (6 slots x 4 steps), rounded up.
    assert fitted(GAME, warmup_steps=2048, total_steps=100).warmup_segments == 5


def test_async_and_prefetch_have_rows_for_what_waits() -> None:
    usual = fitted(GAME).store_capacity  # two batches and two leases of six segments
    assert usual == 4 * 6
    assert fitted(GAME, schedule="async").store_capacity == usual + 6
    assert fitted(GAME, prefetch=3).store_capacity == usual + 2 * 6


def test_S3_a_segment_has_room_for_its_state_and_that_of_every_truncation() -> None:
    plain, recurrent = fitted(), fitted(state_size=10)
    assert recurrent.segment_bytes() - plain.segment_bytes() == 4 * 10 * (1 + 4)  # horizon 4
    assert recurrent.store_layout().recurrent_keys == ("state",)
    assert recurrent.store_layout().field("recurrent_state.state").shape == (10,)
    assert plain.store_layout().recurrent_keys == ()


def test_E9_a_frame_has_room_for_every_agents_return() -> None:
    assert episode_bytes(counting_description(num_agents=64)) == 512 + 63 * 9
    result = EpisodeResult(
        instance_id=2**31,
        episode=2**31,
        step=65_535,
        returns=[-1e30] * 64,
        length_steps=2**31,
        length_ticks=2**31,
        end_reason="game_truncated",
    )
    assert len(ormsgpack.packb(result.model_dump())) < episode_bytes(counting_description(num_agents=64))


def test_a_frame_holds_a_block_or_one_segment() -> None:
    assert fitted(GAME).frame_bytes() == 1024 * 1024
    assert fitted(GAME).frame_bytes(is_local=False) == 256 * 1024
    big = counting_description(observation_size=20_000)
    assert fitted(big, horizon=16).frame_bytes() > segment_bytes(big, 16) > 1024 * 1024


def test_S1_no_frame_is_larger_than_the_server_takes() -> None:
    config = fitted(max_frame_bytes=300_000)
    assert config.frame_bytes() == 300_000
    assert config.frame_bytes(is_local=False) == 256 * 1024
    big = counting_description(observation_size=10_000)
    with pytest.raises(ConfigurationError) as caught:
        check_satisfiable(fitted(big, horizon=64, max_frame_bytes=300_000))
    named = int(re.findall(r"\d+", caught.value.fix or "")[-1])
    assert fitted(big, horizon=named, max_frame_bytes=300_000).frame_bytes() <= 300_000


def test_I2_a_workers_instances_are_cut_evenly_into_groups():
    assert fitted(GAME, num_groups=2, instances_per_worker=7).group_sizes == [3, 4]
    assert fitted(GAME, instances_per_worker=7).group_sizes == []
    with pytest.raises(ConfigurationError, match="the largest that works is 3"):
        check_satisfiable(fitted(GAME, num_groups=4, instances_per_worker=3))


def test_central_inference_refuses_several_policies():
    pair = counting_description(num_agents=2)
    check_satisfiable(fitted(pair, seats=("a", "b")))
    check_satisfiable(fitted(pair, seats=("a", "a"), num_groups=2))
    with pytest.raises(ConfigurationError, match="the seats name 2"):
        check_satisfiable(fitted(pair, seats=("a", "b"), num_groups=2))


def test_I1_a_frame_has_room_for_what_a_whole_group_sees():
    large = counting_description(observation_size=512)
    few = fitted(large, num_groups=2, instances_per_worker=8)
    many = fitted(large, num_groups=2, instances_per_worker=200)
    assert few.frame_bytes() == BLOCK_BYTES
    # 100 games of 512 float32, each twice: what is seen, and what was seen before the reset.
    assert many.frame_bytes() > 100 * 512 * 4 * 2
    with pytest.raises(ConfigurationError, match="instances_per_worker") as refused:
        check_satisfiable(fitted(large, num_groups=2, instances_per_worker=8000))
    number = int(str(refused.value).rsplit(" ", 1)[1])
    check_satisfiable(fitted(large, num_groups=2, instances_per_worker=number))


def worst_block(description: GameDescription, layout: StoreLayout, agents: int) -> Block:
    """One segment of one slot as large as it can be: each step truncated, with all that a segment carries."""
    horizon = layout.horizon

    def zeros(name: str, *leading: int) -> Tensor:
        one = layout.field(name)
        dtype = "uint8" if one.dtype == "bool" else one.dtype
        return from_numpy(np.zeros((*leading, *one.shape), dtype))

    steps = {
        name: zeros(name, horizon, 1)
        for name in (
            "action",
            "log_prob",
            "value",
            "reward",
            "terminated",
            "truncated",
            "valid",
            "executed_ticks",
            "action_mask",
        )
    }
    result = EpisodeResult(
        instance_id=2**31,
        episode=2**31,
        step=horizon,
        returns=[-1e30] * agents,
        length_steps=2**31,
        length_ticks=2**31,
        end_reason="game_truncated",
    )
    keys = layout.observation_keys
    return Block(
        run_id="r" * 40,
        lease_id=2**31,
        segment_index=1,
        block_index=1,
        policy_version=2**30,
        slot_id=from_numpy(np.zeros(1, np.int32)),
        first_step=from_numpy(np.zeros(1, np.int32)),
        observation={key: zeros(f"obs.{key}", horizon, 1) for key in keys},
        **steps,
        recurrent_state={"state": zeros("recurrent_state.state", 1)},
        bootstrap_observation={key: zeros(f"obs.{key}", 1) for key in keys},
        bootstrap_value=from_numpy(np.zeros(1, np.float32)),
        final_observations=FinalObservations(
            step=from_numpy(np.zeros(horizon, np.int32)),
            column=from_numpy(np.zeros(horizon, np.int32)),
            observation={key: zeros(f"obs.{key}", horizon) for key in keys},
            value=from_numpy(np.zeros(horizon, np.float32)),
            recurrent_state={"state": zeros("recurrent_state.state", horizon)},
        ),
        episodes=columns_of([result] * (horizon // 8)),
    )


@pytest.mark.parametrize(("agents", "state_size"), [(1, 8), (16, 256), (64, 1)])
def test_S1_no_segment_is_larger_than_what_was_foreseen(agents: int, state_size: int) -> None:
    description = counting_description(num_agents=agents).model_copy(
        update={
            "observation": DictSpace(
                spaces={
                    "picture": BoxSpace(dtype="uint8", shape=[16, 16, 3]),
                    "numbers": BoxSpace(shape=[20]),
                    "switches": MultiBinarySpace(n=9),
                }
            ),
            "action": MultiDiscreteSpace(nvec=[40, 3, 70]),
            "action_mask": True,
        }
    )
    config = fitted(description, horizon=64, state_size=state_size)
    block = worst_block(description, config.store_layout(), agents)
    size = len(encode(block))
    assert size <= config.segment_bytes() + FRAME_OVERHEAD_BYTES
    assert size > 0.6 * config.segment_bytes(), "nor is it foreseen much too large"


@pytest.mark.parametrize(
    ("limit", "total_steps", "agents", "expected"),
    [
        (500, None, 1, 64),  # 64 games of each of two workers reach the limit within 64,000 steps
        (None, 30_000, 1, 32),  # without a limit: 64 updates of horizon 4 by 2 workers, 30,000 / 512 = 58.6
        (None, 33_000, 1, 64),  # 64.5
        (None, 30_000, 2, 16),  # two agents' steps count twice: 29.3
        (None, 1000, 1, 8),  # never fewer than eight for the sake of updates
        (999, 20_000, 1, 8),  # 20,000 / (2 x 999) = 10.01, by halves
        (999, 20_000, 2, 4),  # two agents' steps count twice: 5
        (100_000, None, 1, 4),  # never fewer than four
        (36_000, None, 1, 8),  # ten minutes at 60 decisions a second: 1,000,000 / (2 x 36,000) = 13.9
    ],
)
def test_S1_unless_told_no_more_games_than_leave_whole_episodes_and_enough_updates(
    limit, total_steps, agents, expected
):
    game = counting_description(num_agents=agents).model_copy(
        update={"max_steps": limit, "max_seconds": None}
    )
    config = small_config(instances_per_worker=None, total_steps=total_steps)
    assert config.fitted(game).num_instances == expected
    assert changed(config, instances_per_worker=33).fitted(game).num_instances == 33


def test_of_a_game_that_lives_in_a_page_there_are_fewer_and_the_policy_is_beside_them() -> None:
    game = counting_description().model_copy(update={"page": "index.html"})
    config = small_config(instances_per_worker=None, total_steps=None)
    assert config.fitted(game).num_instances == 8
    assert changed(config, instances_per_worker=64).fitted(game).num_instances == 64
    with pytest.raises(ConfigurationError, match="lives in a page"):
        small_config(num_groups=2).fitted(game)


def test_I2_unless_told_there_is_a_game_for_each_group() -> None:
    game = counting_description().model_copy(update={"max_steps": 100_000, "max_seconds": None})
    config = small_config(instances_per_worker=None, num_groups=6)
    assert config.fitted(game).num_instances == 6
    check_satisfiable(config.fitted(game))


def test_scale_05_rows_and_batches_are_for_the_workers_that_may_come() -> None:
    expected = small_config().fitted(GAME)  # 2 workers of 3 slots
    assert expected.row_workers == 8
    assert [expected.batch_target(here) for here in (0, 2, 5, 8, 100)] == [6, 6, 15, 24, 24]
    assert expected.store_capacity == 4 * fitted().store_capacity
    asked = small_config(max_workers=16, batch_segments=7).fitted(GAME)
    assert [asked.batch_target(here) for here in (2, 16)] == [7, 7]
    assert asked.store_capacity >= 4 * 16 * 3


def test_scale_05_room_for_more_is_small_unless_asked_for() -> None:
    pixels = counting_description(observation_size=28_224)
    large = small_config(instances_per_worker=64, horizon=32)
    # 256 rows for each worker more, 32 steps of 110 KiB each: one worker's are more than the limit.
    assert large.fitted(pixels).row_workers == 2
    assert changed(large, max_workers=4).fitted(pixels).row_workers == 4
