"""What a project makes of each oracle: whether a finding counts, and from which threshold on there is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from attract.errors import nearest_name
from attract.playtest.report import ORACLES, Level, OracleId
from attract.settings.base import Settings

THRESHOLDS: Final[dict[OracleId, dict[str, float]]] = {
    "endless": {"steps": 3_000},
    "won-without-input": {"share": 0.5},
    "dead-key": {"share": 0.3},
    "leak": {"kilobytes": 1.0},
    "slow": {"times": 5.0, "share": 0.05},
    "score-exploit": {"deviations": 5.0},
    "changed": {"share": 0.03},
}
"""Defaults. `endless`: steps of an episode, at which it is stopped (a game without an end would be played for
ever). `won-without-input`: share of a trained policy's return. `dead-key`: share of the states in which an
action did something of its own in the baseline. `leak`: kept of each episode, at least 1. `slow`: times as
long as in the baseline, and a share of a tick's game time. `score-exploit`: standard deviations above the
best of the baseline. `changed`: share of the mean or of the spread, whichever is larger."""
FAMILIES: Final = ("changed", "unreached")
"""Oracles with a finding for each number, such as `changed:return:lower`: a rule may name some of them."""


class Rule(Settings):
    """What is made of an oracle's findings; written as a level, or as a level and thresholds."""

    level: Level = "error"
    thresholds: dict[str, Annotated[float, Field(gt=0, le=1e6)]] = {}

    @model_validator(mode="before")
    @classmethod
    def _written(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"level": given}
        if isinstance(given, list | tuple) and 1 <= len(given) <= 2:  # pyright: ignore[reportUnknownArgumentType]
            return dict(zip(("level", "thresholds"), given, strict=False))  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError("is off, warn or error, or a list of that and of thresholds: [warn, {share: 0.1}]")


@dataclass(frozen=True)
class Rules:
    """Of a project; without any all oracles are errors from their usual thresholds on."""

    by_name: Mapping[str, Rule] = field(default_factory=dict[str, Rule])

    def level(self, finding_id: str) -> Level:
        """Of a finding: that of the longest rule that names it: `changed:return` goes before `changed`."""
        parts = finding_id.split(":")
        names = (":".join(parts[:count]) for count in range(len(parts), 0, -1))
        known: list[Level] = [self.by_name[name].level for name in names if name in self.by_name]
        return known[0] if known else "error"

    def threshold(self, oracle: OracleId, name: str) -> float:
        """See `THRESHOLDS`."""
        own = self.by_name.get(oracle)
        return THRESHOLDS[oracle][name] if own is None else own.thresholds.get(name, THRESHOLDS[oracle][name])

    @property
    def off(self) -> frozenset[str]:
        """Oracles that are not judged."""
        return frozenset(
            oracle
            for oracle in ORACLES
            if self.level(oracle) == "off"
            and all(
                rule.level == "off" for name, rule in self.by_name.items() if name.startswith(f"{oracle}:")
            )
        )


USUAL: Final = Rules()


def check_rules(rules: Mapping[str, Rule]) -> None:
    """Raises: ValueError: a name is that of no oracle, or a threshold that of none of its thresholds."""
    for name, rule in rules.items():
        oracle, *number = name.split(":")
        if oracle not in ORACLES:
            raise ValueError(f"there is no rule {name!r}; {_meant(oracle, ORACLES)}")
        if number and oracle not in FAMILIES:
            raise ValueError(f"{name!r}: only {' and '.join(FAMILIES)} have a finding for each number")
        known = () if number else tuple(THRESHOLDS.get(oracle, ()))
        for threshold in rule.thresholds:
            if threshold not in known:
                raise ValueError(f"{name} has no threshold {threshold!r}; {_meant(threshold, known)}")


def _meant(name: str, known: Sequence[str]) -> str:
    near = nearest_name(name, known)
    return f"did you mean {near!r}?" if near else f"there are {', '.join(known) or 'none'}"
