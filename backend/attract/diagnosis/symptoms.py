"""All symptoms of a run, and how long each must show; a false alarm is worse than a missed one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from attract.diagnosis import experience_signs as experience
from attract.diagnosis import learning_signs as learning
from attract.diagnosis import replay_signs as replay
from attract.diagnosis.facts import RunFacts
from attract.diagnosis.history import History
from attract.diagnosis.sign import Sign

Look = Callable[[History, RunFacts], Sign | None]


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that can be wrong with a run."""

    finding_id: str
    look: Look
    """Whether it shows now."""
    num_updates: int
    """Rows in a row that must show it before it is reported."""
    alone: bool = False
    """Whether earlier symptoms in the list explain it: it is not reported while one of them shows."""
    beside: frozenset[str] = frozenset()
    """Findings before it that do not explain it."""
    of_evaluations: bool = False
    """Whether an evaluation shows it, which need not wait for the next update."""
    kind: Literal["learning", "speed"] = "learning"


NOT_ABOVE_RANDOM: Final = Symptom(
    "not-above-random",
    learning.not_above_random,
    10,
    alone=True,
    beside=frozenset({"observation-constant"}),
)
"""It may be reported at a run's end as well, however short the run was."""
SYMPTOMS: Final = (
    Symptom("reward-constant", experience.reward_constant, 3),
    Symptom("no-episode-ended", experience.no_episode_ended, 3),
    Symptom("reward-size", experience.reward_size, 3),
    Symptom("term-dominates", experience.term_dominates, 20),
    Symptom("observation-constant", experience.observation_constant, 5, alone=True),
    Symptom("kl-high", learning.kl_high, 10),
    Symptom("policy-unchanged", learning.policy_unchanged, 10, alone=True),
    Symptom("short-sighted", learning.short_sighted, 5, alone=True),
    Symptom("values-too-high", replay.values_too_high, 20, alone=True),
    Symptom("explores-long", replay.explores_long, 10, alone=True),
    Symptom("still-random", replay.still_random, 10, alone=True),
    Symptom("buffer-small", replay.buffer_small, 10, alone=True),
    # Many games have a number that never changes, without harm.
    Symptom(
        "value-unexplained",
        learning.value_unexplained,
        10,
        alone=True,
        beside=frozenset({"observation-constant"}),
    ),
    Symptom("time-limit", experience.time_limit, 10, alone=True),
    Symptom("entropy-collapsed", learning.entropy_collapsed, 10, alone=True),
    Symptom("return-fell", learning.return_fell, 15, alone=True),
    Symptom("no-improvement", learning.no_improvement, 10, alone=True),
    NOT_ABOVE_RANDOM,
    Symptom("evaluation-differs", learning.evaluation_differs, 1, of_evaluations=True),
    Symptom("few-decisions", experience.few_decisions, 10, kind="speed"),
    Symptom("workers-wait", experience.workers_wait, 10, kind="speed"),
    Symptom("learner-waits", experience.learner_waits, 10, kind="speed"),
)
"""In the order of the checks: causes before their consequences."""
