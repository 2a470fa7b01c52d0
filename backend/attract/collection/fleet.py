"""Hosts and workers: who is here, with which ids, and what each was told."""

import math
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from attract.collection.leases import GRACE_SECONDS, Lease
from attract.collection.trust.verdict import Conduct
from attract.schema.api import FleetView, GameReport, HostView, WorkerView
from attract.schema.base import Tier
from attract.schema.messages import Hello

GONE_SHOWN_SECONDS: Final = 30.0
"""How long a worker that left is still shown."""
MAX_GONE: Final = 256
"""How many workers, and hosts, that left are remembered: the last ones. One token can bring thousands."""
MAX_IDLE_SHOWN: Final = 32
"""How many pages without workers are shown: one token can bring a thousand, and each update looks."""
SPEED_WEIGHT: Final = 0.3
"""Weight of the newest lease in a worker's measured speed."""


class DecayedRate:
    """Events per second, the last `horizon_seconds` weighing most."""

    def __init__(self, horizon_seconds: float = 5.0) -> None:
        self._horizon = horizon_seconds
        self._weight = 0.0
        self._at = 0.0
        self._since: float | None = None

    def add(self, count: float, now: float) -> None:
        """`count` events, spread over the time since the last call; the first call only starts the clock."""
        if self._since is None:
            self._since = self._at = now
            return
        passed = (now - self._at) / self._horizon
        # What came long ago has faded already: exp(-age / horizon), averaged over the time that passed.
        kept = -math.expm1(-passed) / passed if passed > 0 else 1.0
        self._weight = self._decayed(now) + kept * count
        self._at = now

    def per_second(self, now: float) -> float:
        """The rate now; falls towards 0 when nothing is added."""
        if self._since is None or now <= self._since:
            return 0.0
        covered = self._horizon * (1.0 - math.exp(-(now - self._since) / self._horizon))
        return self._decayed(now) / covered

    def _decayed(self, now: float) -> float:
        return self._weight * math.exp(-(now - self._at) / self._horizon)


@dataclass(eq=False)
class Host:
    """One browser page; `order` is that of its first connection."""

    host_id: str
    order: int
    tier: Tier = "invited"
    identity: str = ""
    """Who stands behind it, as the server knows: what a page says of itself is not part of it."""
    connection_id: int | None = None
    user_agent: str = ""
    max_workers: int = 0
    hidden: bool = False


@dataclass(eq=False)
class Worker:
    """One rollout worker's life, over any number of sockets with the same key."""

    worker_key: str
    host: Host
    worker_index: int
    tier: Tier
    connection_id: int | None
    last_seen: float
    host_identity: str = ""
    """Identity of the socket that it came on: as `Host.identity`."""
    worker_id: int = -1
    """Issued when it is admitted; -1 before."""
    instance_ids: range = range(0)
    disconnected_at: float | None = None
    silent: bool = False
    """A lease of it lapsed in silence: nothing more is asked of it until it is heard. Set by the fleet."""
    broken: bool = False
    """Its game or its session failed: its host will end it. Set by the fleet."""
    benched: bool = False
    """Its identity is suspended. Set by the fleet."""
    has_played: bool = False
    """Whether a block of it was ever accepted, or refused for its age alone. Set by the fleet."""
    deflates: bool = False
    """Whether its newest block had deflated pictures."""
    owed: int = 0
    """Central inference: acts that it has not answered; with none it waits for the server."""
    sent_version: int | None = None
    """The newest version with every policy sent: a lease may name it."""
    sending_version: int | None = None
    """The version that was sent last, of some policies at least."""
    unsent: deque[str] = field(default_factory=deque[str])
    """Policies of that version that wait for the acknowledgement of the one before."""
    acknowledged: bool = True
    """Whether it has acknowledged everything it was sent, and nothing waits to be sent."""
    policy_sent_at: float = 0.0
    leases: list[Lease] = field(default_factory=list[Lease])
    """Open leases in the order they will be played; the first is in play."""
    opponents_sent: frozenset[tuple[str, int]] = frozenset()
    """Id and version of the opponents that its newest lease names: it keeps them until the next one's end."""
    steps_with_seats: int = 0
    """Steps that each of its games is asked for with the players that its newest training lease has."""
    voided: deque[int] = field(default_factory=lambda: deque[int](maxlen=8))
    """Ids of its newest lapsed leases: what told it so may have been lost with its socket."""
    steps_per_second: float | None = None
    """Measured over whole leases, smoothed (rule C4)."""
    rate: DecayedRate = field(default_factory=DecayedRate)
    collected_steps: int = 0
    episodes: int = 0
    away: bool = False
    """Its socket closed and it did not come back in time."""
    last_report: GameReport | None = None
    failures: int = 0
    """Times its game failed since it last finished a training lease."""

    @property
    def identity(self) -> str:
        """What its conduct is counted for; of a host of the admin's own each worker stands for itself."""
        if self.tier == "local":
            return f"{self.host_identity}/{self.worker_index}"
        return self.host_identity

    @property
    def admitted(self) -> bool:
        """Whether it has its ids."""
        return self.worker_id >= 0

    @property
    def is_connected(self) -> bool:
        """Whether it was admitted and has a socket, and is of use."""
        return self.admitted and self.connection_id is not None and not self.broken

    @property
    def present(self) -> bool:
        """Whether something can be asked of it now."""
        return self.is_connected and not self.silent and not self.benched

    def forget_sent(self) -> None:
        """Send its policy again, since what it was sent last may not have arrived."""
        self.sent_version = self.sending_version = None
        self.opponents_sent = frozenset()
        self.unsent.clear()
        self.acknowledged = True

    def measured(self, steps: int, seconds: float) -> None:
        """Take a finished lease into its speed."""
        if seconds <= 0 or steps <= 0:
            return
        speed = steps / seconds
        before = self.steps_per_second
        self.steps_per_second = speed if before is None else before + SPEED_WEIGHT * (speed - before)


class Fleet:
    """Every host and worker of a run. Ids are issued once and stay with a worker's key while it is known."""

    def __init__(self, num_instances: int = 0) -> None:
        self.num_instances = num_instances
        """Games of each worker; set before the first one is admitted."""
        self.hosts: dict[str, Host] = {}
        self.workers: dict[str, Worker] = {}
        self._by_id: dict[int, Worker] = {}
        self._num_admitted = 0
        self._num_hosts = 0
        self._num_hosts_here = 0
        """Pages with a socket."""
        self._gone: dict[str, Worker] = {}
        """Workers that are away, the one that left first at the front."""
        self._forgotten = Worker("", Host("", -1), 0, "invited", None, 0.0, broken=True)
        """Placeholder for workers that were forgotten."""
        self._by_connection: dict[int, Host | Worker] = {}
        self._not_admitted: dict[str, Worker] = {}
        self._returning: dict[str, Worker] = {}
        """Workers whose socket closed, until they are back or away."""
        self._has_guests = False
        self._benched = 0
        """Suspended workers."""
        self._connected: list[Worker] | None = None
        self._present: list[Worker] | None = None
        self._awaited: list[Worker] | None = None
        self._awaited_ids: set[int] = set()
        """What `connected`, `present` and `awaited` say, until it changes."""

    def connect_host(
        self, connection_id: int, hello: Hello, tier: Tier, identity: str = ""
    ) -> tuple[Host, int | None]:
        """The host of that socket, and the connection it had before, if any.

        `identity`: of the socket, as the server knows it; without one the host's own id stands in.
        """
        host = self._host(hello.host_id)
        replaced = host.connection_id
        if replaced is None:
            self._num_hosts_here += 1
        else:
            del self._by_connection[replaced]
        host.connection_id = connection_id
        host.tier = tier
        host.identity = _identity(host.host_id, tier, identity)
        host.user_agent = hello.device.user_agent
        host.max_workers = hello.max_workers or 0
        self._by_connection[connection_id] = host
        return host, replaced

    def connect_worker(
        self, connection_id: int, hello: Hello, tier: Tier, now: float, identity: str = ""
    ) -> tuple[Worker, int | None]:
        """The worker of that socket, known or new, and the connection it had before, if any.

        `identity`: as `connect_host` has it.
        """
        key = hello.worker_key or ""
        worker = self.workers.get(key)
        replaced = None
        if worker is None:
            host = self._host(hello.host_id)
            worker = Worker(key, host, hello.worker_index or 0, tier, connection_id, now)
            self.workers[key] = self._not_admitted[key] = worker
        else:
            replaced = worker.connection_id
            if replaced is not None:
                del self._by_connection[replaced]
        worker.connection_id = connection_id
        worker.tier = tier
        self._has_guests = self._has_guests or tier != "local"
        worker.host_identity = _identity(hello.host_id, tier, identity)
        worker.disconnected_at = None
        worker.opponents_sent = frozenset()
        worker.owed = 0
        worker.away = False
        worker.silent = False
        worker.last_seen = now
        self._by_connection[connection_id] = worker
        self._returning.pop(key, None)
        self._gone.pop(key, None)
        self._changed()
        return worker, replaced

    def disconnect(self, connection_id: int, now: float) -> Host | Worker | None:
        """The host or worker that lost its socket; None when it was replaced before."""
        who = self._by_connection.pop(connection_id, None)
        if who is not None:
            who.connection_id = None
            if isinstance(who, Worker):
                who.disconnected_at = now
                self._returning[who.worker_key] = who
                self._changed()
            else:
                self._num_hosts_here -= 1
        return who

    def leave(self, worker: Worker) -> None:
        """Its socket closed and it did not come back in time."""
        worker.away = True
        self._returning.pop(worker.worker_key, None)
        self._gone[worker.worker_key] = worker
        while len(self._gone) > MAX_GONE:
            self._forget(next(iter(self._gone)))

    def _forget(self, worker_key: str) -> None:
        worker = self._gone.pop(worker_key)
        del self.workers[worker_key]
        self._not_admitted.pop(worker_key, None)
        self._by_id.pop(worker.worker_id, None)
        self._changed()

    def set_silent(self, worker: Worker, is_silent: bool) -> None:
        """Whether nothing more is asked of it until it is heard."""
        if worker.silent != is_silent:
            worker.silent = is_silent
            self._changed()

    def look_at_conduct(self, conduct: Conduct, now: float) -> None:
        """Bench the workers of suspended identities; the others may have leases again."""
        if not conduct.num_out and not self._benched:
            return
        for worker in self.workers.values():
            is_out = conduct.is_out(worker.identity, now)
            if worker.benched != is_out:
                worker.benched = is_out
                self._benched += 1 if is_out else -1
                self._changed()

    def set_broken(self, worker: Worker) -> None:
        """Nothing is asked of it ever again."""
        worker.broken = True
        self._changed()

    def last_left(self, now: float) -> float | None:
        """Seconds since the last worker left or fell silent; None: one is here, or none has ever been.

        One that is not admitted yet is here. A network that is down closes no socket: silence counts as well.
        """
        last: float | None = None
        for worker in self.workers.values():
            if worker.connection_id is not None and not worker.silent and not worker.broken:
                return None
            left = worker.disconnected_at
            if left is None or worker.silent:
                left = worker.last_seen
            last = left if last is None else max(last, left)
        return None if last is None else max(0.0, now - last)

    def is_somebody_returning(self, now: float) -> bool:
        """Whether an admitted worker may still come back to its socket (rule C3)."""
        return any(
            worker.disconnected_at is not None and now < worker.disconnected_at + GRACE_SECONDS
            for worker in self._returning.values()
            if worker.admitted and not worker.broken
        )

    def of(self, connection_id: int) -> Host | Worker | None:
        """The host or worker on that connection."""
        return self._by_connection.get(connection_id)

    def admit(self, worker: Worker) -> None:
        """Give a worker its id and its instances (never used before)."""
        worker.worker_id = self._num_admitted
        self._num_admitted += 1
        first = worker.worker_id * self.num_instances
        worker.instance_ids = range(first, first + self.num_instances)
        self._by_id[worker.worker_id] = worker
        del self._not_admitted[worker.worker_key]
        self._changed()

    def waiting_for_admission(self) -> list[Worker]:
        """Connected workers without ids, by (order of host, index in it), never by arrival (rule C8)."""
        waiting = [worker for worker in self._not_admitted.values() if worker.connection_id is not None]
        return sorted(waiting, key=lambda worker: (worker.host.order, worker.worker_index))

    def connected(self) -> list[Worker]:
        """Admitted workers with a socket, silent ones too, by id."""
        if self._connected is None:
            self._connected = [worker for worker in self._by_id.values() if worker.is_connected]
        return self._connected

    def present(self) -> list[Worker]:
        """Workers that can be asked for something, by id."""
        if self._present is None:
            self._present = [worker for worker in self._by_id.values() if worker.present]
        return self._present

    @property
    def has_guests(self) -> bool:
        """Whether a worker that is not of a host of the admin's own ever came."""
        return self._has_guests

    @property
    def has_own_workers(self) -> bool:
        """Whether a worker of the admin's own is here, or may come back to its socket."""
        return any(
            worker.tier == "local" and not worker.broken and not worker.away
            for worker in self.workers.values()
            if worker.connection_id is not None or worker.worker_key in self._returning
        )

    def set_played(self, worker: Worker) -> None:
        """A block of it came: batches wait for it from now on."""
        if not worker.has_played:
            worker.has_played = True
            self._changed()

    def awaited(self) -> list[Worker]:
        """Workers that batches wait for, by id: of those present the ones that have played.

        While none has, the admin's own; without any of those, all.
        """
        if self._awaited is None:
            present = self.present()
            played = [worker for worker in present if worker.has_played]
            self._awaited = played or [worker for worker in present if worker.tier == "local"] or present
            self._awaited_ids = {worker.worker_id for worker in self._awaited}
        return self._awaited

    def is_awaited(self, worker: Worker) -> bool:
        """Whether batches wait for it."""
        self.awaited()
        return worker.worker_id in self._awaited_ids

    def hosts_of_several(self) -> set[str]:
        """Ids of the hosts with more than one connected worker: those share its cores."""
        counts = Counter(worker.host.host_id for worker in self.connected())
        return {host_id for host_id, count in counts.items() if count > 1}

    def by_id(self, worker_id: int) -> Worker:
        """The worker of that id, or one that is away and of no use in the place of a forgotten one."""
        return self._by_id.get(worker_id, self._forgotten)

    def newest_of(self, host: Host, worker_index: int | None) -> Worker | None:
        """The worker that a host means by that index: the last one that connected under it."""
        own = [
            worker
            for worker in self.workers.values()
            if worker.host is host and worker.worker_index == worker_index
        ]
        return own[-1] if own else None

    def view(
        self,
        now: float,
        *,
        leases_open: int,
        leases_lapsed: int,
        blocks_refused: int,
        conduct: Conduct | None = None,
    ) -> FleetView:
        """The fleet as the dashboard shows it; `conduct` knows who is left out, and why."""
        conduct = Conduct() if conduct is None else conduct
        workers: dict[Host, list[WorkerView]] = {}
        for worker in self.workers.values():
            gone = worker.disconnected_at
            if gone is None or now - gone <= GONE_SHOWN_SECONDS:
                shown = _view_worker(worker, now, conduct.reason(worker.identity))
                workers.setdefault(worker.host, []).append(shown)
        num_hosts = self._num_hosts_here + sum(host.connection_id is None for host in workers)
        idle = (
            host for host in self.hosts.values() if host.connection_id is not None and host not in workers
        )
        hosts = sorted([*workers, *islice(idle, MAX_IDLE_SHOWN)], key=lambda host: host.order)
        return FleetView(
            hosts=[_view_host(host, workers.get(host, [])) for host in hosts],
            num_hosts=num_hosts,
            steps_per_second=sum(worker.steps_per_second for own in workers.values() for worker in own),
            leases_open=leases_open,
            leases_lapsed=leases_lapsed,
            blocks_refused=blocks_refused,
            last_left_seconds=self.last_left(now),
        )

    def _changed(self) -> None:
        self._connected = self._present = self._awaited = None

    def _host(self, host_id: str) -> Host:
        if host_id not in self.hosts:
            # Not for each that comes while many are here: it would look at all of them again.
            if len(self.hosts) >= 2 * MAX_GONE + self._num_hosts_here:
                known = {worker.host.host_id for worker in self.workers.values()}
                self.hosts = {
                    host.host_id: host
                    for host in self.hosts.values()
                    if host.connection_id is not None or host.host_id in known
                }
            self.hosts[host_id] = Host(host_id, order=self._num_hosts)
            self._num_hosts += 1
        return self.hosts[host_id]


def _identity(host_id: str, tier: Tier, identity: str) -> str:
    # A host of the admin's own is believed when it says which one it is; all of them share one token.
    return host_id if tier == "local" or not identity else identity


def _view_host(host: Host, workers: list[WorkerView]) -> HostView:
    return HostView(
        host_id=host.host_id,
        tier=host.tier,
        user_agent=host.user_agent,
        hidden=host.hidden,
        identity=host.identity,
        workers=sorted(workers, key=lambda worker: (worker.worker_index, worker.worker_id)),
    )


def _view_worker(worker: Worker, now: float, left_out: str | None) -> WorkerView:
    if worker.connection_id is None or worker.broken:
        state = "gone"
    elif worker.benched:
        state = "left_out"
    elif not worker.admitted:
        state = "joining"
    else:
        state = "playing" if worker.leases else "waiting"
    front = worker.leases[0] if worker.leases else None
    return WorkerView(
        worker_id=max(worker.worker_id, 0),
        host_id=worker.host.host_id,
        worker_index=worker.worker_index,
        state=state,
        num_instances=len(worker.instance_ids),
        lease_id=front.lease_id if front else None,
        policy_version=front.version if front else worker.sent_version,
        steps_per_second=worker.rate.per_second(now),
        collected_steps=worker.collected_steps,
        episodes=worker.episodes,
        identity=worker.identity,
        left_out=left_out,
        deflates=worker.deflates,
        last_seen_seconds=max(0.0, now - worker.last_seen),
    )
