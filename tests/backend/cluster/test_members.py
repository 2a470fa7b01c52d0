"""What members of a training do when processes end, are killed, are lost or move, without Ray."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from attract import __version__
from attract.cluster import member as member_module
from attract.cluster import training as training_module
from attract.cluster.engine import LOOPBACK
from attract.cluster.member import LOST, MAX_REFUSALS, MAX_RESTARTS, Line, Member
from attract.cluster.plan import ChildOrder, ClusterPlan, Place
from attract.cluster.training import Training
from attract.errors import ClusterError
from servers import free_port
from waiting import WAIT_SECONDS, until

OBEDIENT = """
import json, os, signal, sys
order = json.loads(sys.stdin.readline())
print(json.dumps(order), flush=True)
signal.signal(signal.SIGINT, lambda *_: (print("interrupted", flush=True), os._exit(130)))
for line in sys.stdin:
    verb, _, value = line.strip().partition(" ")
    if verb == "say":
        print(value, file=sys.stderr, flush=True)
    elif verb == "exit":
        os._exit(int(value))
"""
"""Prints its order, then does what its input says, until that ends."""
PLAN = ClusterPlan(
    game="cartpole",
    words=(),
    run_id="r",
    runs_dir="/runs",
    folder="/",
    environment={},
    hosts=2,
    workers=1,
    has_browsers=False,
    gpus=0,
    token="the-token-of-the-fleet",
)
ALONE = replace(PLAN, hosts=0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_module, "COMMAND", (sys.executable, "-c", OBEDIENT))
    monkeypatch.setattr(member_module, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(training_module, "TOGETHER_SECONDS", 0.1)
    monkeypatch.setattr(training_module, "PENDING_SECONDS", 0.02)


class Lines(asyncio.Queue[Any]):
    """Ray's queue in this process."""

    async def put_async(self, item: Any) -> None:
        self.put_nowait(item)

    async def get_async(self) -> Any:
        return await self.get()


class Actor:
    """An actor in this process; as Ray's, it repeats its calls on the next one when it is lost."""

    def __init__(self, kind: type, arguments: Sequence[Any], address: str, *, has_room: bool) -> None:
        self._kind = kind
        self._arguments = arguments[:-1]
        self.member: Member | None = None
        self.orders: list[dict[str, Any]] = []
        self.is_stopped = False
        self._place_it(address, is_again=False) if has_room else None
        self._lost = asyncio.Event()

    def _place_it(self, address: str, *, is_again: bool) -> None:
        self.member = self._kind(*self._arguments, lambda: (address, is_again))

    async def call(self, method: str, *arguments: Any, is_repeated: bool = True) -> Any:
        # As by Ray, calls that end something are given up where the actor is lost.
        assert is_repeated == (method not in ("stop", "signal"))
        while True:
            lost = asyncio.create_task(self._lost.wait())
            answer = asyncio.create_task(
                getattr(self.member, method)(*arguments) if self.member else asyncio.Event().wait()
            )
            try:
                await asyncio.wait([lost, answer], return_when=asyncio.FIRST_COMPLETED)
                if answer.done():
                    self.is_stopped |= method == "stop"
                    return answer.result()
            finally:
                lost.cancel()
                answer.cancel()

    async def lose(self, address: str) -> None:
        """Let its node be lost, and have it on another one."""
        former, lost = self.member, self._lost
        assert former is not None
        self._lost = asyncio.Event()
        self._place_it(address, is_again=True)
        lost.set()
        await former.stop()

    # --- its process ---

    def does(self, words: str) -> None:
        """Have its process do something."""
        assert self.member is not None and self.member._process is not None
        assert self.member._process.stdin is not None
        self.member._process.stdin.write(f"{words}\n".encode())

    def kill(self) -> None:
        assert self.member is not None and self.member._process is not None
        self.member._process.kill()


class Cluster:
    """A `RayCluster` of actors in this process, each on a node of its own."""

    is_local = True

    def __init__(self, *, has_room: bool) -> None:
        self._has_room = has_room
        self.actors: dict[str, Actor] = {}
        self.asked: list[Mapping[str, Any]] = []

    def queue(self) -> Lines:
        return Lines()

    def packed(self, bundles: Sequence[Mapping[str, float]]) -> dict[str, Any]:
        return {"bundles": bundles}

    def start(self, kind: type, plan: ClusterPlan, name: str, *arguments: Any, **options: Any) -> Actor:
        number = name.partition(" ")[2]
        address = f"10.0.1.{number}" if number else "10.0.0.0"
        self.asked.append(options)
        self.actors[name] = Actor(kind, (plan, name, *arguments), address, has_room=self._has_room)
        return self.actors[name]


class Running:
    """A training under way, with what was written; the orders of processes are kept apart."""

    def __init__(self, plan: ClusterPlan = PLAN, *, has_room: bool = True) -> None:
        self.plan = plan
        self.cluster = Cluster(has_room=has_room)
        self.written: list[Line] = []
        self.said: list[str] = []
        self.training = Training(plan, self.cluster, self._write)
        self.task = asyncio.ensure_future(self.training.run())

    def _write(self, line: Line) -> None:
        stream, text = line
        name, _, words = text.rpartition(": {") if stream == "cluster" else ("trainer", "", text[1:])
        if text.endswith("}"):
            self.cluster.actors[name].orders.append(json.loads("{" + words))
        elif stream == "cluster":
            self.said.append(text)
        else:
            self.written.append(line)

    async def code(self) -> int:
        return await asyncio.wait_for(self.task, WAIT_SECONDS)

    async def started(self, name: str, count: int = 1) -> dict[str, Any]:
        """The order of a member's process, once it has begun so many."""
        actors = self.cluster.actors
        await until(
            lambda: self.task.done() or (name in actors and len(actors[name].orders) == count), WAIT_SECONDS
        )
        assert not self.task.done()
        return actors[name].orders[-1]

    async def all_started(self) -> None:
        await until(lambda: len(self.cluster.asked) == 1 + self.plan.hosts, WAIT_SECONDS)
        for name in self.cluster.actors:
            await self.started(name)

    def __getitem__(self, name: str) -> Actor:
        return self.cluster.actors[name]


async def test_the_trainer_is_heard_and_its_exit_code_is_that_of_all():
    running = Running()
    await running.all_started()
    running["trainer"].does("say update 1")
    running["host 1"].does("say joined")
    await until(lambda: len(running.said) == 4 and bool(running.written), WAIT_SECONDS)
    running["trainer"].does("exit 3")
    assert await running.code() == 3
    assert running.written == [("stderr", "update 1")]
    assert {"host 1: joined", "host 1 is on 10.0.1.1"} <= set(running.said)
    assert all(actor.is_stopped for actor in running.cluster.actors.values())
    port = (await running["trainer"].call("place")).port
    for number in (0, 1):
        link = running[f"host {number}"].orders[0]["stdin"]
        assert link.startswith(f"http://10.0.0.0:{port}/join")
    assert running.cluster.asked == [
        {"bundles": PLAN.bundles()},
        *[{"scheduling_strategy": "SPREAD", "num_cpus": 1}] * 2,
    ]


async def test_a_trainer_that_is_killed_goes_on_at_its_address_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The usual port may be another test's by then.
    monkeypatch.setattr(ClusterPlan, "first_port", free_port())
    running = Running(ALONE)
    assert "--resume-auto" not in (await running.started("trainer"))["words"]
    place = await running["trainer"].call("place")
    for count in range(MAX_RESTARTS):
        running["trainer"].kill()
        assert "--resume-auto" in (await running.started("trainer", count + 2))["words"]
    assert await running["trainer"].call("place") == place
    assert "trainer was killed by SIGKILL; it goes on" in running.said
    running["trainer"].kill()
    with pytest.raises(ClusterError, match="trainer was killed by SIGKILL, 4 times"):
        await running.code()


async def test_where_the_trainer_moves_its_hosts_follow_it():
    running = Running()
    await running.all_started()
    await running["trainer"].lose("10.0.0.9")
    assert "--resume-auto" in (await running.started("trainer", 2))["words"]
    for name in ("host 0", "host 1"):
        assert (await running.started(name, 2))["stdin"].startswith("http://10.0.0.9:")
    assert {LOST, "trainer is on 10.0.0.9"} <= set(running.said)
    running["trainer"].does("exit 0")
    assert await running.code() == 0


async def test_a_host_that_is_lost_joins_anew_from_where_it_is_placed():
    running = Running()
    await running.all_started()
    await running["host 0"].lose("10.0.1.9")
    assert (await running.started("host 0", 2))["stdin"] == running["host 0"].orders[0]["stdin"]
    assert "host 0 is on 10.0.1.9" in running.said
    running["trainer"].does("exit 0")
    assert await running.code() == 0


async def test_a_call_that_is_repeated_starts_nothing_twice():
    running = Running(ALONE)
    await running.started("trainer")
    again = asyncio.create_task(running["trainer"].call("run", None, None))
    running["trainer"].does("exit 3")
    assert (await again, await running.code()) == (3, 3)
    assert len(running["trainer"].orders) == 1


async def test_a_host_that_is_never_let_in_ends_all():
    running = Running()
    await running.all_started()
    for count in range(MAX_REFUSALS):
        running["host 1"].does("exit 2")
        await running.started("host 1", count + 2)
    running["host 1"].does("exit 2")
    with pytest.raises(ClusterError, match="host 1 ended with exit code 2, 6 times"):
        await running.code()
    assert running["trainer"].is_stopped


async def test_an_end_that_is_asked_for_is_the_trainer_s_to_make():
    running = Running()
    await running.all_started()
    await running.training.end(130)
    assert await running.code() == 130
    assert running.written == [("stdout", "interrupted")]


async def test_an_end_that_was_asked_for_is_one_where_the_node_is_lost_before_it():
    running = Running(ALONE)
    await running.started("trainer")
    running.training._ending = 143
    await running["trainer"].lose("10.0.0.9")
    assert await running.code() == 143


async def test_what_waits_for_a_node_says_so_and_ends_when_it_is_asked_to():
    running = Running(ALONE, has_room=False)
    await until(lambda: bool(running.said), WAIT_SECONDS)
    assert running.said == [
        "trainer waits for a node with enough free resources: `ray status` shows the requests"
    ]
    await running.training.end(143)
    assert await running.code() == 143


class OneMember(Member):
    """A member that runs one given order."""

    def __init__(self, order: ChildOrder, lines: Lines) -> None:
        super().__init__(OneOrder(order), "trainer", lambda: (LOOPBACK, False))
        self._all_lines = lines

    async def run(self) -> int | str:
        return await super().run(None, self._all_lines)


class OneOrder:
    """A plan of one order."""

    folder, port, first_port = "/", None, 0

    def __init__(self, order: ChildOrder) -> None:
        self._order = order

    def trainer(self, *_arguments: Any, **_options: Any) -> ChildOrder:
        return self._order


@pytest.fixture
def attract(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Member, Lines]]:
    """A member that runs words as the real command."""
    monkeypatch.setattr(member_module, "COMMAND", (sys.executable, "-m", "attract.cluster.child"))

    def run(*words: str, stdin: str = "") -> tuple[Member, Lines]:
        lines = Lines()
        return OneMember(ChildOrder(words, {}, stdin), lines), lines

    return run


async def test_what_a_command_writes_is_handed_on_with_its_exit_code(
    attract: Callable[..., tuple[Member, Lines]],
) -> None:
    member, lines = attract("--version")
    assert await member.run() == 0
    assert [lines.get_nowait() for _ in range(2)][1] == ("stdout", __version__)
    assert not await member.signal(signal.SIGINT)
    member, lines = attract("join", "-", stdin="nowhere\n")
    assert await member.run() == 2
    assert [lines.get_nowait() for _ in range(2)][1] == (
        "stderr",
        "error: URL: 'nowhere' is not an http address",
    )


async def test_a_command_hears_ctrl_c_though_its_actor_does_not(
    attract: Callable[..., tuple[Member, Lines]],
) -> None:
    """Ray's workers block SIGINT, and what they start inherits that."""
    member, lines = attract("join", "-", "--until-gone", "100", stdin="http://127.0.0.1:9/#token=t\n")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        running = asyncio.create_task(member.run())
        assert (await lines.get())[0] == "cluster"
        assert "trainer away, waiting" in (await lines.get())[1]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert await member.signal(signal.SIGINT)
    assert await asyncio.wait_for(running, WAIT_SECONDS) == 130


async def test_what_takes_too_long_to_end_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(member_module, "END_SECONDS", 0.1)
    lines = Lines()
    member = OneMember(ChildOrder((), {}), lines)
    running = asyncio.create_task(member.run())
    await lines.get()
    await lines.get()
    process = member._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    await member.stop()
    assert await asyncio.wait_for(process.wait(), WAIT_SECONDS) == -signal.SIGKILL
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_port_is_the_one_that_was_had_where_it_is_free():
    member = OneMember(ChildOrder((), {}), Lines())
    place = await member.place()
    assert place.address == LOOPBACK and member._free_place(place.port) == place
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        assert member._free_place(busy).port != busy
    asked = Member(replace(PLAN, port=9000), "trainer", lambda: ("10.0.0.7", False))
    assert await asked.place() == Place("10.0.0.7", 9000)
