"""Sockets of browsers and the run that each belongs to."""

from pathlib import Path
from typing import Any, cast

import pytest

from attract.errors import ProtocolError
from attract.games.library import GameLibrary
from attract.run.active import ActiveRun
from attract.run.membership import Membership
from attract.schema.messages import Goodbye, Hello
from fake_worker import host_hello


class Heard:
    """Stands for the hub, and for an active run's side of the browsers."""

    run_id = "run-1"

    def __init__(self) -> None:
        self.sent: list[tuple[int, str]] = []
        self.calls: list[tuple[str, int]] = []
        self.browsers = self
        self.active: Heard | None = None

    def send(self, connection_id: int, message: Any) -> None:
        self.sent.append((connection_id, message.type))

    def connected(self, connection_id: int, *_: object) -> None:
        self.calls.append(("connected", connection_id))

    def handle_message(self, connection_id: int, _: object) -> None:
        self.calls.append(("message", connection_id))

    def refused(self, connection_id: int, _: object) -> None:
        self.calls.append(("refused", connection_id))

    def disconnected(self, connection_id: int) -> None:
        self.calls.append(("disconnected", connection_id))

    @property
    def run(self) -> ActiveRun:
        return cast("ActiveRun", self)


def create(tmp_path: Path) -> tuple[Membership, Heard]:
    hub = Heard()
    membership = Membership(GameLibrary(tmp_path), lambda: cast("ActiveRun | None", hub.active))
    membership.hub = cast("Any", hub)
    return membership, hub


def test_a_host_waits_for_a_run_and_is_handed_over_once(tmp_path: Path):
    membership, hub = create(tmp_path)
    membership.connected(1, host_hello(), "local", "me")
    assert hub.sent == [(1, "welcome_host"), (1, "assignment")]
    run = Heard()
    membership.hand_over(run.run)
    membership.hand_over(run.run)
    assert run.calls == [("connected", 1)]
    after = Heard()
    membership.hand_over(after.run)
    assert after.calls == [("connected", 1)]


def test_a_worker_belongs_to_the_run_it_was_made_for(tmp_path: Path):
    membership, hub = create(tmp_path)
    run = hub.active = Heard()
    membership.connected(2, hello_for("run-1"), "local", "me")
    assert run.calls == [("connected", 2)]
    for hub.active in (None, run):
        with pytest.raises(ProtocolError, match="run run-2 is not active"):
            membership.connected(3, hello_for("run-2"), "local", "me")


def test_why_a_socket_is_closed_is_heard_by_its_run_alone(tmp_path: Path):
    membership, hub = create(tmp_path)
    run, after = Heard(), Heard()
    hub.active = run
    membership.connected(2, hello_for("run-1"), "local", "me")
    for hub.active in (None, after, run):
        membership.refused(2, ProtocolError("block.reward: nan"))
    assert run.calls == [("connected", 2), ("refused", 2)]
    assert after.calls == []


def test_what_comes_for_a_run_that_has_ended_is_dropped(tmp_path: Path):
    membership, hub = create(tmp_path)
    run, after = Heard(), Heard()
    hub.active = run
    membership.connected(2, hello_for("run-1"), "local", "me")
    message = Goodbye()
    membership.received(2, message)
    hub.active = after
    membership.received(2, message)
    membership.disconnected(2)
    hub.active = run
    membership.disconnected(2)
    assert run.calls == [("connected", 2), ("message", 2)] and after.calls == []


def hello_for(run_id: str) -> Hello:
    return host_hello().model_copy(update={"role": "worker", "run_id": run_id, "worker_key": "0" * 32})
