"""What to try for each finding: one setting, or one change to the game; algorithms add their own."""

from collections.abc import Mapping
from dataclasses import dataclass

from attract.settings.run import ALGORITHM_SETTINGS


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to try; `{names}` in it are filled from the finding's numbers."""

    text: str
    """A sentence that begins with what to do."""
    setting: str | None = None
    """The flag of `attract train` that does it; None where the game has to be changed."""

    def filled(self, numbers: Mapping[str, object]) -> "Advice":
        """The same with the numbers in their places."""
        setting = None if self.setting is None else self.setting.format_map(numbers)
        return Advice(self.text.format_map({**numbers, "setting": setting}), setting)


_COMMON: Mapping[str, Advice] = {
    "reward-constant/unexplored": Advice("Let it look for what is new: `{setting}`", "--preset explore"),
    "reward-constant/explored": Advice(
        "Hold each action longer, so that it gets further (`secondsPerStep: {longer_step:g}` in the game, "
        "now {seconds_per_step:g}), or pay a little for every step towards the goal"
    ),
    "reward-constant/unpaid": Advice(
        "Let `update()` return what was achieved as `reward`, or pay a little for every step towards it"
    ),
    "reward-constant/price": Advice(
        "Hold each action longer, so that chance gets further: `secondsPerStep: {longer_step:g}` in the "
        "game, now {seconds_per_step:g}"
    ),
    "no-episode-ended/unlimited": Advice(
        "End episodes: return `terminated: true` when the game is lost or won, or give the game a time limit "
        "(`maxSeconds: 60`)"
    ),
    "no-episode-ended/limited": Advice(
        "Play fewer games at once, so that each gets to its end sooner: `{setting}`", "--instances {fewer}"
    ),
    "time-limit/always": Advice(
        "Give the game more time than random play needs to its goal (`maxSeconds: {longer_limit:g}`, now "
        "{limit:g}), or end lost episodes by `terminated: true`"
    ),
    "time-limit/idle": Advice(
        "Make doing nothing cost something, or let it try wider actions: `{setting}`",
        "--policy.log-std-init 1.0",
    ),
    "entropy-collapsed/continuous": Advice(
        "Begin with wider actions: `{setting}`", "--policy.log-std-init 1.0"
    ),
    "value-unexplained/forgetful": Advice(
        "See whether the observation holds what the reward depends on; if that was shown earlier in the "
        "episode: `{setting}`",
        "--preset memory",
    ),
    "value-unexplained/remembering": Advice(
        "See whether the observation ever holds what the reward depends on"
    ),
    "term-dominates": Advice(
        "Lower the weight of `{term}` in the game's `rewardTerms` until the others show beside it"
    ),
    "observation-constant": Advice(
        "See whether the game sets it, and leave it out if it is meant to be constant"
    ),
    "no-improvement": Advice(
        "Play it yourself on the dashboard: see whether the actions do anything, and whether the observation "
        "shows what you look at"
    ),
    "not-above-random/short": Advice("Train longer: `{setting}`", "--total-steps 200000"),
    "not-above-random/long": Advice(
        "Play it yourself on the dashboard: see whether every move that the game takes is among the actions, "
        "and whether the observation shows where things are as seen from the player"
    ),
    "evaluation-differs": Advice(
        "See what `attract check` says of the game's own restart (`state-survives-start`): set anew in "
        '`restart` what it names, or begin episodes by a fresh page, `reset: "reload"`; where it says '
        "nothing, `attract eval RUN --no-deterministic` samples actions as training does"
    ),
    "learner-waits/cores": Advice("Use this machine's other cores: `{setting}`", "--workers {num_cores}"),
    "learner-waits/machines": Advice(
        "Make `update()` cheaper, or lend another machine's browser (`attract join LINK`)"
    ),
}
"""Whatever the algorithm."""


def advice_for(algorithm: str) -> Mapping[str, Advice]:
    """By the finding's id, and a variant where its advice depends on the game."""
    own = ALGORITHM_SETTINGS[algorithm].advice
    return {**_COMMON, **{key: Advice(text, setting) for key, (text, setting) in own.items()}}
