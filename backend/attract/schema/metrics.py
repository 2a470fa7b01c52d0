"""What metrics mean (`GET /api/metrics`), and the values of a run (`GET /api/runs/{id}/metrics`)."""

from typing import Any, Literal

from attract.schema.base import Count, FiniteModel, Name, Text, WireModel


class MetricNames(WireModel):
    """Server-sent event `metric_names`: the columns of the `metrics` events after it on this connection."""

    names: list[Name]
    """In the order of the values; sent before the first row, and again when a metric is new."""


class MetricRows(FiniteModel):
    """Server-sent event `metrics`: rows of one or more updates, oldest first."""

    rows: list[list[float | None]]
    """Each: update, agent steps, seconds, then the values in the order of the names, with 6 significant
    digits; None: the update has no such value, or it is not finite. A row may end before the last name."""


class WorkerChanges(WireModel):
    """A worker that is new or changed. Both numbers identify it on its host: id 0 may mean "none yet"."""

    worker_index: Count
    worker_id: Count
    facts: dict[str, Any]
    """The changed fields of `WorkerView`; all fields of a new one. `last_seen_seconds` is not compared."""


class HostChanges(WireModel):
    """A host that is new, or has changed, or has workers that did."""

    host_id: str
    facts: dict[str, Any]
    """The changed fields of `HostView` but `workers`; all of them for a new one."""
    workers: list[WorkerChanges]
    """New ones stand after the others."""
    gone: list[list[Count]]
    """Index and id of each worker that is no longer in the view."""


class FleetChanges(WireModel):
    """Server-sent event `fleet_changes`: what changed since the `fleet` event or the changes before it."""

    totals: dict[str, Any]
    """The changed fields of `FleetView` but `hosts`."""
    hosts: list[HostChanges]
    """New ones stand after the others."""
    gone: list[str]
    """Ids of the hosts that are no longer in the view."""


class MetricInfo(WireModel):
    """Meaning of one metric."""

    name: Name
    """As recorded. Of several policies or agents each has `name/part`, which means the same for that part."""
    title: Text
    help: Text
    """One or two sentences for someone who knows no reinforcement learning."""
    group: Name
    """Id of its group of charts."""
    unit: Text = ""
    """Such as `s`, `steps` or `nats`; empty: a plain number."""
    better: Literal["higher", "lower"] | None = None
    """The good direction; None: it depends."""
    is_log: bool = False
    """Whether a logarithmic axis shows it best."""
    is_shown: bool = True
    """False: another metric says the same and is charted."""
    chart: Name | None = None
    """The metric in whose chart this one is a further line; None: it has a chart of its own."""
    line: Text = ""
    """Its name beside other lines of one chart; empty: the title."""


class MetricFamily(WireModel):
    """Meaning of the metrics `name/...` that have no definition of their own, such as those of a game."""

    name: Name
    help: Text
    group: Name
    chart_title: Text | None = None
    """Title of the one chart that has a line for each of them; None: each has a chart of its own."""


class MetricGroup(WireModel):
    """A group of charts, in the order of a page."""

    id: Name
    title: Text
    is_open: bool
    """Whether it is unfolded at first."""


class MetricDefinitions(WireModel):
    """Body of `GET /api/metrics`. A name that no definition and no family has belongs to the last group."""

    groups: list[MetricGroup]
    families: list[MetricFamily]
    metrics: list[MetricInfo]
    """In the order of charts within a group."""


class ClockStart(WireModel):
    """The first update of a session of a run."""

    seconds: float
    """Since the start of the run."""
    unix_seconds: float


class MetricSeries(WireModel):
    """One metric, downsampled at the server to at most `max_points`."""

    name: Name
    at: list[Count] | None = None
    """Place of each value on the view's axis; None: they are all there, in order."""
    values: list[float]
    """Mean of each bucket."""
    low: list[float] | None = None
    """Smallest value of each bucket; None where no bucket has more than one."""
    high: list[float] | None = None


class MetricsView(WireModel):
    """Body of `GET /api/runs/{id}/metrics`."""

    run_id: Name
    names: list[Name]
    """All metric names of this run."""
    agent_steps: list[float]
    """The axis that all series share: of each bucket of updates, the mean."""
    seconds: list[float]
    """The same in seconds since the start of the run."""
    updates: list[float] = []
    """The same in updates."""
    episodes: list[float] = []
    """Episodes that had ended by then."""
    clock: list[ClockStart] = []
    """Each session of the run, in order."""
    last_steps: Count | None = None
    """Agent steps of the newest update that is part of it; None: there is none."""
    series: list[MetricSeries]

    def steps_of(self, name: str) -> list[float]:
        """Agent steps of each value of a series. Raises: StopIteration: when it is not there."""
        series = next(sery for sery in self.series if sery.name == name)
        return self.agent_steps if series.at is None else [self.agent_steps[index] for index in series.at]
