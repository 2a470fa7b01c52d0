"""Federated averaging between processes and machines: torch.distributed with gloo, one share each a round."""

import hashlib
import json
from datetime import timedelta
from typing import Final

import torch
import torch.distributed as dist
from torch import Tensor

from attract.curriculum_settings import FederatedSettings
from attract.errors import FederationError
from attract.learner.federated import Share, average_shares, from_vector, to_vector

_JOIN: Final = 0
"""Stands for the round in which all begin."""


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
        try:
            dist.init_process_group(
                "gloo",
                init_method=f"tcp://{settings.rendezvous}",
                rank=settings.rank,
                world_size=settings.world_size,
                timeout=timedelta(seconds=settings.timeout_seconds),
            )
        except (RuntimeError, ValueError) as error:
            raise FederationError(
                f"trainer {settings.rank} of {settings.world_size} did not meet the others at "
                f"{settings.rendezvous} within {settings.timeout_seconds:g} s ({_short(error)})"
            ) from error

    def join(self, share: Share) -> Share:
        """As `FederatedAveraging.join`."""
        shares = self._exchange(_JOIN, share)
        return Share(shares[0].weights, share.optimizer, share.gathered)

    def average(self, round_number: int, share: Share) -> Share:
        """As `FederatedAveraging.average`."""
        return average_shares(self._exchange(round_number, share))

    def close(self) -> None:
        """As `FederatedAveraging.close`."""
        if dist.is_initialized():
            dist.destroy_process_group()

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
            is_late = "timed out" in str(error).lower()
            limit = f"did not come within {self._settings.timeout_seconds:g} s"
            raise FederationError(
                f"{_name(round_number)} of averaging: another trainer {limit if is_late else 'is gone'}; "
                f"resume all of them from their newest checkpoints ({_short(error)})"
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


def _short(error: Exception) -> str:
    """What gloo says, without where in its source it says so and without its advice."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text.split("] ", 1)[-1].split(". ", 1)[0][:200]
