"""Averaging of trainers between processes and machines: all participants of a round get the same bits.

Trainer 0 serves the key-value store. In each round every trainer puts its share there; the coordinator, the
first trainer that is present and alive, averages the shares and puts the result, which all trainers read. The
first result that is registered wins, so every participant gets the same one. Why no collective operation does
this: docs/decisions/0064-one-group.md.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from safetensors import SafetensorError

from attract.errors import FederationError
from attract.learner.checkpoints.checkpoint import to_bytes
from attract.learner.group.attendance import Entry, Posting, of_one_lineage, take_attendance
from attract.learner.group.membership import NOTHING, Membership, in_words
from attract.learner.group.shares import Lineage, Round, Share, average_shares, is_like, share_of, tensors_of
from attract.learner.group.store import KeyValueStore, StoreLostError
from attract.settings.curriculum import FederatedSettings

POLL_SECONDS: Final = 0.05
"""Poll interval of a waiting trainer."""
MIN_ANSWER_SECONDS: Final = 2.0
"""Least time limit for one answer of the store."""
_BEGINNING: Final = 0
"""Number of the round at which all begin."""


class Averaging:
    """One of N trainers that become their average; there is one in a process, while it lives.

    Used by the learner's main thread. The store checks no identities and encrypts nothing: it belongs on a
    private network.

    Args:
        settings: who this trainer is, and how long it waits.
        kind: what all trainers must have in common, such as a hash of the game's description.
        has_begun: whether the run goes on from a checkpoint; then `join` is not to be called.
        say: gets messages for the user, on any thread.

    Raises: FederationError: when trainer 0 cannot serve the store.
    """

    def __init__(
        self, settings: FederatedSettings, kind: str, *, has_begun: bool, say: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._kind = kind
        self._say = say
        self._has_begun = has_begun
        self._gone: dict[int, str] = {}
        self._is_alone = False
        host, port = settings.rendezvous.rsplit(":", 1)
        limit_seconds = max(MIN_ANSWER_SECONDS, settings.lost_seconds)
        connect = partial(KeyValueStore.open, host, int(port), limit_seconds, serves=settings.rank == 0)
        store = None
        if settings.rank == 0:
            try:
                # The learner whose place this one takes may still be about to end.
                store = connect(patience_seconds=settings.lost_seconds)
                store.write("closed", "0")
                store.write("begun", "yes" if has_begun else "no")
                for rank in range(settings.world_size):
                    store.set_default(f"at/{rank}", NOTHING)
            except StoreLostError as error:
                raise FederationError(f"trainer 0 cannot listen at {settings.rendezvous}: {error}") from error
        self._lost_seconds = min(settings.lost_seconds, settings.timeout_seconds)
        self._membership = Membership(
            settings.rank,
            settings.world_size,
            store,
            None if store else connect,
            lost_seconds=self._lost_seconds,
            on_connect=self._connected,
        )

    def join(self, share: Share) -> Round:
        """Begin together: all trainers get the weights of the first. Only for new runs.

        Raises: FederationError: when another trainer does not come, or is of another kind.
        """
        store = self._membership.store(self._settings.timeout_seconds)
        where = f"{self._settings.rendezvous} within {self._settings.timeout_seconds:g} s"
        if store is None:
            why = self._membership.why_away
            raise FederationError(
                f"trainer {self._settings.rank} of {self._settings.world_size} did not meet the others at "
                f"{where} ({why})"
            )
        try:
            with self._membership.in_use():
                return self._begin(store, share)
        except StoreLostError as error:
            # A replacement of this learner may reach it again.
            raise FederationError(
                f"trainer 0 was lost before all had started together ({error})", is_final=False
            ) from error

    def average(self, share: Share, lineage: Lineage) -> Round:
        """The next round: the average of all that take part, bit-identical for each of them.

        Trainers that are gone or late are left out. A trainer of another lineage contributes nothing, and
        takes over the weights of the others. If this trainer is alone there: its own share.

        Raises: FederationError: when this trainer is of another kind than the others.
        """
        while (store := self._membership.store(self._settings.lost_seconds)) is not None:
            try:
                with self._membership.in_use():
                    return self._meet(store, _next(store), share, lineage)
            except StoreLostError as error:
                self._membership.lost(store, str(error))
        self._say_alone()
        result = average_shares([share])
        mark = _mark(to_bytes(tensors_of(result)))
        return Round(result, Lineage(lineage.rounds + 1, mark), (self._settings.rank,))

    def leave(self) -> None:
        """Leave in good order: the others get a message, and go on without this one.

        Trainer 0 serves the store, and stays until the others have acknowledged, or for a while.
        """
        self._membership.leave()

    def close(self) -> None:
        """Hang up; without `leave` before it, the others notice after a while."""
        self._membership.close()

    # --- the line to trainer 0 ---

    def _connected(self, store: KeyValueStore) -> None:
        """On the membership's thread."""
        if self._has_begun:
            store.write("begun", "yes")
        if self._is_alone:
            self._is_alone = False
            self._say(f"the rendezvous at {self._settings.rendezvous} is back")

    def _say_alone(self) -> None:
        """A round is done without the others; said once."""
        if self._is_alone:
            return
        self._is_alone = True
        is_over = self._membership.is_over.is_set()
        what = "has ended" if is_over else f"is away ({self._membership.why_away})"
        self._say(
            f"trainer 0, which keeps the rendezvous at {self._settings.rendezvous}, {what}: this trainer "
            "continues alone until it is back"
        )

    # --- the beginning ---

    def _begin(self, store: KeyValueStore, share: Share) -> Round:
        if store.read(["begun"]) == ["yes"]:
            return self._begin_later(store, share)
        result = self._meet(store, _BEGINNING, share, Lineage())
        store.write("begun", "yes")
        self._has_begun = True
        return result

    def _begin_later(self, store: KeyValueStore, share: Share) -> Round:
        """The others have begun: with their newest weights, where the store has them."""
        self._check_kind(store, share)
        self._has_begun = True
        number = _next(store) - 1
        if store.has(f"out/{number}"):
            data = store.get(json.loads(store.read([f"out/{number}"])[0])["name"])
            if data is not None:
                # It has no lineage: the next round gives this trainer all the rest.
                return Round(Share(share_of(data).weights, share.optimizer, share.gathered), Lineage(), ())
        return Round(share, Lineage(), ())

    # --- a round ---

    def _meet(self, store: KeyValueStore, number: int, share: Share, lineage: Lineage) -> Round:
        """Come to this round, and leave it with its result. Raises: StoreLostError, FederationError."""
        rank = self._settings.rank
        self._check_kind(store, share)
        store.write(f"gone/{rank}", NOTHING)
        name = store.put(f"shares/{number}/{rank}", to_bytes(tensors_of(share)))
        store.write(f"at/{rank}", json.dumps(asdict(Posting(rank, number, name, lineage))))
        began = time.monotonic()
        while True:
            if store.has(f"out/{number}"):
                result = self._take(store, number, share, lineage)
                if result is not None:
                    return result
                # This trainer was given up, and the round is long over.
                return self._meet(store, _next(store), share, lineage)
            if number == _BEGINNING and store.read(["begun"]) == ["yes"]:
                # A trainer came that resumes from a checkpoint.
                return self._begin_later(store, share)
            entries = self._entries(store)
            look = take_attendance(
                rank,
                number,
                entries,
                self._membership.look(store),
                lost_seconds=self._lost_seconds,
                timeout_seconds=self._settings.timeout_seconds,
                waited_seconds=time.monotonic() - began,
            )
            for other, why in look.given_up.items():
                store.compare_and_set(f"gone/{other}", NOTHING, why)
            self._report_changes(entries, look.given_up, number)
            if not look.missing and not look.given_up and look.coordinator == rank:
                self._close(store, number, look.present, share)
            else:
                time.sleep(POLL_SECONDS)

    def _entries(self, store: KeyValueStore) -> dict[int, Entry]:
        """The store's entry of every trainer, by rank."""
        ranks = range(self._settings.world_size)
        texts = iter(store.read([f"{kind}/{rank}" for rank in ranks for kind in ("at", "gone")]))
        return {
            rank: Entry(_posting(at), None if gone == NOTHING else gone)
            for rank, (at, gone) in zip(ranks, zip(texts, texts, strict=True), strict=True)
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
        """Make the result of a round at which all are that are waited for."""
        heirs = present[:1] if number == _BEGINNING else of_one_lineage(present)
        found = {heir.rank: _shared(store, heir, share) for heir in heirs}
        shares = {rank: theirs for rank, theirs in found.items() if theirs is not None}
        if not shares:
            return
        data = to_bytes(tensors_of(average_shares(list(shares.values()))))
        lineage = Lineage(heirs[0].lineage.rounds + (number != _BEGINNING), _mark(data))
        name = store.put(f"results/{number}/{self._settings.rank}", data)
        document = {
            "name": name,
            "lineage": asdict(lineage),
            "from": asdict(heirs[0].lineage),
            "trainers": sorted(shares),
        }
        text = json.dumps(document)
        if store.set_default(f"out/{number}", text) != text:
            # Another did it meanwhile, who took this trainer for gone.
            store.delete(name)
            return
        for posting in present:
            store.delete(posting.name)
        if store.has(f"out/{number - 2}"):
            store.delete(json.loads(store.read([f"out/{number - 2}"])[0])["name"])

    def _take(self, store: KeyValueStore, number: int, share: Share, lineage: Lineage) -> Round | None:
        """The result of a round that is over; None when it is erased."""
        found = json.loads(store.read([f"out/{number}"])[0])
        data = store.get(found["name"])
        # The trainer that made the result may have died before it announced it.
        store.compare_and_set("closed", str(number - 1), str(number))
        store.write(f"gone/{self._settings.rank}", NOTHING)
        if data is None:
            return None
        trainers: tuple[int, ...] = tuple(found["trainers"])
        if self._settings.rank not in trainers and number != _BEGINNING:
            came_from = Lineage(**found["from"])
            why = "they have gone on meanwhile" if came_from != lineage else "it came too late"
            self._say(f"this trainer takes over the policy of {in_words('trainer', trainers)}: {why}")
        result = share_of(data)
        if not is_like(result, share):
            raise FederationError(
                f"the result of {in_words('trainer', trainers)} does not fit: one has trained policies that "
                "another has not yet; raise federated.every_episodes"
            )
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
        return _mark(json.dumps(common, sort_keys=True).encode())


def _next(store: KeyValueStore) -> int:
    """Number of the round that is next."""
    return int(store.read(["closed"])[0]) + 1


def _posting(text: str) -> Posting | None:
    if text == NOTHING:
        return None
    found: dict[str, Any] = json.loads(text)
    lineage = Lineage(**found.pop("lineage"))
    return Posting(**found, lineage=lineage)


def _shared(store: KeyValueStore, posting: Posting, like: Share) -> Share | None:
    """A trainer's share; None when it is missing, or no share of this network."""
    data = store.get(posting.name)
    if data is None:
        return None
    try:
        share = share_of(data)
    except SafetensorError:
        return None
    return share if is_like(share, like) else None


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
