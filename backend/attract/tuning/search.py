"""The trials of a study in Optuna's journal, and its choice of what to try next."""

import json
import random
import warnings
from pathlib import Path
from typing import Any, Final, cast

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import TPESampler
from optuna.storages.journal import JournalFileBackend, JournalStorage
from optuna.trial import Trial, TrialState, create_trial
from pydantic import ConfigDict

from attract.schema.base import Count
from attract.schema.studies import StudyTrial
from attract.tuning.space import Choice, Domain, Range, Space, promising_values

JOURNAL: Final = "trials.journal"
STUDY: Final = "study"
"""Its name in the journal."""
NEAR_TRIALS: Final = 8
"""The first ones after the defaults."""
CHANGED_SHARE: Final = 0.3
"""Share of the searched settings that differ in each of them."""
RANDOM_TRIALS: Final = 8
"""Drawn without regard to others before the sampler has something to go by."""
LOST: Final = "lost"
RECORD: Final = "record"
"""Attributes of Optuna's trials, which have no score of one that was ended early, and no lists as values."""


class SearchTrial(StudyTrial):
    """One trial as the study keeps it."""

    model_config = ConfigDict(frozen=False)

    took_seconds: float = 0.0
    """With starting and ending."""
    rungs: dict[Count, float | None] = {}


class Search:
    """A study on disk; owned by the tuner, used from one thread.

    Two objectives: the score is to be high, the seconds low. Optuna's pruners know one objective only, so
    which trials end early is decided elsewhere, and recorded here.
    """

    def __init__(self, folder: Path) -> None:
        """Open the study in `folder`, or begin it. Trials that a killed tuner left are tried again."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        folder.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
        known = [study.study_name for study in storage.get_all_studies()]
        begun = 0
        if STUDY in known:
            begun = len(optuna.load_study(study_name=STUDY, storage=storage).trials)
        # A sampler that was opened again would draw the same numbers again.
        sampler = TPESampler(n_startup_trials=RANDOM_TRIALS, multivariate=True, seed=begun)
        self._study = optuna.create_study(
            storage=storage,
            study_name=STUDY,
            directions=["maximize", "minimize"],
            sampler=sampler,
            load_if_exists=True,
        )
        self._running: dict[int, Trial] = {}
        for trial in self._study.get_trials(states=(TrialState.RUNNING,)):
            self._study._storage.set_trial_user_attr(trial._trial_id, LOST, True)  # pyright: ignore[reportPrivateUsage]
            self._study.tell(trial.number, state=TrialState.FAIL)
            if trial.params:
                self._study.enqueue_trial(trial.params)

    def fact(self, name: str) -> Any:
        """The value stored under `name`, as JSON; None: none."""
        return self._study.user_attrs.get(name)

    def keep(self, name: str, value: Any) -> None:
        self._study.set_user_attr(name, value)

    def add_default(self, space: Space, trial: SearchTrial) -> None:
        """Record a trial of the defaults; the sampler gets its values that lie in the space.

        The first trials are those that are promising for any game, the next ones differ from the defaults in
        some settings alone: a random choice of all is mostly a bad one.
        """
        params = {
            name: _stored(domain, trial.settings[name])
            for name, domain in space.items()
            if domain.holds(trial.settings[name])
        }
        kept = create_trial(
            state=TrialState.PRUNED if trial.score is None else TrialState.COMPLETE,
            values=None if trial.score is None else [trial.score, cast("float", trial.seconds)],
            params=params,
            distributions={name: _distribution(space[name]) for name in params},
            user_attrs={RECORD: trial.model_dump(mode="json")},
        )
        self._study.add_trial(kept)
        for values in promising_values(space, trial.settings):
            stored = {name: _stored(space[name], value) for name, value in values.items()}
            self._study.enqueue_trial(params | stored)
        names = list(space)
        for place in range(NEAR_TRIALS):
            draw = random.Random(place)
            near = dict(params)
            for name in draw.sample(names, max(1, round(CHANGED_SHARE * len(names)))):
                usual = near.pop(name, None)
                # What is left out is drawn by the sampler, of a range seldom the same again.
                if isinstance(space[name], Choice):
                    others = [sample for sample in map(json.dumps, space[name].samples) if sample != usual]
                    near |= {name: draw.choice(others)} if others else {}
            self._study.enqueue_trial(near)

    def ask(self, space: Space) -> SearchTrial:
        """The next trial, which runs from now on."""
        trial = self._study.ask({name: _distribution(domain) for name, domain in space.items()})
        self._running[trial.number] = trial
        values = {name: _value(domain, trial.params[name]) for name, domain in space.items()}
        record = SearchTrial(number=trial.number, state="running", settings=values)
        trial.set_user_attr(RECORD, record.model_dump(mode="json"))
        return record

    def finish(self, trial: SearchTrial) -> None:
        """Record the end of a trial that `ask` gave."""
        asked = self._running.pop(trial.number)
        asked.set_user_attr(RECORD, trial.model_dump(mode="json"))
        if trial.state == "finished" and trial.score is not None:
            self._study.tell(asked, [trial.score, cast("float", trial.seconds)])
        else:
            # One without a score is as bad as one that was ended early.
            is_failed = trial.state == "failed"
            self._study.tell(asked, state=TrialState.FAIL if is_failed else TrialState.PRUNED)

    def trials(self) -> list[SearchTrial]:
        """All trials in order, without those that a killed tuner lost."""
        found = self._study.get_trials(deepcopy=False)
        return [
            SearchTrial.model_validate({**trial.user_attrs[RECORD], "number": trial.number})
            for trial in found
            if RECORD in trial.user_attrs and not trial.user_attrs.get(LOST)
        ]

    def front(self) -> set[int]:
        """Numbers of the finished trials that no other one dominates in score and seconds."""
        return {trial.number for trial in self._study.best_trials}


def _distribution(domain: Domain) -> BaseDistribution:
    match domain:
        case Choice():
            return CategoricalDistribution([json.dumps(value) for value in domain.values])
        case Range(whole=True):
            return IntDistribution(int(domain.low), int(domain.high), log=domain.log)
        case Range():
            return FloatDistribution(domain.low, domain.high, log=domain.log)


def _stored(domain: Domain, value: Any) -> Any:
    """Optuna's choices are texts: lists are no choices for it."""
    return json.dumps(value) if isinstance(domain, Choice) else value


def _value(domain: Domain, drawn: Any) -> Any:
    """What a run gets for what Optuna drew."""
    if isinstance(domain, Choice):
        return json.loads(drawn)
    # As many digits as a person would write: the file is read by people.
    return drawn if domain.whole else float(f"{drawn:.3g}")
