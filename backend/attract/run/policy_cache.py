"""The newest versions of a policy, each encoded once for all workers that get it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attract.schema.frames import encode
from attract.schema.messages import Policy
from attract.settings.self_play import policy_id_of

KEPT = 8
"""Versions at hand: the newest, one that is evaluated, and some for pages that watch."""


@dataclass(frozen=True)
class BroughtPlayers:
    """Opponents that a run does not make itself."""

    scripts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Code, by player."""
    models: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """ONNX bytes, by player."""
    checkpoints: tuple[Path, ...] = ()
    """Of `models` that were not kept before: their runs must see and do what the game offers."""


class PolicyCache:
    """Owned by the active run, used on its event loop."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._policies: dict[tuple[str, int], tuple[bytes, bytes]] = {}
        self._opponents: frozenset[int] = frozenset()

    def hold(self, opponents: Collection[int]) -> None:
        """Keep these versions, and no earlier opponents, however old they become."""
        self._opponents = frozenset(opponents)

    def keep(self, version: int, onnx: bytes, *, policy_id: str = "main") -> None:
        """Keep a version; the oldest of its policy goes when there are more than 8 beside opponents."""
        message = Policy(run_id=self._run_id, policy_id=policy_id, policy_version=version, onnx=onnx)
        self._policies[policy_id, version] = (onnx, encode(message))
        own = sorted(key for key in self._policies if key[0] == policy_id and key[1] not in self._opponents)
        for key in own[:-KEPT]:
            del self._policies[key]

    def bring(self, players: BroughtPlayers) -> None:
        """Keep them, as version 0."""
        for player, code in players.scripts.items():
            message = Policy(run_id=self._run_id, policy_id=player, policy_version=0, onnx=b"", script=code)
            self._policies.setdefault((player, 0), (b"", encode(message)))
        for player, onnx in players.models.items():
            self.keep(0, onnx, policy_id=policy_id_of(player))

    def onnx(self, version: int, *, policy_id: str = "main") -> bytes | None:
        """ONNX bytes of a version, or None."""
        found = self._policies.get((policy_id, version))
        return None if found is None else found[0]

    def frame(self, policy_id: str, version: int) -> bytes:
        """The encoded `policy` message. Raises: KeyError: when the version is not kept."""
        return self._policies[policy_id, version][1]
