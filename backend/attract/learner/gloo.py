"""Federated averaging between processes and machines: torch.distributed with gloo, one share each a round."""

import contextlib
import hashlib
import json
import threading
import time
from datetime import timedelta
from typing import Final

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, TCPStore  # pyright: ignore[reportPrivateImportUsage]

from attract.curriculum_settings import FederatedSettings
from attract.errors import FederationError
from attract.learner.federated import Share, average_shares, from_vector, to_vector

FAREWELL_SECONDS: Final = 3.0
"""How long one that leaves waits until all have heard it, and they for the word of one that is gone."""
LISTEN_SECONDS: Final = 3600.0
_JOIN: Final = 0
"""Stands for the round in which all begin."""
_LEFT: Final = "left"
_HEARD: Final = "heard"


class GlooAveraging:
    """One trainer's end; see `FederatedAveraging`. There is one in a process, while it lives.

    gloo checks nobody's identity and encrypts nothing: it belongs on a network that is one's own.
    """

    def __init__(self, settings: FederatedSettings, kind: str) -> None:
        """Meet the others at the rendezvous.

        Args:
            settings: who this trainer is, and how long it waits.
            kind: what all trainers must have in common, such as a hash of the game's description.

        Raises: FederationError: when not all came in time.
        """
        self._settings = settings
        self._kind = kind
        self._farewell = threading.Event()
        host, port = settings.rendezvous.rsplit(":", 1)
        limit = timedelta(seconds=settings.timeout_seconds)
        try:
            self._store = TCPStore(
                host, int(port), settings.world_size, is_master=settings.rank == 0, timeout=limit
            )
            dist.init_process_group(
                "gloo",
                store=PrefixStore("group", self._store),
                rank=settings.rank,
                world_size=settings.world_size,
                timeout=limit,
            )
            ears = TCPStore(host, int(port), None, is_master=False, timeout=limit)
        except (RuntimeError, ValueError) as error:
            raise FederationError(
                f"trainer {settings.rank} of {settings.world_size} did not meet the others at "
                f"{settings.rendezvous} within {settings.timeout_seconds:g} s ({_short(error)})"
            ) from error
        threading.Thread(target=self._listen, args=(ears,), name="farewell", daemon=True).start()

    @property
    def is_over(self) -> bool:
        """As `FederatedAveraging.is_over`."""
        return self._farewell.is_set()

    def join(self, share: Share) -> Share:
        """As `FederatedAveraging.join`."""
        shares = self._exchange(_JOIN, share)
        return Share(shares[0].weights, share.optimizer, share.gathered)

    def average(self, round_number: int, share: Share) -> Share | None:
        """As `FederatedAveraging.average`."""
        if self.is_over:
            return None
        try:
            return average_shares(self._exchange(round_number, share))
        except FederationError as error:
            # The others may have left while this one was on its way into the round.
            if not error.is_final and self._farewell.wait(FAREWELL_SECONDS):
                return None
            raise

    def leave(self) -> None:
        """As `FederatedAveraging.leave`. Trainer 0, who keeps the word, stays until all have heard it."""
        with contextlib.suppress(RuntimeError):
            self._store.set(_LEFT, "1")
            self._farewell.wait(FAREWELL_SECONDS)
            deadline = time.monotonic() + FAREWELL_SECONDS
            while self._settings.rank == 0 and time.monotonic() < deadline:
                if self._store.add(_HEARD, 0) >= self._settings.world_size:
                    break
                time.sleep(0.02)

    def close(self) -> None:
        """As `FederatedAveraging.close`."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _listen(self, store: TCPStore) -> None:
        """On a thread of its own, until somebody leaves or the one who keeps the word is gone."""
        while True:
            try:
                store.wait([_LEFT], timedelta(seconds=LISTEN_SECONDS))
            except RuntimeError as error:
                if _is_late(error):
                    continue
                return
            break
        self._farewell.set()
        with contextlib.suppress(RuntimeError):
            store.add(_HEARD, 1)

    def _exchange(self, round_number: int, share: Share) -> list[Share]:
        """Everybody's share of this round, by rank."""
        vector = to_vector(share)
        header = torch.tensor([round_number, vector.numel(), *_words(self._fingerprint(share))])
        for rank, other in enumerate(self._gather(header, round_number)):
            if not torch.equal(other, header):
                raise FederationError(self._difference(rank, other, header))
        return [from_vector(one, share) for one in self._gather(vector, round_number)]

    def _gather(self, mine: Tensor, round_number: int) -> list[Tensor]:
        everybodys = [torch.empty_like(mine) for _ in range(self._settings.world_size)]
        try:
            dist.all_gather(everybodys, mine)
        except RuntimeError as error:
            is_late = _is_late(error)
            limit = f"did not come within {self._settings.timeout_seconds:g} s"
            raise FederationError(
                f"{_name(round_number)} of averaging: another trainer {limit if is_late else 'is gone'}; "
                f"resume all of them from their newest checkpoints ({_short(error)})",
                # One that died may be back by the time that another learner here is.
                is_final=is_late,
            ) from error
        return everybodys

    def _difference(self, rank: int, other: Tensor, mine: Tensor) -> str:
        theirs, ours = int(other[0]), int(mine[0])
        if theirs != ours:
            return (
                f"trainer {rank} is at {_name(theirs)}, this one at {_name(ours)}: "
                "begin all of them anew, or resume all, with the same federated.every_episodes"
            )
        return (
            f"trainer {rank} trains another game or network, or averages at other counts: "
            "game, policy and federated.every_episodes must be the same everywhere"
        )

    def _fingerprint(self, share: Share) -> bytes:
        shapes = {
            "weights": {name: list(one.shape) for name, one in share.weights.items()},
            "optimizer": sorted(share.optimizer),
            "gathered": {name: list(one.mean.shape) for name, one in share.gathered.items()},
            "kind": self._kind,
            "every_episodes": self._settings.every_episodes,
        }
        return hashlib.sha256(json.dumps(shapes, sort_keys=True).encode()).digest()


def _words(digest: bytes) -> list[int]:
    return [int.from_bytes(digest[at : at + 8], "little", signed=True) for at in range(0, 32, 8)]


def _name(round_number: int) -> str:
    return "the beginning" if round_number == _JOIN else f"round {round_number}"


def _is_late(error: Exception) -> bool:
    text = str(error).lower()
    return "timed out" in text or "timeout" in text


def _short(error: Exception) -> str:
    """What gloo says, without where in its source it says so and without its advice."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text.split("] ", 1)[-1].split(". ", 1)[0][:200]
