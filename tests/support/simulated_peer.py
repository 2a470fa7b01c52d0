"""One worker of a simulated fleet: how fast it is, how it fails, and what it says instead of the truth."""

from collections.abc import Callable
from dataclasses import dataclass, field

from attract.schema.messages import Block, FromBrowser
from fake_worker import FakeWorker

Lie = Callable[["Peer", list[FromBrowser]], list[FromBrowser]]
"""What a worker sends instead of what it should."""
Key = tuple[int, int, int]
"""(lease_id, slot_id, segment_index): rule S2."""


@dataclass
class Peer:
    """One worker of the simulation, its current socket and how fast it is."""

    worker: FakeWorker
    segment_seconds: float
    connection_id: int | None = None
    frozen: bool = False
    dead: bool = False
    playing: bool = False
    lies: str = ""
    """`progress`: it says every 2 s that it plays, and never does; `steps`: one step more each time."""
    claimed_steps: int = 0
    claimed_lease: int | None = None
    identity: str = ""
    played_seconds: float = 0.0
    is_guest: bool = False
    """Invited, whatever the others are."""
    lie: Lie | None = None
    """What becomes of the blocks that it sends."""
    num_sent: int = 0
    """Segments that it has sent."""
    forged: list[Block] = field(default_factory=list[Block])
    """Blocks that it told otherwise than they were played."""
    untrue: set[Key] = field(default_factory=set[Key])
    """Segments of those that were accepted."""
    left_out_after: int | None = None
    """Those that it had sent when it was left out."""


@dataclass
class Faults:
    """Chances per message or segment; all 0: a perfect world."""

    duplicate: float = 0.0
    lose: float = 0.0
    disconnect: float = 0.0
    freeze: float = 0.0
    die: float = 0.0
    learner_dies: float = 0.0
