"""What a run does before its first update, and how far it is with that."""

from collections.abc import Mapping

from attract.collection.config import MAX_WARMUP_SECONDS
from attract.collection.state import CollectionState, Described
from attract.schema.api import BeginningStage, BeginningView
from attract.schema.messages import Purpose

STAGES: Mapping[BeginningStage, str] = {
    "game": "loading the game",
    "learner": "starting the learner",
    "workers": "waiting for the rest of the workers",
    "warmup": "warming up",
    "batch": "playing the first batch",
    "update": "learning from the first batch",
}


def stage_of(state: CollectionState) -> BeginningStage | None:
    """What has to be done next before the first update of this session; None: it is done, or nothing is."""
    if state.stopped or state.learner.num_updates:
        return None
    if state.described is None:
        return "game"
    if state.learner.phase == "absent":
        return "learner"
    if not state.start_barrier.is_open:
        return "workers"
    if state.learner.phase == "warmup":
        return "warmup" if state.learner.warmup_blocks is None else "learner"
    return "update" if state.learner.phase == "busy" else "batch"


def note_stage(state: CollectionState, now: float) -> None:
    """Remember since when the stage lasts; called after every decision."""
    stage = stage_of(state)
    if stage != state.stage:
        state.stage, state.stage_since = stage, now


def beginning_of(state: CollectionState, now: float) -> BeginningView | None:
    """The stage with what was played for it; None after the first update."""
    if state.stage is None:
        return None
    steps = total = 0
    if state.described is not None and state.stage in ("warmup", "batch"):
        steps, total = _steps(state, state.described, "warmup" if state.stage == "warmup" else "train")
    is_bounded = state.stage == "warmup" and state.config.settings.schedule != "sync"
    view = BeginningView(
        stage=state.stage,
        seconds=max(0.0, now - state.stage_since),
        steps=steps,
        total_steps=total,
        max_seconds=MAX_WARMUP_SECONDS if is_bounded else None,
    )
    return view.model_copy(update={"text": beginning_text(view)})


def beginning_text(beginning: BeginningView) -> str:
    """The stage, with steps, speed and time left where it is measured by steps."""
    stage = STAGES[beginning.stage]
    if not beginning.total_steps:
        return f"{stage}: {beginning.seconds:.0f} s so far"
    parts = [f"{stage}: {beginning.steps:,} of {beginning.total_steps:,} steps"]
    left = [] if beginning.max_seconds is None else [beginning.max_seconds - beginning.seconds]
    if beginning.steps and beginning.seconds:
        speed = beginning.steps / beginning.seconds
        parts.append(f"{speed:,.0f} steps/s")
        left.append((beginning.total_steps - beginning.steps) / speed)
    if left:
        parts.append(f"{max(0.0, min(left)):.0f} s left")
    return ", ".join(parts)


def _steps(state: CollectionState, described: Described, purpose: Purpose) -> tuple[int, int]:
    """Agent steps that were played for the warm-up or the first batch, and how many it needs."""
    horizon, acceptance = state.config.horizon, described.acceptance
    pool = acceptance.warmup if purpose == "warmup" else acceptance.pool
    leases = [lease for lease in state.book if lease.purpose == purpose]
    played = pool.num_segments * horizon
    for lease in leases:
        # Workers report steps whose blocks are not sent yet.
        played += max(0, lease.steps * lease.num_slots - int(lease.received.sum()) * horizon)
    segments = described.target
    if purpose == "warmup":
        segments = pool.num_segments + sum(lease.remaining for lease in leases)
    return min(played, segments * horizon), segments * horizon
