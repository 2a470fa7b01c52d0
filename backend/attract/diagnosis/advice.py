"""Advice for each finding: one setting, or one change to the game; algorithms add their own."""

from collections.abc import Mapping
from dataclasses import dataclass

from attract.settings.run import ALGORITHM_SETTINGS


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to try; `filled` replaces `{names}` with the finding's numbers."""

    text: str
    """Sentences that begin with the action; no full stop at the end."""
    setting: str | None = None
    """The flag of `attract train` that does it; None if the game has to change."""

    def filled(self, numbers: Mapping[str, object]) -> "Advice":
        """A copy with the numbers filled in."""
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
