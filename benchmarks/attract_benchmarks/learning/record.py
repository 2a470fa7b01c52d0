"""The record of finished runs: a JSON file beside the table, so that a run is done once."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from attract_benchmarks.learning.plan import Run


@dataclass(frozen=True)
class Finding:
    """A finding of the doctor for learning that held when a run ended."""

    finding: str
    agent_steps: int
    """When it was first seen."""
    setting: str | None
    """Its advice."""


@dataclass(frozen=True)
class Row:
    """Result of one finished run."""

    steps: int
    """Agent steps asked for; with `flags` they decide whether the run counts as the same."""
    flags: list[str]
    agent_steps: int
    """Trained on, at least `steps`."""
    wall_seconds: float
    """From the first lease to the last update; for the baseline, the CPU seconds of `learn` alone."""
    return_mean: float
    """Mean of the evaluation's episodes, each played to its end; against an opponent the share won."""
    return_std: float
    episodes: int
    steps_per_second: float
    findings: list[Finding] = field(default_factory=list[Finding])
    code: str = ""
    """The state of the code that made it; empty where that was not kept."""

    @property
    def standard_error(self) -> float:
        """Standard error of `return_mean`: by how much the mean of other episodes would differ."""
        return self.return_std / math.sqrt(self.episodes)


class Record:
    """Finished runs by key; owned by the command, written whole after each run."""

    def __init__(self, path: Path) -> None:
        """Reads what is there. Raises: ValueError: when the file is no record."""
        self._path = path
        self._rows: dict[str, Row] = {}
        self.machine = ""
        if path.exists():
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            self._rows = {key: _row(row) for key, row in data["rows"].items()}
            self.machine = data["machine"]

    def get(self, run: Run) -> Row | None:
        """What the run gave, unless it is not done or was done with other steps or flags, or was judged by
        fewer episodes.
        """
        row = self._rows.get(run.key)
        if row is None or row.episodes < run.episodes:
            return None
        return row if row.steps == run.steps and row.flags == list(run.flags) else None

    def put(self, run: Run, row: Row, machine: str) -> None:
        """Keep the run's row, on disk when this returns."""
        self._rows[run.key] = row
        self.machine = machine
        data = {
            "machine": machine,
            "rows": {key: asdict(self._rows[key]) for key in sorted(self._rows)},
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(self._path.name + ".new")
        temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        temporary.replace(self._path)


def _row(values: dict[str, Any]) -> Row:
    known: dict[str, Any] = {"findings": [], **values}
    known["findings"] = [Finding(**said) for said in known["findings"]]
    return Row(**known)
