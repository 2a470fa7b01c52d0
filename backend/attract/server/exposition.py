"""The server's and the active run's numbers in Prometheus' text format: what `/metrics` answers."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

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
        yield from _server_metrics(self._server())
        health = self._health()
        if health is not None:
            yield from _run_metrics(health)

    def describe(self) -> list[Metric]:
        # Else registering would ask for every value, before there is anything to read.
        return []


def _server_metrics(server: ServerNumbers) -> Iterator[Metric]:
    info = GaugeMetricFamily("attract_info", "Always 1; labelled with the version.", labels=["version"])
    info.add_metric([__version__], 1)
    yield info
    yield _gauge("attract_sockets", "Open sockets after a valid hello.", server.sockets)
    yield _counter("attract_received_bytes_total", "Bytes of frames from browsers.", server.received_bytes)
    refused = CounterMetricFamily(
        "attract_sockets_refused_total",
        "Sockets refused or closed for what they sent, by close code.",
        labels=["code"],
    )
    for code, count in sorted(server.sockets_refused.items()):
        refused.add_metric([code], count)
    yield refused
    requests = CounterMetricFamily(
        "attract_http_refused_total",
        "Requests refused: no token (401), another origin (403), another name (421).",
        labels=["status"],
    )
    for status, count in sorted(server.http_refused.items()):
        requests.add_metric([str(status)], count)
    yield requests
    yield _gauge(
        "attract_event_loop_lag_seconds",
        "Maximum lag of the event loop in the last half minute.",
        server.loop_lag_seconds,
    )
    yield _counter(
        "attract_host_restarts_total",
        "Restarts of the headless browser of `attract train`.",
        server.host_restarts,
    )
    cpu = os.times()
    yield _counter(
        "attract_gateway_cpu_seconds_total", "User and system time of the gateway.", cpu.user + cpu.system
    )


def _run_metrics(health: RunHealth) -> Iterator[Metric]:
    """Each has the run's id as a label, so that a counter never continues in another run."""
    run = health.run_id
    counters, collection = health.counters, health.collection
    info = GaugeMetricFamily(
        "attract_run_info", "Always 1; labelled with the run and its game.", labels=["run", "game"]
    )
    info.add_metric([run, health.game], 1)
    yield info
    for name, text, count in (
        ("agent_steps", "Valid steps of committed updates (rule T4).", counters.agent_steps),
        ("collected_steps", "All received steps, including refused ones.", counters.collected_steps),
        ("updates", "Updates committed.", counters.updates),
        ("dropped_updates", "Updates reverted (rule P8).", health.updates_dropped),
        ("episodes", "Episodes that ended by themselves.", counters.episodes),
        ("leases_lapsed", "Leases whose worker did not answer in time.", collection.leases_lapsed),
        ("learner_restarts", "Restarts of the learner after a crash.", health.learner_restarts),
    ):
        yield _of_run(CounterMetricFamily, f"attract_{name}_total", text, run, count)
    yield _labelled(
        CounterMetricFamily,
        "attract_blocks_total",
        "Blocks of segments, by outcome.",
        run,
        ("verdict",),
        {("accepted",): collection.blocks_accepted, ("refused",): collection.blocks_refused},
    )
    for name, text, value in (
        ("policy_version", "The newest version that was announced.", health.policy_version),
        (
            "public_version_lag",
            "Trained versions that wait for the disk before they are announced.",
            collection.versions_unpublished,
        ),
        ("leases_open", "Leases that workers hold.", collection.leases_open),
        ("workers_expected", "Workers that the run waits for.", health.num_workers),
        ("disk_stalled", "1 while something waits for the disk.", health.disk_refuses),
        ("learner_up", "1 while there is a learner.", health.learner_is_alive),
    ):
        yield _of_run(GaugeMetricFamily, f"attract_{name}", text, run, value)
    if health.episode_return_mean is not None:
        yield _of_run(
            GaugeMetricFamily,
            "attract_episode_return_mean",
            "Mean return of the last 100 training episodes.",
            run,
            health.episode_return_mean,
        )
    yield _labelled(
        GaugeMetricFamily,
        "attract_hosts",
        "Connected browser pages.",
        run,
        ("tier",),
        {(tier,): count for tier, count in collection.hosts.items()},
    )
    yield _labelled(
        GaugeMetricFamily, "attract_workers", "Workers.", run, ("tier", "state"), dict(collection.workers)
    )
    yield _labelled(
        GaugeMetricFamily,
        "attract_store_rows",
        "Rows of the store of segments, by state.",
        run,
        ("state",),
        {(state,): count for state, count in collection.rows.items()},
    )
    yield _labelled(
        GaugeMetricFamily,
        "attract_run_state",
        "1 for the run's state, 0 for the others.",
        run,
        ("state",),
        {(state,): int(state == health.state) for state in RUN_STATES},
    )


Family = type[CounterMetricFamily] | type[GaugeMetricFamily]


def _of_run(family: Family, name: str, text: str, run: str, value: float) -> Metric:
    return _labelled(family, name, text, run, (), {(): value})


def _labelled(
    family: Family,
    name: str,
    text: str,
    run: str,
    labels: tuple[str, ...],
    values: Mapping[tuple[str, ...], float],
) -> Metric:
    made = family(name, text, labels=["run", *labels])
    for of, value in sorted(values.items()):
        made.add_metric([run, *of], value)
    return made


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)
