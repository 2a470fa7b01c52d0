"""Studies of `attract tune`: their stored state, and their form in the HTTP API and `--json`."""

from typing import Literal

from attract.schema.base import Count, FiniteModel, Name, Text

StudyState = Literal["searching", "confirming", "finished", "stopped", "failed"]
"""`stopped`: no process works on it; the same command continues it."""
TrialState = Literal["running", "finished", "pruned", "failed"]
VerdictKind = Literal["better", "quicker", "no better"]
SearchedValue = None | bool | int | float | str | list[int]


class StudyTrial(FiniteModel):
    """One training run of a study, with one choice of settings."""

    number: Count
    """0 are the defaults: what the run would have without a search."""
    state: TrialState
    settings: dict[Name, SearchedValue]
    """The searched settings, by dotted name."""
    score: float | None = None
    """Mean return of the last 100 episodes of training, no more than the goal where one is set; of a trial
    that was ended early, when it was. None: no episode ended."""
    seconds: float | None = None
    """Training time from the first lease on, without starting and saving."""
    agent_steps: Count = 0
    on_front: bool = False
    """No other trial has a higher score in as few seconds, or as high a score in fewer."""
    error: Text | None = None


class StudyConfirmation(FiniteModel):
    """Result of a finalist or of the defaults on fresh seeds."""

    trial: Count
    seeds: list[Count]
    """Seeds of the runs that have ended, in order."""
    scores: list[float]
    """Mean return of an evaluation of each, no more than the goal where one is set."""
    seconds: list[float]
    verdict: VerdictKind | None = None
    """Against the defaults; None: of the defaults themselves, or not known yet."""
    chance: float | None = None
    """Permutation p-value of the difference, in [0, 1]."""


class StudyView(FiniteModel):
    """Body of `GET /api/studies/{name}`, and of `study.json`: a study as it stands."""

    study: Name
    game: Text
    state: StudyState
    total_steps: Count
    """Agent steps of one trial."""
    goal: float | None = None
    num_trials: Count
    """Planned number of trials."""
    parallel: Count
    elapsed_seconds: float
    """Wall-clock time of all calls together."""
    trials: list[StudyTrial] = []
    confirmations: list[StudyConfirmation] = []
    """The defaults first."""
    winner: Count | None = None
    """None: nothing was better than the defaults, or it is not known yet."""
    winner_yaml: Text | None = None
    """The winner as a file of settings."""
    file: Text | None = None
    """File with the winner for the game."""
    command: Text = ""
    """The command that continues the study."""
    error: Text | None = None


class StudySummary(FiniteModel):
    """One study in the list of all: `GET /api/studies`."""

    study: Name
    game: Text
    state: StudyState
    num_trials: Count
    num_done: Count
    best_score: float | None
    winner: Count | None
    changed: Text
    """UTC, ISO 8601."""
