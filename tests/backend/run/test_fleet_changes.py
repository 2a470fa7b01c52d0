"""Changes say all that differs, and nothing else; what they cannot say is sent whole."""

import copy
import random
from typing import Any

from attract.run.fleet_changes import fleet_changes
from attract.schema.api import FleetView, HostView, WorkerView


def worker(index: int, worker_id: int, **facts: Any) -> WorkerView:
    whole = {
        "worker_id": worker_id,
        "host_id": "h",
        "worker_index": index,
        "state": "playing",
        "num_instances": 8,
        "lease_id": None,
        "policy_version": 1,
        "steps_per_second": 100.0,
        "collected_steps": 0,
        "episodes": 0,
        "last_seen_seconds": 0.1,
        **facts,
    }
    return WorkerView.model_validate(whole)


def host(host_id: str, *workers: WorkerView, hidden: bool = False) -> HostView:
    return HostView(host_id=host_id, tier="local", user_agent="x", hidden=hidden, workers=list(workers))


def fleet(*hosts: HostView, speed: float = 1.0) -> dict[str, Any]:
    view = FleetView(
        hosts=list(hosts), steps_per_second=speed, leases_open=0, leases_lapsed=0, blocks_refused=0
    )
    return view.model_dump(mode="json")


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    found = fleet_changes(before, after)
    assert found is not None
    return found.model_dump()


def applied(fleet: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """As a client does it."""
    fleet = copy.deepcopy({**fleet, **changes["totals"]})
    fleet["hosts"] = [host for host in fleet["hosts"] if host["host_id"] not in changes["gone"]]
    for change in changes["hosts"]:
        known = [host for host in fleet["hosts"] if host["host_id"] == change["host_id"]]
        if not known:
            known = [{"workers": []}]
            fleet["hosts"] += known
        workers = {(worker["worker_index"], worker["worker_id"]): worker for worker in known[0]["workers"]}
        for index, worker_id in change["gone"]:
            del workers[index, worker_id]
        for worker in change["workers"]:
            key = worker["worker_index"], worker["worker_id"]
            workers[key] = {**workers.get(key, {}), **worker["facts"]}
        known[0] |= change["facts"] | {"workers": list(workers.values())}
    return fleet


def test_only_changed_fields_of_changed_workers_are_named():
    before = fleet(host("a", worker(0, 1), worker(1, 2)), host("b", worker(0, 3)))
    after = fleet(
        host("a", worker(0, 1), worker(1, 2, episodes=5, last_seen_seconds=9.0)),
        host("b", worker(0, 3, last_seen_seconds=9.0), hidden=True),
        speed=2.0,
    )
    assert changes(before, after) == {
        "totals": {"steps_per_second": 2.0},
        "hosts": [
            {
                "host_id": "a",
                "facts": {},
                "workers": [{"worker_index": 1, "worker_id": 2, "facts": {"episodes": 5}}],
                "gone": [],
            },
            {"host_id": "b", "facts": {"hidden": True}, "workers": [], "gone": []},
        ],
        "gone": [],
    }


def test_a_speed_has_four_digits_and_a_change_below_them_is_none():
    before = fleet(host("a", worker(0, 1, steps_per_second=1234.6)))
    nearly = fleet(host("a", worker(0, 1, steps_per_second=1234.8)))
    assert not changes(before, nearly)["hosts"]
    other = fleet(host("a", worker(0, 1, steps_per_second=1237.56)))
    assert changes(before, other)["hosts"][0]["workers"][0]["facts"] == {"steps_per_second": 1238.0}


def test_workers_and_hosts_come_and_go():
    before = fleet(host("a", worker(0, 0), worker(1, 2)), host("b", worker(0, 3)))
    after = fleet(host("b", worker(0, 3), worker(1, 7)), host("c", worker(0, 0)))
    found = changes(before, after)
    assert found["gone"] == ["a"]
    assert [entry["host_id"] for entry in found["hosts"]] == ["b", "c"]
    assert applied(before, found) == after
    admitted = fleet(host("a", worker(1, 2), worker(0, 8)), host("b", worker(0, 3)))
    found = changes(before, admitted)
    assert found["hosts"][0]["gone"] == [[0, 0]]
    assert applied(before, found) == admitted


def test_what_changes_cannot_say_is_none():
    one = fleet(host("a", worker(0, 1), worker(1, 2)), host("b"))
    # Another order of hosts, of workers; two that are alike, before and after.
    assert fleet_changes(one, fleet(host("b"), host("a", worker(0, 1), worker(1, 2)))) is None
    assert fleet_changes(one, fleet(host("a", worker(1, 2), worker(0, 1)), host("b"))) is None
    assert fleet_changes(fleet(host("c"), host("b")), fleet(host("a"), host("c"))) is None
    alike = fleet(host("a", worker(0, 0), worker(0, 0)), host("b"))
    assert fleet_changes(one, alike) is None
    assert fleet_changes(alike, one) is None


def test_any_two_views_differ_by_what_their_changes_say():
    rng = random.Random(7)

    def drawn() -> dict[str, Any]:
        hosts = [
            host(
                name,
                *(
                    worker(index, 10 * place + index, episodes=rng.randrange(3))
                    for index in range(4)
                    if rng.random() < 0.6
                ),
                hidden=rng.random() < 0.5,
            )
            for place, name in enumerate("abcd")
            if rng.random() < 0.6
        ]
        return fleet(*hosts, speed=float(rng.randrange(3)))

    said = 0
    for _ in range(300):
        before, after = drawn(), drawn()
        found = fleet_changes(before, after)
        if found is not None:
            said += 1
            assert applied(before, found.model_dump()) == after
    assert said > 20
