"""A symptom as it shows now, and questions about a run's history that several symptoms share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from attract.diagnosis.history import History
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, observation_parts
from attract.settings.algorithm import AlgorithmSettings
from attract.settings.run import ALGORITHM_SETTINGS, RunSettings


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to try; `filled` replaces `{names}` with the finding's numbers."""

    text: str
    """Sentences that begin with the action; no full stop at the end."""
    setting: str | None = None
    """The flag of `attract train` that does it; None if the game has to change."""

    def filled(self, numbers: Mapping[str, object]) -> "Advice":
        setting = None if self.setting is None else self.setting.format_map(numbers)
        return Advice(self.text.format_map({**numbers, "setting": setting}), setting)


_COMMON: Mapping[str, Advice] = {
    "reward-constant/unexplored": Advice("Turn on exploration: `{setting}`", "--preset explore"),
    "reward-constant/explored": Advice(
        "Hold each action longer, so that the agent explores further: `secondsPerStep: {longer_step:g}` in "
        "the game, now {seconds_per_step:g}. Or give a small reward for every step towards the goal"
    ),
    "reward-constant/unpaid": Advice(
        "Let `update()` return a `reward` when the goal is reached, or a small one for every step towards it"
    ),
    "reward-constant/price": Advice(
        "Hold each action longer, so that random play gets further: `secondsPerStep: {longer_step:g}` in the "
        "game, now {seconds_per_step:g}"
    ),
    "no-episode-ended/unlimited": Advice(
        "End the episodes: return `terminated: true` when the game is won or lost. Or set a time limit "
        "(`maxSeconds: 60`)"
    ),
    "no-episode-ended/limited": Advice(
        "Play fewer games at once, so that each one ends sooner: `{setting}`", "--instances {fewer}"
    ),
    "reward-size": Advice(
        "Use one scale: a goal is worth a few hundred steps at most. Take the logarithm of a score that "
        "grows by factors"
    ),
    "time-limit/always": Advice(
        "Set a longer time limit, so that random play can reach the goal: `maxSeconds: {longer_limit:g}`, "
        "now {limit:g}. Or return `terminated: true` when the game is lost"
    ),
    "time-limit/idle": Advice(
        "Give a negative reward for doing nothing, or start with wider actions: `{setting}`",
        "--policy.log-std-init 1.0",
    ),
    "entropy-collapsed/continuous": Advice(
        "Start with wider actions: `{setting}`", "--policy.log-std-init 1.0"
    ),
    "value-unexplained/forgetful": Advice(
        "Check that the observation contains what the reward depends on. If the game shows that only earlier "
        "in the episode, use a recurrent policy: `{setting}`",
        "--preset memory",
    ),
    "value-unexplained/remembering": Advice(
        "Check that the observation contains what the reward depends on, at least once in an episode"
    ),
    "term-dominates": Advice(
        "Lower the weight of `{term}` in the game's `rewardTerms` until the other terms matter"
    ),
    "observation-constant": Advice("Check that the game updates it. Remove it if it is meant to be constant"),
    "stands-still/explores": Advice(
        "Train again with another seed: `{setting}`. Which way of playing is found first is partly chance",
        "--seed {other_seed}",
    ),
    "loses-to-past": Advice(
        "Lower the learning rate: `{setting}`. Or let the versions that beat it come more often "
        "(`--self-play.draw hard`), or keep more of them (`--self-play.window 50`)",
        "--{algorithm}.learning-rate {lower_rate:.2g}",
    ),
    "no-improvement": Advice(
        "Play the game on the dashboard. Check that every action has an effect, and that the observation "
        "contains what you look at"
    ),
    "not-above-random/short": Advice("Train longer: `{setting}`", "--total-steps 200000"),
    "not-above-random/long": Advice(
        "Play the game on the dashboard. Check that every move of the game is among the actions, and that "
        "the observation gives positions relative to the player"
    ),
    "evaluation-differs": Advice(
        "Run `attract check`. If it reports `state-survives-start`, reset the values that it names in "
        '`restart`, or start each episode in a fresh page: `reset: "reload"`. If it reports nothing, try '
        "`attract eval RUN --no-deterministic`, which samples actions as training does. If its return is far "
        "higher and the page acts on each press of a key, set `taps: true`"
    ),
    "learner-waits/cores": Advice("Use this machine's other cores: `{setting}`", "--workers {num_cores}"),
    "learner-waits/machines": Advice(
        "Make `update()` faster, or add another machine's browser (`attract join LINK`)"
    ),
}
"""By finding id, with a variant where the advice depends on the game; the same for all algorithms."""


def advice_for(algorithm: str) -> Mapping[str, Advice]:
    """Advice by finding id, with that of the algorithm's own settings."""
    own = ALGORITHM_SETTINGS[algorithm].advice
    return {**_COMMON, **{key: Advice(text, setting) for key, (text, setting) in own.items()}}


MAX_VECTOR = 32
"""Maximum size of an observation whose numbers each have a meaning; a larger one may be a board."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Fixed for a run."""

    settings: RunSettings
    game: GameDescription
    """As its first worker described it."""
    num_cores: int
    """Processors of this machine."""
    starts_untrained: bool = True
    """Whether the first policy was random."""

    @property
    def algorithm(self) -> AlgorithmSettings:
        return self.settings.algorithm_settings

    @property
    def action(self) -> Literal["discrete", "continuous"]:
        return "continuous" if isinstance(self.game.action, BoxSpace) else "discrete"

    @property
    def explores(self) -> bool:
        """Whether the run has intrinsic rewards beside the game's."""
        return self.settings.exploration != "none"

    @property
    def has_page(self) -> bool:
        """Whether the game lives in a page.

        Training begins episodes by the game's own restart, evaluations by fresh pages.
        """
        return self.game.page is not None

    @property
    def is_comparable(self) -> bool:
        """Whether returns may be compared with the first ones.

        Not with lessons, from an earlier policy, or where several agents may be each other's measure.
        """
        return self.starts_untrained and self.game.num_agents == 1 and not self.settings.curriculum.lessons

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Name of each number of the observation, in the learner's order; empty for large ones."""
        return tuple(_names(self.game))

    def share_of_steps(self, divisor: int, max_steps: int) -> int:
        """That part of the run in agent steps, at most `max_steps`; `max_steps` if the run has no end."""
        total = self.settings.total_steps
        return max_steps if total is None else min(max_steps, total // divisor)


def _names(game: GameDescription) -> Iterator[str]:
    """Empty unless the observation is a small vector, or a dictionary of such."""
    parts = observation_parts(game.observation)
    boxes = {name: part for name, part in parts.items() if isinstance(part, BoxSpace)}
    is_small, is_plain = len(boxes) == len(parts), isinstance(game.observation, BoxSpace)
    sizes = [box.size for box in boxes.values()]
    is_vector = all(box.dtype == "float32" and len(box.shape) <= 1 for box in boxes.values())
    if not (is_small and is_vector) or sum(sizes) > MAX_VECTOR:
        return
    for name, box in boxes.items():
        for place in range(box.size):
            yield f"observation[{place}]" if is_plain else f"observation.{name}[{place}]"


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
    value = 100 * share
    return f"{value:.0f} %" if value >= 1 or value == 0 else "under 1 %"


def named(policy: str) -> str:
    """Text after "the policy": its name where there are several."""
    return f" `{policy}`" if policy else ""


def return_text(history: History) -> str:
    return "none" if history.now is None else f"{history.now.mean:.4g}"
