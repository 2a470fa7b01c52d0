"""Rendezvous of a group's learners, the first time and after one of them was lost."""

import contextlib
import json
import logging
import secrets
import socket
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from torch.distributed import Store, TCPStore  # pyright: ignore[reportPrivateImportUsage]

from attract.errors import GroupError
from attract.settings.cells import Cell

POLL_SECONDS: Final = 0.05
ANSWER_SECONDS: Final = 30.0
"""Time limit for one answer of the store."""
log = logging.getLogger(__name__)


def open_store(cell: Cell, limit_seconds: float) -> TCPStore:
    """The store at the master's address: rank 0 listens there, unless the launcher does.

    Raises: GroupError: no store listens there within the limit, or rank 0 cannot.
    """
    deadline = time.monotonic() + limit_seconds
    is_master = cell.leads and not cell.has_store
    where = f"{cell.address}:{cell.port}"
    while True:
        try:
            if not is_master:
                # A TCPStore tries again until its limit, and writes a page about each time.
                socket.create_connection((cell.address, cell.port), timeout=POLL_SECONDS * 20).close()
            return connect(cell, is_master=is_master)
        except (OSError, RuntimeError) as error:
            why = str(error).strip().splitlines()[0][:200]
            if time.monotonic() >= deadline:
                who = "cell 0 cannot listen at" if is_master else "cell 0 is awaited at"
                raise GroupError(f"{who} {where}, for {limit_seconds:g} s: {why}") from error
            time.sleep(POLL_SECONDS * 4)


def connect(cell: Cell, *, is_master: bool = False) -> TCPStore:
    """One more connection to the store, for one thread. Raises: RuntimeError: it cannot be made."""
    limit = timedelta(seconds=ANSWER_SECONDS)
    return TCPStore(cell.address, cell.port, None, is_master=is_master, wait_for_workers=False, timeout=limit)


def meet(store: Store, cell: Cell, limit_seconds: float) -> int:
    """Wait until a learner of every cell is here; the number of the meeting, which all of them get.

    When one learner is lost, its whole group ends: other learners replace it and meet again. The store may
    be the same (a launcher keeps it), so rank 0 gives each meeting a number of its own, and each learner has
    a mark of its own: those of an earlier meeting do not count as present.

    Raises: GroupError: names those that did not join within the limit.
    """
    deadline = time.monotonic() + limit_seconds
    mark = secrets.token_hex(8)
    try:
        if cell.leads:
            return _call(store, cell, mark, deadline, limit_seconds)
        return _come(store, cell, mark, deadline, limit_seconds)
    except RuntimeError as error:
        raise GroupError(
            f"cell 0 at {cell.address}:{cell.port} was lost before all cells had joined"
        ) from error


def _call(store: Store, cell: Cell, mark: str, deadline: float, limit_seconds: float) -> int:
    number = store.add("meeting", 1)
    others = range(1, cell.size)
    while missing := [rank for rank in others if not store.check([f"{number}/here/{rank}"])]:
        if time.monotonic() >= deadline:
            raise GroupError(f"{in_words(missing)} did not join within {limit_seconds:g} s")
        time.sleep(POLL_SECONDS)
    marks = {str(rank): store.get(f"{number}/here/{rank}").decode() for rank in others}
    store.set(f"{number}/begun", json.dumps({"0": mark, **marks}))
    return number


def _come(store: Store, cell: Cell, mark: str, deadline: float, limit_seconds: float) -> int:
    come_to = 0
    while True:
        number = store.add("meeting", 0)
        if number > come_to:
            come_to = number
            store.set(f"{number}/here/{cell.rank}", mark)
        if number > 0 and store.check([f"{number}/begun"]):
            marks = json.loads(store.get(f"{number}/begun").decode())
            if marks[str(cell.rank)] == mark:
                return number
        if time.monotonic() >= deadline:
            what = "cell 0" if come_to == 0 else "another cell, or cell 0 after it lost one,"
            raise GroupError(f"{what} did not join within {limit_seconds:g} s")
        time.sleep(POLL_SECONDS)


def in_words(ranks: Sequence[int]) -> str:
    """`cell 1`, or `cells 1, 2`."""
    numbers = ", ".join(str(rank) for rank in ranks)
    return f"cell {numbers}" if len(ranks) == 1 else f"cells {numbers}"


def erase(store: Store, key: str) -> None:
    """Take a key away where the store still answers."""
    with contextlib.suppress(RuntimeError):
        store.delete_key(key)
