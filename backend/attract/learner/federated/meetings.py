"""Federated averaging between processes and machines: all participants of a round get the same bits.

Trainer 0 serves a key-value store (`KeyValueStore`). In each round every trainer puts its share there; the
coordinator, the first trainer that is present and alive, averages the shares and puts the result, which all
trainers read. The first result that is registered wins, so every participant gets the same one. Why no
collective operation does this: docs/decisions/0025-federated-survivors.md.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import torch
from torch import Tensor

from attract.errors import FederationError
from attract.learner.federated.averaging import Lineage, Round, Share, average_shares, from_vector, to_vector
from attract.learner.federated.membership import Entry, Membership, Posting, in_words, of_one_lineage
from attract.learner.federated.rendezvous import NOTHING, Rendezvous, Say
from attract.learner.federated.store import KeyValueStore, StoreLostError
from attract.settings.curriculum import FederatedSettings

POLL_SECONDS: Final = 0.05
"""Poll interval of a waiting trainer."""
_BEGINNING: Final = 0
"""Number of the meeting at which all begin."""


class Meetings:
    """One trainer's end; see `FederatedAveraging`. There is one in a process, while it lives.

    The store checks no identities and encrypts nothing: it belongs on a private network.

    Args:
        settings: who this trainer is, and how long it waits.
        kind: what all trainers must have in common, such as a hash of the game's description.
        has_begun: whether the run goes on from a checkpoint; then `join` is not to be called.
        say: gets messages for the user, on any thread.

    Raises: FederationError: when trainer 0 cannot keep the store.
    """

    def __init__(self, settings: FederatedSettings, kind: str, *, has_begun: bool, say: Say) -> None:
        self._settings = settings
        self._kind = kind
        self._say = say
        self._gone: dict[int, str] = {}
        self._rendezvous = Rendezvous(settings, has_begun=has_begun, say=say)
        self._rendezvous.open()

    def join(self, share: Share) -> Round:
        """As `FederatedAveraging.join`."""
        store = self._rendezvous.store(self._settings.timeout_seconds)
        where = f"{self._settings.rendezvous} within {self._settings.timeout_seconds:g} s"
        if store is None:
            why = self._rendezvous.why_away
            raise FederationError(
                f"trainer {self._settings.rank} of {self._settings.world_size} did not meet the others at "
                f"{where} ({why})"
            )
        try:
            with self._rendezvous.in_use():
                return self._begin(store, share)
        except StoreLostError as error:
            # A replacement of this learner may reach it again.
            raise FederationError(
                f"trainer 0 was lost before all had started together ({error})", is_final=False
            ) from error

    def average(self, share: Share, lineage: Lineage) -> Round:
        """As `FederatedAveraging.average`."""
        while (store := self._rendezvous.store(self._settings.lost_seconds)) is not None:
            try:
                with self._rendezvous.in_use():
                    return self._meet(store, int(store.read(["closed"])[0]) + 1, share, lineage)
            except StoreLostError as error:
                self._rendezvous.lost(store, str(error))
        self._rendezvous.away()
        result = average_shares([share])
        mark = _mark(to_vector(result))
        return Round(result, Lineage(lineage.rounds + 1, mark), (self._settings.rank,))

    def leave(self) -> None:
        """As `FederatedAveraging.leave`. Trainer 0 keeps the store, and stays until all have acknowledged."""
        self._rendezvous.leave()

    def close(self) -> None:
        """As `FederatedAveraging.close`."""
        self._rendezvous.close()

    # --- the beginning ---

    def _begin(self, store: KeyValueStore, share: Share) -> Round:
        if store.read(["begun"]) == ["yes"]:
            return self._begin_later(store, share)
        result = self._meet(store, _BEGINNING, share, Lineage())
        store.write("begun", "yes")
        self._rendezvous.has_begun = True
        return result

    def _begin_later(self, store: KeyValueStore, share: Share) -> Round:
        """The others have begun: with their newest weights, where the store has them."""
        self._check_kind(store, share)
        self._rendezvous.has_begun = True
        number = int(store.read(["closed"])[0])
        if store.has(f"out/{number}"):
            result = json.loads(store.read([f"out/{number}"])[0])
            data = store.get(result["name"], result["chunks"])
            if data is not None:
                # Weights stand first. Of no lineage: the next meeting gives this trainer all the rest.
                weights = from_vector(_from_bytes(data), Share(share.weights, {}, {})).weights
                return Round(Share(weights, share.optimizer, share.gathered), Lineage(), ())
        return Round(share, Lineage(), ())

    # --- a meeting ---

    def _meet(self, store: KeyValueStore, number: int, share: Share, lineage: Lineage) -> Round:
        """Come to this meeting, and leave it with its result. Raises: StoreLostError, FederationError."""
        rank = self._settings.rank
        self._check_kind(store, share)
        store.write(f"gone/{rank}", NOTHING)
        name = f"shares/{number}/{rank}/{secrets.token_hex(8)}"
        chunks = store.put(name, _to_bytes(to_vector(share)))
        store.write(f"at/{rank}", json.dumps(asdict(Posting(rank, number, name, chunks, lineage))))
        limit = self._settings.timeout_seconds
        roll = Membership(rank, number, min(self._settings.lost_seconds, limit), limit, time.monotonic())
        while True:
            if store.has(f"out/{number}"):
                result = self._take(store, number, share, lineage)
                if result is not None:
                    return result
                # This trainer was given up, and the meeting is long over.
                return self._meet(store, int(store.read(["closed"])[0]) + 1, share, lineage)
            if number == _BEGINNING and store.read(["begun"]) == ["yes"]:
                # A trainer came that resumes from a checkpoint.
                return self._begin_later(store, share)
            entries = self._entries(store)
            call = roll.call(entries, time.monotonic())
            for other, why in call.given_up.items():
                store.compare_and_set(f"gone/{other}", NOTHING, why)
            self._report_changes(entries, call.given_up, number)
            if not call.missing and not call.given_up and call.coordinator == rank:
                self._close(store, number, call.present, share)
            else:
                time.sleep(POLL_SECONDS)

    def _entries(self, store: KeyValueStore) -> dict[int, Entry]:
        """The store's entry of every trainer, by rank."""
        ranks = range(self._settings.world_size)
        kinds = ("beat", "at", "gone")
        texts = iter(store.read([f"{kind}/{rank}" for rank in ranks for kind in kinds]))
        return {
            rank: Entry(int(beats), _posting(at), None if gone == NOTHING else gone)
            for rank, (beats, at, gone) in zip(ranks, zip(texts, texts, texts, strict=True), strict=True)
        }

    def _report_changes(self, entries: Mapping[int, Entry], given_up: Mapping[int, str], number: int) -> None:
        """Report trainers that were lost or came back since the last look."""
        gone = {rank: entry.gone for rank, entry in entries.items() if entry.gone is not None}
        gone |= given_up
        if number == _BEGINNING and gone:
            rank, why = next(iter(gone.items()))
            raise FederationError(f"trainer {rank} does not begin with the others: {why}")
        for rank in gone.keys() - self._gone.keys():
            self._say(f"trainer {rank} is lost: {gone[rank]}; averaging continues without it")
        for rank in self._gone.keys() - gone.keys():
            self._say(f"trainer {rank} is back")
        self._gone = gone

    def _close(self, store: KeyValueStore, number: int, present: tuple[Posting, ...], share: Share) -> None:
        """Make the result of a meeting at which all are that are waited for."""
        rank = self._settings.rank
        heirs = present[:1] if number == _BEGINNING else of_one_lineage(present)
        vectors = {heir.rank: self._shared(store, heir, share) for heir in heirs}
        shares = {who: from_vector(vector, share) for who, vector in vectors.items() if vector is not None}
        if not shares:
            return
        result = shares[heirs[0].rank] if number == _BEGINNING else average_shares(list(shares.values()))
        vector = to_vector(result)
        name = f"results/{number}/{rank}/{secrets.token_hex(8)}"
        lineage = Lineage(heirs[0].lineage.rounds + (number != _BEGINNING), _mark(vector))
        chunks = store.put(name, _to_bytes(vector))
        document = {
            "name": name,
            "chunks": chunks,
            "lineage": asdict(lineage),
            "from": asdict(heirs[0].lineage),
            "trainers": sorted(shares),
        }
        text = json.dumps(document)
        if store.set_default(f"out/{number}", text) != text:
            # Another did it meanwhile, who took this trainer for gone.
            store.delete(name, chunks)
            return
        for posting in present:
            store.delete(posting.name, posting.chunks)
        if store.has(f"out/{number - 2}"):
            old = json.loads(store.read([f"out/{number - 2}"])[0])
            store.delete(old["name"], old["chunks"])

    def _shared(self, store: KeyValueStore, posting: Posting, like: Share) -> Tensor | None:
        """A trainer's share; None when it is missing, or no share of this network."""
        data = store.get(posting.name, posting.chunks)
        if data is None or len(data) != len(_to_bytes(to_vector(like))):
            return None
        return _from_bytes(data)

    def _take(self, store: KeyValueStore, number: int, share: Share, lineage: Lineage) -> Round | None:
        """The result of a meeting that is over; None when it is erased."""
        found = json.loads(store.read([f"out/{number}"])[0])
        data = store.get(found["name"], found["chunks"])
        # The trainer that made the result may have died before it announced it.
        store.compare_and_set("closed", str(number - 1), str(number))
        store.write(f"gone/{self._settings.rank}", NOTHING)
        if data is None:
            return None
        trainers: tuple[int, ...] = tuple(found["trainers"])
        if self._settings.rank not in trainers and number != _BEGINNING:
            came_from = Lineage(**found["from"])
            why = "they have gone on meanwhile" if came_from != lineage else "it came too late"
            self._say(f"this trainer takes over the policy of {in_words(trainers)}: {why}")
        if len(data) != len(_to_bytes(to_vector(share))):
            raise FederationError(
                f"the result of {in_words(trainers)} does not fit: one has trained policies that another "
                "has not yet; raise federated.every_episodes"
            )
        result = from_vector(_from_bytes(data), share)
        if number == _BEGINNING:
            result = Share(result.weights, share.optimizer, share.gathered, share.common)
        return Round(result, Lineage(**found["lineage"]), trainers)

    def _check_kind(self, store: KeyValueStore, share: Share) -> None:
        mine = self._fingerprint(share)
        if store.set_default("kind", mine) == mine:
            return
        store.write(
            f"gone/{self._settings.rank}", "it trains another game or network, or averages at other counts"
        )
        raise FederationError(
            f"the others at {self._settings.rendezvous} train another game or network, or average at other "
            "counts: game, policy and federated.every_episodes must be the same everywhere"
        )

    def _fingerprint(self, share: Share) -> str:
        common = {
            "weights": {name: list(tensor.shape) for name, tensor in share.weights.items()},
            "gathered": {name: list(moments.mean.shape) for name, moments in share.gathered.items()},
            "kind": self._kind,
            "every_episodes": self._settings.every_episodes,
            "world_size": self._settings.world_size,
        }
        return hashlib.sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()


def _posting(text: str) -> Posting | None:
    if text == NOTHING:
        return None
    found: dict[str, Any] = json.loads(text)
    lineage = Lineage(**found.pop("lineage"))
    return Posting(**found, lineage=lineage)


def _to_bytes(vector: Tensor) -> bytes:
    return vector.numpy().tobytes()


def _from_bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.float64)


def _mark(vector: Tensor) -> str:
    return hashlib.sha256(_to_bytes(vector)).hexdigest()[:16]
