"""The difference between two views of the fleet, so that a page does not hear all of it every second."""

from collections.abc import Iterable, Mapping
from typing import Any

from attract.schema.metrics import FleetChanges, HostChanges, WorkerChanges

View = Mapping[str, Any]
"""A `FleetView`, a `HostView` or a `WorkerView` as plain JSON."""
_UNCOMPARED = ("hosts", "workers", "last_seen_seconds")
_SPEED_DIGITS = 4
"""Significant digits of a speed: no page shows more, and the others change every second."""


def fleet_changes(before: View, after: View) -> FleetChanges | None:
    """What turns `before` into `after`, `last_seen_seconds` aside.

    None: changes cannot express it, since hosts or workers stand in another order, or two have the same ids.
    """
    old_hosts, new_hosts = _by_host(before), _by_host(after)
    hosts = [_host_changes(host_id, old_hosts.get(host_id, {}), host) for host_id, host in new_hosts.items()]
    if not _can_append(before["hosts"], old_hosts, after["hosts"], new_hosts) or None in hosts:
        return None
    return FleetChanges(
        totals=_facts(before, after),
        hosts=[host for host in hosts if host and (host.facts or host.workers or host.gone)],
        gone=[host_id for host_id in old_hosts if host_id not in new_hosts],
    )


def _host_changes(host_id: str, before: View, after: View) -> HostChanges | None:
    old_workers, new_workers = _by_worker(before), _by_worker(after)
    if not _can_append(before.get("workers", ()), old_workers, after["workers"], new_workers):
        return None
    workers = [
        WorkerChanges(worker_index=key[0], worker_id=key[1], facts=facts)
        for key, worker in new_workers.items()
        if (facts := _facts(old_workers.get(key, {}), worker))
    ]
    gone = [list(key) for key in old_workers if key not in new_workers]
    return HostChanges(host_id=host_id, facts=_facts(before, after), workers=workers, gone=gone)


def _by_host(fleet: View) -> dict[str, View]:
    return {host["host_id"]: host for host in fleet["hosts"]}


def _by_worker(host: View) -> dict[tuple[int, int], View]:
    return {(worker["worker_index"], worker["worker_id"]): worker for worker in host.get("workers", ())}


def _can_append(old_views: Any, old: Mapping[Any, View], views: Any, new: Mapping[Any, View]) -> bool:
    """Whether each has its own key, and those that stay come first, in the order that they had."""
    appended: Iterable[Any] = [*(key for key in old if key in new), *(key for key in new if key not in old)]
    return len(old) == len(old_views) and len(new) == len(views) and list(appended) == list(new)


def _facts(before: View, after: View) -> dict[str, Any]:
    """The fields of `after` that `before` has not, or otherwise. All of them if `before` is empty."""
    return {
        name: _short(value)
        for name, value in after.items()
        if name not in ("hosts", "workers")
        and (not before or (name not in _UNCOMPARED and _short(before[name]) != _short(value)))
    }


def _short(value: Any) -> Any:
    return float(f"{value:.{_SPEED_DIGITS}g}") if isinstance(value, float) else value
