"""What follows from a run's settings, in words: told when training starts (rules S5, P10)."""

from attract.collection.config import FittedConfig
from attract.run.plan import collection_config
from attract.schema.game import GameDescription, GameReference
from attract.schema.spaces import BoxSpace, SetSpace, observation_parts
from attract.settings.run import RunSettings

TELLING_MEBIBYTES = 32


def plan_lines(
    settings: RunSettings, description: GameDescription, game: GameReference, *, verbose: bool = True
) -> list[str]:
    """Sizes, schedules and the end that follow from the settings, a line each; the first says the most.

    Args:
        settings: of the run, all layers merged.
        description: what the game says of itself.
        game: where its module is.
        verbose: tell how an update is made too.
    """
    config = collection_config(settings, "plan", game).fitted(description)
    return [
        _summary_line(settings, config),
        *([_batch_line(config)] if verbose else []),
        *_policy_lines(config),
        *(_minibatch_lines(settings, config) if verbose else []),
        *([_learner_line(settings, description)] if verbose else []),
        *_schedule_lines(settings, verbose=verbose),
        *(_correction_lines(settings) if verbose else []),
        *_room_lines(settings, config, verbose=verbose),
    ]


def _summary_line(settings: RunSettings, config: FittedConfig) -> str:
    games = config.num_workers * config.num_instances
    agents = "" if config.description.num_agents == 1 else f" of {config.description.num_agents} agents"
    workers = "1 worker" if config.num_workers == 1 else f"{config.num_workers} workers"
    steps = config.batch_target() * config.horizon
    return (
        f"training: {games} games{agents} at once in {workers}, an update every {steps:,} steps; "
        f"{_end(settings)}"
    )


def _end(settings: RunSettings) -> str:
    goal, total = settings.until_return, settings.total_steps
    share, whom = settings.until_win_rate, settings.self_play.against or "its opponents"
    if goal is None and total is None and share is None:
        return "no end given: Ctrl-C stops, saves and exports"
    ends = [
        *([] if goal is None else [f"when the mean return is {goal:g}"]),
        *([] if share is None else [f"when it wins {share:.0%} against {whom}"]),
        *([] if total is None else [f"after {total:,} steps"]),
    ]
    return f"it ends {' or '.join(ends)}"


def _batch_line(config: FittedConfig) -> str:
    slots = config.num_workers * config.slots_per_worker
    segments = config.batch_target()
    return (
        f"batch: {segments} segments of {config.horizon} steps, {segments * config.horizon} steps, "
        f"from {slots} slots ({config.num_workers} workers x {config.slots_per_worker}) "
        f"in rollouts of {config.horizon * config.rollout_segments}"
    )


def _room_lines(settings: RunSettings, config: FittedConfig, *, verbose: bool) -> list[str]:
    """Memory cost of rows for more workers, where it was set or is large."""
    if config.row_workers == config.num_workers:
        return []
    mebibytes = config.growth_bytes / 2**20
    if not (verbose or settings.collection.max_workers is not None or mebibytes >= TELLING_MEBIBYTES):
        return []
    steps = config.batch_target(config.row_workers) * config.horizon
    grows = "" if config.batch_segments else f", and then an update every {steps:,} steps"
    return [f"room for up to {config.row_workers} workers: {mebibytes:,.1f} MiB more of shared memory{grows}"]


def _policy_lines(config: FittedConfig) -> list[str]:
    seating = config.seating
    if len(seating.policy_ids) == 1:
        return []
    played = [
        f"{policy_id} plays {_agents(seating.agents_of(policy_id))}" for policy_id in seating.policy_ids
    ]
    return [f"policies: {', '.join(played)}; each learns from its own agents alone"]


def _agents(agents: list[int]) -> str:
    return ("agent " if len(agents) == 1 else "agents ") + " and ".join(map(str, agents))


def _minibatch_lines(settings: RunSettings, config: FittedConfig) -> list[str]:
    algorithm, context, shares = settings.algorithm_settings, settings.context, config.batch_targets
    return [
        f"minibatches{f' of {name}' if len(shares) > 1 else ''}: {algorithm.update_text(context, segments)}"
        for name, segments in shares.items()
    ]


def _learner_line(settings: RunSettings, description: GameDescription) -> str:
    why = why_autograd(settings, description)
    if why is not None:
        return f"learner: autograd, {why}"
    return "learner: fused on a CPU (--learner autograd: by torch's autograd)"


def why_autograd(settings: RunSettings, description: GameDescription) -> str | None:
    """What keeps the learner from its fused steps; None: nothing, where it computes on a CPU."""
    if settings.learner == "autograd":
        return "as it is set"
    if not settings.algorithm_settings.has_fused_steps:
        return f"since {settings.algorithm} has no other"
    if settings.device == "cuda":
        return "since it computes on a GPU"
    if settings.policy.recurrent != "none":
        return f"since the policy has a memory ({settings.policy.recurrent})"
    if sees_pictures(description):
        return "since the policy sees pictures"
    if any(isinstance(part, SetSpace) for part in observation_parts(description.observation).values()):
        return "since the policy sees a set"
    if settings.cloning.demonstrations is not None:
        return "since it also learns from demonstrations"
    return None


def chooses_plainly(description: GameDescription) -> bool:
    """Whether an agent chooses among actions by plain numbers: it observes no picture and no set."""
    parts = observation_parts(description.observation).values()
    is_plain = all(isinstance(part, BoxSpace) and not part.is_image for part in parts)
    return is_plain and description.action.kind not in ("box", "mixed")


def sees_pictures(description: GameDescription) -> bool:
    """Whether an agent observes a picture, alone or among other things."""
    parts = observation_parts(description.observation).values()
    return any(isinstance(part, BoxSpace) and part.is_image for part in parts)


def _schedule_lines(settings: RunSettings, *, verbose: bool) -> list[str]:
    names = settings.algorithm_settings.scheduled_rates
    if not names:
        return ["schedules: none, every rate stays as it is"] if verbose else []
    over = settings.schedule_steps
    # Schedules that end with the run need no line.
    is_shown = verbose or over != settings.total_steps
    text = f"schedules: {', '.join(names)} change over {over:,} agent steps, then stay constant"
    return [text] if is_shown else []


def _correction_lines(settings: RunSettings) -> list[str]:
    correction = settings.algorithm_settings.lag_text(settings.context)
    if correction is None or settings.collection.schedule == "sync":
        return []
    return [f"lag: up to {settings.collection.policy_lag} versions, corrected by {correction}"]
