"""When versions were ready, sent and acknowledged, and how long each took to reach a whole fleet."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple, Protocol

ENDED, DURABLE, VERSION = "bench/ended", "bench/durable", "bench/version"
"""Names in a version's metrics: when its update ended and when it was on disk, in seconds of the monotonic
clock that all processes of a machine share, and which version it is."""


class Ready(NamedTuple):
    """A version's own account of itself."""

    version: int
    ended: float
    durable: float


class Sent(NamedTuple):
    """A version was given to one socket."""

    socket: int
    when: float
    version: int


class Acknowledged(NamedTuple):
    """A worker has a session of a version, and has run it once."""

    socket: int
    when: float
    version: int
    create_ms: float


class Reached(NamedTuple):
    """Times of a version since the end of its update; seconds."""

    version: int
    durable: float
    """Until it was on disk (rule D1)."""
    sent: float
    """Until the first worker was sent it, or a newer one."""
    first: float
    last: float
    """Until the first and the last worker had acknowledged it, or a newer one."""


def reached(
    ready: Iterable[Ready], sent: Sequence[Sent], acknowledged: Sequence[Acknowledged], num_workers: int
) -> list[Reached]:
    """Every version that `num_workers` workers have acknowledged, in order of versions.

    A worker that was busy with an older version is sent the newest next: having a newer one is as good.
    """
    found: list[Reached] = []
    for version, ended, durable in sorted(ready):
        first_ack: dict[int, float] = {}
        for ack in acknowledged:
            if ack.version >= version:
                first_ack[ack.socket] = min(ack.when, first_ack.get(ack.socket, ack.when))
        # A worker that came back has another socket: its first one stays silent.
        times = sorted(first_ack.values())[:num_workers]
        sending = [sending.when for sending in sent if sending.version >= version]
        if len(times) < num_workers or not sending:
            continue
        found.append(
            Reached(version, durable - ended, min(sending) - ended, times[0] - ended, times[-1] - ended)
        )
    return found


class News(Protocol):
    """A gateway's events about versions since the last report."""

    ready: list[Ready]
    sent: list[Sent]
    acknowledged: list[Acknowledged]
    max_encodings: int


class PublicationLog:
    """All messages about versions to a fleet of `num_workers` workers."""

    SETTLED: ClassVar[int] = 10
    """Versions before the first that counts."""

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers
        self.ready: list[Ready] = []
        self.sent: list[Sent] = []
        self.acknowledged: list[Acknowledged] = []
        self.max_encodings = 0
        """Most frames that were made of one version."""

    def take(self, news: News) -> None:
        """Take in what is new."""
        self.ready += news.ready
        self.sent += news.sent
        self.acknowledged += news.acknowledged
        self.max_encodings = max(self.max_encodings, news.max_encodings)

    def reached(self) -> list[Reached]:
        """Every version that the whole fleet has, but the first ones."""
        settled = [publication for publication in self.ready if publication.version > self.SETTLED]
        return reached(settled, self.sent, self.acknowledged, self._num_workers)
