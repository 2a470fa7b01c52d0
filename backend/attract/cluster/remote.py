"""Protocol of remote processes for the supervisor; Ray's actors implement it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from attract.cluster.keeper import Said
from attract.cluster.plan import ChildOrder, Place


class RemoteProcess(Protocol):
    """One process at a time on some node, which may change when the node is lost.

    Each method raises `AwayError` while there is none, and `ClusterError` when there will never be.
    """

    async def place(self, preferred: Sequence[int]) -> Place:
        """Where it is, with two ports that are free there; waits for as long as it takes to be placed."""
        ...

    async def start(self, order: ChildOrder) -> None:
        """Run a command; it replaces the one that ran."""
        ...

    async def read(self) -> Said:
        """Output since the last call; waits a few seconds for a first line."""
        ...

    async def signal(self, number: int) -> None:
        """Send the process a signal, if it still runs."""
        ...

    async def stop(self) -> None:
        """End the process in order, and at once where it takes too long."""
        ...


class Cluster(Protocol):
    """Where processes are placed."""

    def pack(self, bundles: Sequence[Mapping[str, float]]) -> RemoteProcess:
        """A process in the first of these bundles of resources, which are all of one node."""
        ...

    def spread(self, num_cpus: int) -> RemoteProcess:
        """A process on the node that has the fewest others, by Ray's measure."""
        ...
