"""Bodies of a run's server-sent events that are packed for one connection."""

from typing import Any

from attract.schema.base import Count, FiniteModel, Name, WireModel


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
