"""The server's and the active run's numbers in Prometheus' text format: what `/metrics` answers."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from attract import __version__
from attract.run.health import RunHealth
from attract.schema.api import MetricsRow
from attract.schema.base import WireModel

CONTENT_TYPE = CONTENT_TYPE_LATEST
RUN_STATES = ("starting", "running", "paused", "evaluating", "finished", "stopped", "failed")
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
DURATIONS = {
    "time/update_seconds": ("attract_update_seconds", "The learner's time for one update."),
    "time/idle_seconds": (
        "attract_learner_idle_seconds",
        "Time that the learner waited for a batch.",
    ),
    "time/checkpoint_seconds": (
        "attract_checkpoint_seconds",
        "Time to write one version's checkpoint.",
    ),
    "time/federated_seconds": (
        "attract_allreduce_seconds",
        "Time of one averaging round with other trainers.",
    ),
}
"""Metric of an update's row to the histogram that counts it: one observation an update, none a segment."""


@dataclass(frozen=True)
class ServerNumbers:
    """Snapshot of the server's own counters; codes are the close codes of refused sockets."""

    sockets: int
    received_bytes: int
    sockets_refused: Mapping[str, int]
    http_refused: Mapping[int, int]
    """Requests turned away before any route, by HTTP status."""
    loop_lag_seconds: float
    host_restarts: int
    """Times that the headless browser of `attract train` was started again."""


Numbers = float | Mapping[Any, float] | None
"""A value, or values by label or labels; None: there is none now."""
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class _Row(Generic[Kept]):
    """A gauge, or a counter if its name ends with `_total`."""

    name: str
    text: str
    read: Callable[[Kept], Numbers]
    labels: tuple[str, ...] = ()

    def metrics(self, kept: Kept, of: Mapping[str, str]) -> Iterator[Metric]:
        """The metric of what is kept now, with the labels `of` before its own; none where it has no value."""
        numbers = self.read(kept)
        if numbers is None:
            return
        family = CounterMetricFamily if self.name.endswith("_total") else GaugeMetricFamily
        metric = family(self.name, self.text, labels=(*of, *self.labels))
        values = numbers if isinstance(numbers, Mapping) else {(): numbers}
        for labels, value in sorted(values.items()):
            metric.add_metric((*of.values(), *(labels if isinstance(labels, tuple) else (labels,))), value)
        yield metric


SERVER: Final[tuple[_Row[ServerNumbers], ...]] = (
    _Row("attract_info", "Always 1; labelled with the version.", lambda _: {__version__: 1}, ("version",)),
    _Row("attract_sockets", "Open sockets after a valid hello.", lambda of: of.sockets),
    _Row("attract_received_bytes_total", "Bytes of frames from browsers.", lambda of: of.received_bytes),
    _Row(
        "attract_sockets_refused_total",
        "Sockets refused or closed for what they sent, by close code.",
        lambda of: of.sockets_refused,
        ("code",),
    ),
    _Row(
        "attract_http_refused_total",
        "Requests refused: no token (401), another origin (403), another name (421).",
        lambda of: {str(status): count for status, count in of.http_refused.items()},
        ("status",),
    ),
    _Row(
        "attract_event_loop_lag_seconds",
        "Maximum lag of the event loop in the last half minute.",
        lambda of: of.loop_lag_seconds,
    ),
    _Row(
        "attract_host_restarts_total",
        "Restarts of the headless browser of `attract train`.",
        lambda of: of.host_restarts,
    ),
    _Row(
        "attract_gateway_cpu_seconds_total",
        "User and system time of the gateway.",
        lambda _: sum(os.times()[:2]),
    ),
)
RUN: Final[tuple[_Row[RunHealth], ...]] = (
    _Row(
        "attract_run_info",
        "Always 1; labelled with the run and its game.",
        lambda run: {run.game: 1},
        ("game",),
    ),
    _Row(
        "attract_agent_steps_total",
        "Valid steps of committed updates (rule T4).",
        lambda run: run.counters.agent_steps,
    ),
    _Row(
        "attract_collected_steps_total",
        "All received steps, including refused ones.",
        lambda run: run.counters.collected_steps,
    ),
    _Row("attract_updates_total", "Updates committed.", lambda run: run.counters.updates),
    _Row("attract_dropped_updates_total", "Updates reverted (rule P8).", lambda run: run.updates_dropped),
    _Row("attract_episodes_total", "Episodes that ended by themselves.", lambda run: run.counters.episodes),
    _Row(
        "attract_leases_lapsed_total",
        "Leases whose worker did not answer in time.",
        lambda run: run.collection.leases_lapsed,
    ),
    _Row(
        "attract_learner_restarts_total",
        "Restarts of the learner after a crash.",
        lambda run: run.learner_restarts,
    ),
    _Row(
        "attract_blocks_total",
        "Blocks of segments, by outcome.",
        lambda run: {"accepted": run.collection.blocks_accepted, "refused": run.collection.blocks_refused},
        ("verdict",),
    ),
    _Row("attract_policy_version", "The newest version that was announced.", lambda run: run.policy_version),
    _Row(
        "attract_public_version_lag",
        "Trained versions that wait for the disk before they are announced.",
        lambda run: run.collection.versions_unpublished,
    ),
    _Row("attract_leases_open", "Leases that workers hold.", lambda run: run.collection.leases_open),
    _Row("attract_workers_expected", "Workers that the run waits for.", lambda run: run.num_workers),
    _Row("attract_disk_stalled", "1 while something waits for the disk.", lambda run: run.disk_refuses),
    _Row("attract_learner_up", "1 while there is a learner.", lambda run: run.learner_is_alive),
    _Row(
        "attract_episode_return_mean",
        "Mean return of the last 100 training episodes.",
        lambda run: run.episode_return_mean,
    ),
    _Row("attract_hosts", "Connected browser pages.", lambda run: run.collection.hosts, ("tier",)),
    _Row("attract_workers", "Workers.", lambda run: run.collection.workers, ("tier", "state")),
    _Row(
        "attract_store_rows",
        "Rows of the store of segments, by state.",
        lambda run: run.collection.rows,
        ("state",),
    ),
    _Row(
        "attract_run_state",
        "1 for the run's state, 0 for the others.",
        lambda run: {state: state == run.state for state in RUN_STATES},
        ("state",),
    ),
)
"""Each has the run's id as a label, so that a counter never continues in another run."""


class Exposition:
    """Answers `/metrics` from state that others own; owned by the app, used on its event loop.

    It has a registry of its own: nothing is shared with other apps of the process. `observe` listens to the
    run service's events.
    """

    def __init__(self, server: Callable[[], ServerNumbers], health: Callable[[], RunHealth | None]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_StandingCollector(server, health))
        self._durations = {
            metric: Histogram(name, text, buckets=BUCKETS, registry=self._registry)
            for metric, (name, text) in DURATIONS.items()
        }

    def observe(self, _kind: str, body: WireModel) -> None:
        """One event of the active run; rows of metrics go into the histograms."""
        if isinstance(body, MetricsRow):
            for metric, histogram in self._durations.items():
                value = body.values.get(metric)
                if value is not None:
                    histogram.observe(value)

    def text(self) -> bytes:
        """Everything now, as `CONTENT_TYPE`."""
        return generate_latest(self._registry)


class _StandingCollector(Collector):
    """Reads current values at each scrape."""

    def __init__(self, server: Callable[[], ServerNumbers], health: Callable[[], RunHealth | None]) -> None:
        self._server = server
        self._health = health

    @override
    def collect(self) -> Iterator[Metric]:
        server, run = self._server(), self._health()
        for row in SERVER:
            yield from row.metrics(server, {})
        if run is not None:
            for row in RUN:
                yield from row.metrics(run, {"run": run.run_id})

    def describe(self) -> list[Metric]:
        # Else registering would ask for every value, before there is anything to read.
        return []
