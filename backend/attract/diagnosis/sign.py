"""A symptom as it shows now, and questions about a run's history that several symptoms share."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from attract.diagnosis.facts import RunFacts
from attract.diagnosis.history import History

LATE_UPDATES = 25
LATE_STEPS = 100_000
"""Most games show some progress by then."""
STUCK = 0.05
"""Share of the maximum entropy, or of half the action's range, below which a policy no longer explores."""
UNDECIDED, UNTRAINED = 0.75, 0.9
"""Shares of the maximum entropy above which a policy has a weak preference, and next to none."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A symptom as it shows now."""

    value: float
    """The number that shows it."""
    text: str
    """One sentence with that number, without a full stop."""
    advice: str
    """Key of `advice_for`."""
    numbers: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further numbers for the advice's text."""


def is_like_random(history: History, facts: RunFacts) -> bool:
    """Whether the return is no better than an untrained policy's; False where that is unknown."""
    now, baseline = history.now, history.baseline
    if not facts.is_comparable or now is None or baseline is None or now.exceeds(baseline):
        return False
    if history.is_baseline_untrained:
        return True
    # The first fair returns came late, and perhaps from a trained policy: it must be as undecided as at
    # first, or stuck, and then worse than what ended first of all.
    spreads = policy_spreads(history, facts)
    if not spreads or history.earliest is None:
        return False
    is_stuck = max(spreads) < STUCK and not now.exceeds(history.earliest)
    return is_stuck or (facts.action == "discrete" and min(spreads) > UNTRAINED)


def is_late(history: History, facts: RunFacts) -> bool:
    """Whether there was enough experience for most games."""
    steps = max(LATE_STEPS, facts.share_of_steps(2, 2 * LATE_STEPS))
    return history.num_updates >= LATE_UPDATES and history.agent_steps >= steps


def is_no_better(history: History, facts: RunFacts) -> bool:
    """Whether the return never got better than at first, after enough experience for most games."""
    return is_late(history, facts) and not history.has_improved and is_like_random(history, facts)


def is_hopeless(history: History, facts: RunFacts) -> bool:
    """Whether, besides, the policy prefers no action or only one: it is not improving."""
    if not is_no_better(history, facts):
        return False
    return all(
        share > UNDECIDED or share < STUCK
        for share in policy_spreads(history, facts)
        if facts.action == "discrete"
    )


def policy_spreads(history: History, facts: RunFacts) -> list[float]:
    """Per policy its entropy's share of the maximum, or its actions' std as a share of half their range."""
    name = "train/entropy_share" if facts.action == "discrete" else "train/action_spread"
    medians = [history.median(own, 10) for own, _ in history.policies(name)]
    return [share for share in medians if share is not None]


def are_all_at_limit(history: History) -> bool:
    """Whether every episode so far ended at its time limit."""
    return history.num_episodes > 0 and history.num_at_limit > history.num_episodes - 0.5


def percent(share: float) -> str:
    """A share as text."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 1 or value == 0 else "under 1 %"


def named(policy: str) -> str:
    """Text after "the policy": its name where there are several."""
    return f" `{policy}`" if policy else ""


def return_text(history: History) -> str:
    """The present mean return."""
    return "none" if history.now is None else f"{history.now.mean:.4g}"
