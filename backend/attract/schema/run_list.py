"""The list of runs in the HTTP API and in `attract runs --json`: rows, labels, and changes of them."""

from typing import Annotated

from pydantic import Field

from attract.schema.api import RunSummary
from attract.schema.base import Count, FiniteModel, Name, Seconds, Text, WireModel


class VersionEvaluation(WireModel):
    """Result of an evaluation of a version."""

    deterministic: bool
    return_mean: float
    return_std: float | None


class VersionView(FiniteModel):
    """One version whose checkpoint is there."""

    policy_version: Count
    update: Count
    agent_steps: Count
    seconds: Seconds
    """Run time when it was made."""
    return_mean: float | None
    """Mean training return at that time; None: no episode had ended yet."""
    evaluations: list[VersionEvaluation] = []
    best: bool = False
    exported: bool = False
    """Its models are in the run's `export/`."""
    newest: bool = False


class VersionsView(WireModel):
    """Body of `GET /api/runs/{id}/versions`; `policy/{version}.onnx` gives the models of each."""

    run_id: Name
    versions: list[VersionView]
    """Ascending."""


SettingValue = None | bool | int | float | str
"""A setting in a row: lists are texts with commas, mappings are JSON."""
RunName = Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]
Note = Annotated[str, Field(max_length=4_000)]
Tag = Annotated[str, Field(max_length=40, pattern=r'^[^\s",\x00-\x1f\x7f]+$')]
Tags = Annotated[list[Tag], Field(max_length=20)]


class RunLabels(FiniteModel):
    """What a person notes about a run, and the content of its `labels.json`."""

    name: RunName = ""
    """Shown in place of the game's title; empty: none."""
    note: Note = ""
    tags: Tags = []
    starred: bool = False
    archived: bool = False
    """Left out of the list unless the query asks for it."""


class EditLabels(FiniteModel):
    """Body of `PATCH /api/runs/{id}`: what changes; what is left out stays."""

    name: RunName | None = None
    note: Note | None = None
    tags: Tags | None = None
    starred: bool | None = None
    archived: bool | None = None


class RunRow(RunLabels, RunSummary):
    """One row of `GET /api/runs`."""

    is_deleted: bool = False
    """It is in the trash, and `run_id` is its id there: `POST /api/trash/{run_id}/restore` brings it back."""
    preset: Text | None = None
    progress: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of `total_steps`; None: the run has no limit of steps."""
    return_best: float | None = None
    """Largest mean return of an update; `episode_return_mean` is the last one."""
    return_eval: float | None = None
    """Mean return of the last evaluation."""
    sparkline: list[float] = []
    """Mean return over the run, at most 60 points at equal numbers of updates."""
    settings: dict[Name, SettingValue] = {}
    """The settings in `RunList.settings`, and those in `changed`, by path."""
    changed: list[Name] = []
    """Paths of the settings that differ from the game's own settings of today."""
    metrics: dict[Name, float] = {}
    """The last value of each metric that was asked for by `metrics`."""


class RunList(FiniteModel):
    """Body of `GET /api/runs` and of `attract runs --json`."""

    runs: list[RunRow]
    num_found: Count
    """Runs that match the query, on all pages."""
    num_hidden: Count
    """Runs that match it and are left out: archived, or ended without an update."""
    num_unread: Count = 0
    """Runs that were not read yet, so that the answer comes at once; the next request reads more."""
    next: Text | None = None
    """`after` of the next page; None: this is the last one."""
    settings: list[Name]
    """Paths of the settings that differ among the runs found, in the order of the form."""
    metrics: list[Name] = []
    """Names of the metrics that some of the runs found have."""


class DeletedRun(FiniteModel):
    """Answer to `DELETE /api/runs/{id}`, and to `DELETE /api/trash/{trash_id}`, which cannot be undone."""

    run_id: Name
    trash_id: Text
    """Its folder in the trash; `POST /api/trash/{trash_id}/restore` undoes the deletion."""
