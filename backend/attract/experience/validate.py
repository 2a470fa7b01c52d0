"""Checks a block against the run's layout, so that nothing unusable ever reaches a row of the store."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attract.experience.layout import StoreLayout
from attract.schema.episodes import check_columns
from attract.schema.frames import malformed
from attract.schema.messages import Block, EpisodeColumns
from attract.schema.step_numbers import STEP_NUMBERS, Tensor
from attract.schema.tensor import step_numbers, to_flags, to_numpy

LOG_PROB_SLACK: Final = 1e-6
"""Maximum logarithm of a probability: rounding may put it this far above 0."""


def check_block(block: Block, layout: StoreLayout) -> dict[str, Any]:
    """A block's tensors as arrays for `SegmentStore.write_block`, once every one of them is usable.

    Checked: nothing is packed; presence, dtype, shape, byte count, finiteness; flags are 0 or 1; choices lie
    in their range and were allowed (numbers of a box have no range: they are kept as sampled, rule P6); no
    log-probability of choices is positive; valid steps executed 1 to `ticks_per_step` ticks;
    invalid ones have no reward and no flag, and follow an end or another invalid step (rule E9); final
    observations point at truncated steps, at each one that is not terminated, and at none twice (rules E1,
    E2, E8); episode results end within the segment. Slots, lease and version are judged by the core.

    Returns: field name to array, views of the block's bytes where dtypes agree; all fields but `worker_id`.
    Raises: ProtocolError: naming the field, what came and what would be right.
    """
    if block.packed:
        raise malformed(f"block.packed: {list(block.packed)[:8]}", fix="this game has no pictures")
    horizon, columns = layout.horizon, _columns(block)
    steps = (horizon, columns)
    arrays: dict[str, Any] = {}

    def observations(tensors: dict[str, Tensor], field: str, prefix: str, leading: tuple[int, ...]) -> None:
        if tuple(tensors) != layout.observation_keys:
            raise malformed(
                f"block.{field}: keys {list(tensors)[:8]}",
                fix=f"keys must be {list(layout.observation_keys)}",
            )
        for key, tensor in tensors.items():
            wanted = layout.field(f"obs.{key}")
            arrays[f"{prefix}.{key}"] = to_numpy(
                tensor, f"block.{field}.{key}", wanted.dtype, (*leading, *wanted.shape)
            )

    observations(block.observation, "observation", "obs", steps)
    observations(block.bootstrap_observation, "bootstrap_observation", "bootstrap_obs", (columns,))
    arrays |= step_numbers(block, STEP_NUMBERS, "block", steps)
    terminated, truncated, valid = arrays["terminated"], arrays["truncated"], arrays["valid"]
    if np.count_nonzero(valid) != valid.size:
        _check_invalid_steps(arrays["reward"], terminated | truncated, valid)
    arrays["bootstrap_value"] = to_numpy(
        block.bootstrap_value, "block.bootstrap_value", "float32", (columns,)
    )
    arrays["slot_id"] = to_numpy(block.slot_id, "block.slot_id", "int32", (columns,))
    arrays["first_step"] = _first_step(block, columns)
    _check_executed_ticks(arrays["executed_ticks"], valid, layout)
    arrays["action"] = _actions(block, valid, layout)
    _check_log_prob(arrays["log_prob"], valid, layout)
    _add_mask(block, layout, arrays)
    arrays |= _states(block.recurrent_state, "block.recurrent_state", layout, columns)
    _check_episodes(block.episodes, horizon)

    if block.final_observations is not None:
        final = block.final_observations
        count = final.step.shape[0] if final.step.shape else 0
        observations(final.observation, "final_observations.observation", "final_obs", (count,))
        step = to_numpy(final.step, "block.final_observations.step", "int32", (count,))
        column = to_numpy(final.column, "block.final_observations.column", "int32", (count,))
        value = to_numpy(final.value, "block.final_observations.value", "float32", (count,))
        arrays |= {"final_step": step, "final_column": column, "final_value": value}
        # The learner unrolls each segment and has these states: checked, and not kept.
        _states(final.recurrent_state, "block.final_observations.recurrent_state", layout, count)
        _check_finals(step, column, terminated, truncated)
        _check_room(column, columns, layout)
    elif bool((truncated & ~terminated).any()):
        fix = "send a final observation for every truncated step (rule E8)"
        raise malformed("block.final_observations: missing", fix=fix)
    arrays |= {
        "lease_id": block.lease_id,
        "segment_index": block.segment_index,
        "policy_version": block.policy_version,
    }
    return arrays


def _check_invalid_steps(reward: NDArray[Any], ended: NDArray[np.bool_], valid: NDArray[np.bool_]) -> None:
    if bool((reward[~valid] != 0).any()):
        raise malformed("block.reward: of an invalid step", fix="rule E9: an invalid step has no reward")
    if bool((ended & ~valid).any()):
        raise malformed(
            "block.terminated, block.truncated: set at an invalid step",
            fix="rule E9: a trajectory ends at its last valid step",
        )
    if bool((~valid[1:] & valid[:-1] & ~ended[:-1]).any()):
        raise malformed(
            "block.valid: a trajectory stops without an end",
            fix="rule E9: the step before an invalid one is invalid, terminated or truncated",
        )


def _columns(block: Block) -> int:
    shape = block.slot_id.shape
    if len(shape) != 1 or shape[0] < 1:
        raise malformed(f"block.slot_id: shape {shape}", fix="shape must be [k], k >= 1")
    return shape[0]


def _first_step(block: Block, columns: int) -> NDArray[np.int32]:
    first_step = to_numpy(block.first_step, "block.first_step", "int32", (columns,))
    if int(first_step.min()) < 0:
        raise malformed(f"block.first_step: {int(first_step.min())}", fix="step counters start at 0")
    return first_step


def _check_executed_ticks(ticks: NDArray[np.uint16], valid: NDArray[np.bool_], layout: StoreLayout) -> None:
    max_ticks = layout.ticks_per_step
    # Most blocks have no step of no tick, whether valid or not.
    if int(ticks.max()) > max_ticks or (not int(ticks.min()) and bool((valid & (ticks == 0)).any())):
        raise malformed(
            f"block.executed_ticks: {int(ticks[valid].min(initial=max_ticks))} to {int(ticks.max())} ticks",
            fix=f"rule T2: a valid step executes 1 to {max_ticks} ticks",
        )


def _actions(block: Block, valid: NDArray[np.bool_], layout: StoreLayout) -> NDArray[Any]:
    wanted = layout.field("action")
    actions = to_numpy(
        block.action, "block.action", wanted.dtype, (layout.horizon, valid.shape[1], *wanted.shape)
    )
    if not layout.action_choices:
        return actions
    if wanted.dtype == "float32":
        _check_chosen(actions[..., : len(layout.action_choices)], layout.action_limits)
        return actions
    # Without its sign a negative number is a very large one.
    unsigned, limits = actions.view("<u4"), layout.action_limits
    if bool(unsigned.max() >= limits) if limits.size == 1 else bool((unsigned >= limits).any()):
        outside = unsigned >= limits
        place = tuple(int(index) for index in np.argwhere(outside)[0])
        limit = int(np.broadcast_to(limits, actions.shape)[place])
        raise malformed(f"block.action: {int(actions[place])}", fix=f"actions are 0 to {limit - 1}")
    return actions


def _check_chosen(chosen: NDArray[Any], limits: NDArray[np.uint32]) -> None:
    """Refuse choices among real numbers that are none."""
    outside = ~((chosen >= 0) & (chosen < limits) & (chosen == np.floor(chosen)))
    if bool(outside.any()):
        place = tuple(int(index) for index in np.argwhere(outside)[0])
        highest = int(limits[place[-1]]) - 1
        raise malformed(
            f"block.action: {float(chosen[place]):g}",
            fix=f"choice {place[-1]} of a mixed action is a whole number from 0 to {highest}",
        )


def _check_log_prob(log_prob: NDArray[Any], valid: NDArray[np.bool_], layout: StoreLayout) -> None:
    # A density may be above 1, a probability may not.
    if layout.field("action").dtype == "float32":
        return
    if float(log_prob.max()) > LOG_PROB_SLACK and bool((log_prob[valid] > LOG_PROB_SLACK).any()):
        raise malformed(
            f"block.log_prob: {float(log_prob.max()):g}", fix="the log of a probability is at most 0"
        )


def _add_mask(block: Block, layout: StoreLayout, arrays: dict[str, Any]) -> None:
    if not layout.has_action_mask:
        if block.action_mask is not None:
            raise malformed("block.action_mask: present", fix="this game has no action mask")
        return
    if block.action_mask is None:
        raise malformed("block.action_mask: missing", fix="this game has an action mask")
    valid, actions = arrays["valid"], arrays["action"]
    shape = (*valid.shape, *layout.field("action_mask").shape)
    mask = to_flags(block.action_mask, "block.action_mask", shape)
    # If each component's action was allowed, then at least one was.
    starts = np.cumsum([0, *layout.action_choices[:-1]])
    places = actions.reshape(*valid.shape, -1)[..., : len(starts)].astype(np.int64) + starts
    forbidden = valid & ~np.take_along_axis(mask, places, -1).all(-1)
    if bool(forbidden.any()):
        step, column = (int(index) for index in np.argwhere(forbidden)[0])
        raise malformed(
            f"block.action_mask: the action of step {step} of column {column} was not allowed",
            fix="a valid step's action is one that its mask allows",
        )
    arrays["action_mask"] = mask


def _states(tensors: dict[str, Tensor], field: str, layout: StoreLayout, count: int) -> dict[str, Any]:
    if tuple(tensors) != layout.recurrent_keys:
        raise malformed(
            f"{field}: keys {list(tensors)[:8]}", fix=f"keys must be {list(layout.recurrent_keys)}"
        )
    return {
        f"recurrent_state.{key}": to_numpy(
            tensor, f"{field}.{key}", "float32", (count, *layout.field(f"recurrent_state.{key}").shape)
        )
        for key, tensor in tensors.items()
    }


def _check_room(column: NDArray[Any], columns: int, layout: StoreLayout) -> None:
    """Refuse more final observations than a row holds."""
    if not len(column) or layout.num_finals >= layout.horizon:
        return
    most = int(np.bincount(column, minlength=columns).max())
    if most > layout.num_finals:
        raise malformed(
            f"block.final_observations: {most} truncations in one segment of {layout.horizon} steps",
            fix=f"a segment holds {layout.num_finals} final observations of this size: make episodes longer",
        )


def _check_finals(
    step: NDArray[Any], column: NDArray[Any], terminated: NDArray[np.bool_], truncated: NDArray[np.bool_]
) -> None:
    try:
        places = np.ravel_multi_index((step, column), truncated.shape)
    except ValueError:
        horizon, columns = truncated.shape
        raise malformed(
            "block.final_observations: a step or column outside the block",
            fix=f"steps are 0 to {horizon - 1}, columns 0 to {columns - 1}",
        ) from None
    # Workers send them in order: then none is twice.
    ascend = np.count_nonzero(places[1:] > places[:-1]) == len(places) - 1
    is_once = ascend or len(set(places.tolist())) == len(places)
    if not is_once or np.count_nonzero(truncated.reshape(-1)[places]) != len(places):
        raise malformed(
            "block.final_observations: a step twice, or one that is not truncated",
            fix="rule E8: one for each truncated step",
        )
    # Those that are named are truncated, each once: the rest is counting. Mostly all are named.
    if np.count_nonzero(truncated) == len(places):
        return
    if np.count_nonzero(truncated > terminated) != np.count_nonzero(~terminated[step, column]):
        raise malformed(
            "block.final_observations: a truncated step has none", fix="rule E8: one for each truncated step"
        )


def _check_episodes(columns: EpisodeColumns, horizon: int) -> None:
    check_columns(columns)
    last = max(columns.step, default=0)
    if last >= horizon:
        raise malformed(
            f"block.episodes.step: an episode ends at step {last}", fix=f"steps are 0 to {horizon - 1}"
        )
