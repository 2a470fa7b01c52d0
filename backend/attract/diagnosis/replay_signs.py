"""Signs of algorithms with a replay buffer: predicted returns, exploration, and the buffer's size."""

import math

from attract.diagnosis.history import History
from attract.diagnosis.sign import UNDECIDED, RunFacts, Sign, named, percent
from attract.settings.off_policy import OffPolicySettings

SETTLED_EPSILON = 0.1
"""Above it the games are played worse than what predicted returns are about."""
RECENT_UPDATES = 20
LONG_EXPLORATION_STEPS = 50_000
"""Runs of a slow page are about as long as this."""
LARGE_EPSILON = 0.5
SHORT_EXPLORATION_STEPS = 20_000
"""What the advice asks for."""
FULL = 0.98
"""Share of its memory from which on a buffer has no room for another batch."""
SMALL = 0.5
"""Share of the wanted steps."""
MORE_MEMORY = 4
"""Factor by which the advice raises the memory at most."""


def values_too_high(history: History, facts: RunFacts) -> Sign | None:
    """Predicted returns lie far above those that follow."""
    epsilon = history.last("train/epsilon")
    if epsilon is not None and epsilon > SETTLED_EPSILON:
        return None
    for name, policy in history.policies("train/q_value"):
        predicted = history.median(name, RECENT_UPDATES)
        metric = name.replace("q_value", "discounted_return")
        played = history.means(metric).get(metric)
        if predicted is None or played is None:
            continue
        # Rewards are scaled so that returns deviate by about 1.
        if predicted - played <= 1.0 + abs(played):
            continue
        text = (
            f"the policy{named(policy)} predicts a discounted return of {predicted:.3g}, and {played:.3g} "
            "followed, both in units of the scaled reward"
        )
        return Sign(predicted, text, "values-too-high")
    return None


def explores_long(history: History, facts: RunFacts) -> Sign | None:
    """Actions are mostly random, long after a slow page would have learned from better ones."""
    epsilon = history.last("train/epsilon")
    if epsilon is None or epsilon < LARGE_EPSILON or history.agent_steps < LONG_EXPLORATION_STEPS:
        return None
    text = f"after {history.agent_steps:,} steps {percent(epsilon)} of the actions are random"
    fraction = SHORT_EXPLORATION_STEPS / facts.settings.schedule_steps
    return Sign(epsilon, text, "explores-long", {"fraction": fraction})


def still_random(history: History, facts: RunFacts) -> Sign | None:
    """Actions stay random although epsilon is small: the logits may not be as large as it asks for."""
    epsilon = history.last("train/epsilon")
    if epsilon is None or epsilon > SETTLED_EPSILON:
        return None
    for name, policy in history.policies("train/entropy_share"):
        share = history.median(name, RECENT_UPDATES)
        if share is None or share <= UNDECIDED:
            continue
        text = (
            f"actions of the policy{named(policy)} stay random (entropy at {percent(share)} of its maximum) "
            f"although epsilon is {epsilon:.2g}: returns in training lie below what it can do"
        )
        return Sign(share, text, "still-random")
    return None


def buffer_small(history: History, facts: RunFacts) -> Sign | None:
    """The memory of the replay buffer holds far fewer steps than it is meant to."""
    algorithm = facts.algorithm
    if not isinstance(algorithm, OffPolicySettings):
        return None
    for name, policy in history.policies("train/buffer_steps"):
        steps = history.last(name)
        mebibytes = history.last(name.replace("steps", "mebibytes"))
        wanted = min(algorithm.buffer_size, facts.settings.total_steps or algorithm.buffer_size)
        if not steps or mebibytes is None or mebibytes < FULL * algorithm.buffer_mebibytes:
            continue
        if steps >= SMALL * wanted:
            continue
        text = (
            f"the replay buffer{' of the policy' if policy else ''}{named(policy)} is full with {steps:,.0f} "
            f"steps of {wanted:,}: older ones are forgotten"
        )
        needed = math.ceil(min(MORE_MEMORY, wanted / steps) * algorithm.buffer_mebibytes)
        return Sign(steps, text, "buffer-small", {"mebibytes": needed})
    return None
