"""Follows a run update by update: each finding is reported once, and withdrawn when it no longer holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from attract.diagnosis import experience_signs as experience
from attract.diagnosis import learning_signs as learning
from attract.diagnosis.history import History
from attract.diagnosis.learning_signs import not_above_random_sign
from attract.diagnosis.sign import Advice, RunFacts, Sign, advice_for
from attract.diagnosis.verdict import Measured, Verdict
from attract.schema.api import Finding

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
    Symptom("values-too-high", learning.values_too_high, 20, alone=True),
    # Returns that no longer improve follow from it: who learned to beat one version has forgotten another.
    Symptom("loses-to-past", learning.loses_to_past, 10, alone=True),
    Symptom("explores-long", learning.explores_long, 10, alone=True),
    Symptom("buffer-small", learning.buffer_small, 10, alone=True),
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
    Symptom(
        "stands-still", learning.stands_still, 15, alone=True, beside=frozenset({"observation-constant"})
    ),
    Symptom("no-improvement", learning.no_improvement, 10, alone=True),
    NOT_ABOVE_RANDOM,
    Symptom("evaluation-differs", learning.evaluation_differs, 1, of_evaluations=True),
    Symptom("few-decisions", experience.few_decisions, 10, kind="speed"),
    Symptom("workers-wait", experience.workers_wait, 10, kind="speed"),
    Symptom("learner-waits", experience.learner_waits, 10, kind="speed"),
)
"""In the order of the checks: causes before their consequences."""


CLEAR_UPDATES = 10
"""Rows in a row that no longer show a finding before it is withdrawn."""


@dataclass(slots=True)
class _Watch:
    """How long a symptom has shown, and its finding if one was reported."""

    first_update: int = 0
    first_steps: int = 0
    num_shown: int = 0
    num_clear: int = 0
    said: Finding | None = None


class Diagnosis:
    """Owned by the run's progress; does no I/O and reads no clock: the same rows give the same findings."""

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        self._advice = advice_for(facts.settings.algorithm)
        self._history = History(facts.game.num_agents)
        self._watches = {symptom.finding_id: _Watch() for symptom in SYMPTOMS}
        self._withdrawn: list[Finding] = []

    @property
    def random(self) -> Measured | None:
        """Random play, once it is measured: what returns are compared with."""
        return self._history.random

    @random.setter
    def random(self, played: Measured | None) -> None:
        self._history.random = played

    @property
    def findings(self) -> list[Finding]:
        """Findings that hold now, in the order of their first sight."""
        said = [watch.said for watch in self._watches.values() if watch.said is not None]
        return sorted(said, key=lambda finding: finding.first_agent_steps)

    @property
    def all_said(self) -> list[Finding]:
        """Findings that hold now and withdrawn ones, marked so, in the order of their first sight."""
        return sorted([*self._withdrawn, *self.findings], key=lambda finding: finding.first_agent_steps)

    def observe(self, update: int, agent_steps: int, values: Mapping[str, float]) -> list[Finding]:
        """Take one committed update; returns its new findings, and withdrawn ones as such.

        Args:
            update: its number.
            agent_steps: of the run after it.
            values: its metrics by name.
        """
        self._history.add(update, agent_steps, values)
        changes: list[Finding] = []
        shown: set[str] = set()
        for symptom in SYMPTOMS:
            watch = self._watches[symptom.finding_id]
            # A finding that was reported first stays, whatever follows from it.
            is_explained = symptom.alone and watch.said is None and not shown <= symptom.beside
            sign = None if is_explained else symptom.look(self._history, self._facts)
            change = self._follow(symptom, sign, update, agent_steps)
            if change is not None:
                changes.append(change)
            if watch.num_shown > 0 or watch.said is not None:
                shown.add(symptom.finding_id)
        return changes

    def evaluated(self, update: int, agent_steps: int, values: Mapping[str, float]) -> list[Finding]:
        """Take an evaluation after the newest update; returns findings as `observe` does.

        Args:
            update: whose policy was evaluated.
            agent_steps: of the run after it.
            values: the evaluation's metrics by name.
        """
        self._history.add_evaluation(values)
        changes: list[Finding] = []
        for symptom in SYMPTOMS:
            if symptom.of_evaluations:
                sign = symptom.look(self._history, self._facts)
                change = self._follow(symptom, sign, update, agent_steps)
                if change is not None:
                    changes.append(change)
        return changes

    def ended(self, update: int, agent_steps: int, verdict: Verdict) -> list[Finding]:
        """The run is over: its verdict as a finding, unless an earlier finding explains it; see `observe`.

        Args:
            update: the last one.
            agent_steps: of the run.
            verdict: on its last returns.
        """
        symptom, watch = NOT_ABOVE_RANDOM, self._watches[NOT_ABOVE_RANDOM.finding_id]
        if verdict.learned is not False:
            return [] if watch.said is None else [self._withdraw(watch, watch.said)]
        sign = not_above_random_sign(verdict, agent_steps)
        if watch.said is None and sign is not None and not self._is_explained(symptom):
            watch.first_update, watch.first_steps = update, agent_steps
            watch.said = _finding(symptom, sign, watch, self._advice[sign.advice])
            return [watch.said]
        return []

    def _is_explained(self, symptom: Symptom) -> bool:
        causes = (cause.finding_id for cause in SYMPTOMS[: SYMPTOMS.index(symptom)])
        said = {cause for cause in causes if self._watches[cause].said is not None}
        return not said <= symptom.beside

    def _withdraw(self, watch: _Watch, said: Finding) -> Finding:
        withdrawn = said.model_copy(update={"withdrawn": True})
        watch.said = None
        self._withdrawn.append(withdrawn)
        return withdrawn

    def _follow(self, symptom: Symptom, sign: Sign | None, update: int, agent_steps: int) -> Finding | None:
        watch = self._watches[symptom.finding_id]
        if sign is None or sign.advice not in self._advice:
            watch.num_shown = 0
            watch.num_clear += 1
            if watch.said is None or watch.num_clear < CLEAR_UPDATES:
                return None
            return self._withdraw(watch, watch.said)
        watch.num_clear = 0
        if watch.num_shown == 0 and watch.said is None:
            watch.first_update, watch.first_steps = update, agent_steps
        watch.num_shown += 1
        if watch.said is not None:
            # Its numbers are updated; its advice stays.
            watch.said = watch.said.model_copy(update={"text": sign.text, "value": sign.value})
            return None
        if watch.num_shown < symptom.num_updates:
            return None
        watch.said = _finding(symptom, sign, watch, self._advice[sign.advice])
        return watch.said


def _finding(symptom: Symptom, sign: Sign, watch: _Watch, advice: Advice) -> Finding:
    advice = advice.filled(sign.numbers)
    return Finding.model_validate(
        {
            "finding_id": symptom.finding_id,
            "kind": symptom.kind,
            "text": sign.text,
            "value": sign.value,
            "advice": advice.text,
            "setting": advice.setting,
            "first_update": watch.first_update,
            "first_agent_steps": watch.first_steps,
        }
    )
