"""Hyperparameters as functions of progress through a run (rule P10)."""

from collections.abc import Callable

from attract.errors import ConfigurationError

Schedule = Callable[[float], float]
"""Factor on the starting value, for a progress in [0, 1]."""


def constant(progress: float) -> float:
    return 1.0


FLOOR = 0.05
"""Share of its first value below which no rate falls: a run that goes on after its schedule still learns."""


def linear(progress: float) -> float:
    """From 1 at the start down to 0 at the end."""
    return 1.0 - progress


SCHEDULES: dict[str, Schedule] = {"constant": constant, "linear": linear}


def resolve_schedule(name: str) -> Schedule:
    """The schedule of that name.

    Raises: ConfigurationError: when there is none, listing those there are.
    """
    schedule = SCHEDULES.get(name)
    if schedule is None:
        raise ConfigurationError(f"no schedule {name!r}", fix=f"there are: {', '.join(sorted(SCHEDULES))}")
    return schedule


def progress_of(agent_steps: int, schedule_steps: int | None) -> float:
    """Progress in [0, 1]: agent_steps / schedule_steps, then 1; 0 throughout without `schedule_steps`."""
    if schedule_steps is None:
        return 0.0
    return min(1.0, agent_steps / schedule_steps)


def scheduled(value: float, schedule: str, agent_steps: int, schedule_steps: int | None) -> float:
    """`value` at this point of the run, never below a twentieth of it.

    Depends on nothing but its arguments, so it goes on at resume.
    """
    return value * max(FLOOR, _factor(schedule, agent_steps, schedule_steps))


def annealed_to_one(value: float, schedule: str, agent_steps: int, schedule_steps: int | None) -> float:
    """From `value` at the start to 1 where the schedule's factor has fallen to 0; `value` while constant."""
    return 1.0 - (1.0 - value) * _factor(schedule, agent_steps, schedule_steps)


def _factor(schedule: str, agent_steps: int, schedule_steps: int | None) -> float:
    return resolve_schedule(schedule)(progress_of(agent_steps, schedule_steps))
