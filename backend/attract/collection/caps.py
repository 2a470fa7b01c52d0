"""How much of a batch one guest may give: an eighth per network, where the others can fill the rest."""

from collections import Counter
from collections.abc import Callable, Iterable
from ipaddress import ip_address, ip_network
from typing import Final

from attract.collection.batches import AcceptedBlock
from attract.collection.fleet import Worker

LARGEST_SHARE: Final = 1 / 8
SLOWEST: Final = 2.0
"""Caps hold where a batch fills within so many times the time that it would take without them (rule C2)."""


def network_of(identity: str) -> str:
    """The network that an identity came from: /24 of IPv4, /64 of IPv6; itself where that is not known.

    An identity is a credential at an address, so who is bounded by network is bounded by identity too.
    """
    address = identity.rpartition("@")[2].partition("/")[0]
    try:
        prefix = 24 if ip_address(address).version == 4 else 64
    except ValueError:
        return identity
    return str(ip_network((address, prefix), strict=False))


class Caps:
    """Share of a batch that one network may give, from the workers present at one moment."""

    def __init__(self, workers: Iterable[Worker], target: int) -> None:
        networks = Counter(
            "" if worker.tier == "local" else network_of(worker.identity) for worker in workers
        )
        self.most = max(1, int(target * LARGEST_SHARE))
        """Segments of a batch that one network may give."""
        total, own = networks.total(), networks.pop("", 0)
        shares = [min(SLOWEST * count / total, LARGEST_SHARE) for count in networks.values()]
        self.hold = bool(networks) and SLOWEST * own / total + sum(shares) >= 1.0
        """Whether the cap holds: the others can fill a batch in time."""

    def keep(
        self, blocks: Iterable[AcceptedBlock], worker_of: Callable[[int], Worker]
    ) -> tuple[list[AcceptedBlock], list[AcceptedBlock]]:
        """Those that a batch may take, and those that are too much; each network's first is always kept."""
        kept: list[AcceptedBlock] = []
        over: list[AcceptedBlock] = []
        given: Counter[str] = Counter()
        for block in blocks:
            network = "" if block.local else network_of(worker_of(block.worker_id).identity)
            size = len(block.rows)
            fits = not network or not given[network] or given[network] + size <= self.most
            if fits or not self.hold:
                given[network] += size
                kept.append(block)
            else:
                over.append(block)
        return kept, over
