"""Meeting of the learners of all cells, the first time and after one of them was lost."""

import json
import secrets
import time
from typing import Final

from attract.errors import GroupError
from attract.learner.group.membership import LOST_SECONDS, in_words
from attract.learner.group.store import KeyValueStore, StoreLostError
from attract.settings.cells import Cell

POLL_SECONDS: Final = 0.05


def meet(cell: Cell, limit_seconds: float) -> tuple[KeyValueStore, int]:
    """The store at the master's address, and the number of the meeting, which all cells get.

    Rank 0 serves the store, unless the launcher does. When one learner is lost, its whole group ends: other
    learners replace it and meet again. The store may be the same (a launcher keeps it), so rank 0 gives each
    meeting a number of its own, and each learner has a mark of its own: those of an earlier meeting do not
    count as present.

    Raises: GroupError: no store listens there within the limit, or rank 0 cannot; or names those that did
        not join within it.
    """
    where = f"{cell.address}:{cell.port}"
    deadline = time.monotonic() + limit_seconds
    serves = cell.leads and not cell.has_store
    try:
        store = KeyValueStore.open(
            cell.address, cell.port, LOST_SECONDS, serves=serves, patience_seconds=limit_seconds
        )
    except StoreLostError as error:
        who = "cell 0 cannot listen at" if serves else "cell 0 is awaited at"
        raise GroupError(f"{who} {where}, for {limit_seconds:g} s: {error}") from error
    mark = secrets.token_hex(8)
    try:
        number = (_call if cell.leads else _come)(store, cell, mark, deadline, limit_seconds)
    except StoreLostError as error:
        raise GroupError(f"cell 0 at {where} was lost before all cells had joined") from error
    return store, number


def _call(store: KeyValueStore, cell: Cell, mark: str, deadline: float, limit_seconds: float) -> int:
    number = store.add("meeting", 1)
    others = range(1, cell.size)
    while missing := [rank for rank in others if not store.has(f"{number}/here/{rank}")]:
        if time.monotonic() >= deadline:
            raise GroupError(f"{in_words('cell', missing)} did not join within {limit_seconds:g} s")
        time.sleep(POLL_SECONDS)
    marks = store.read([f"{number}/here/{rank}" for rank in others])
    store.write(f"{number}/begun", json.dumps([mark, *marks]))
    return number


def _come(store: KeyValueStore, cell: Cell, mark: str, deadline: float, limit_seconds: float) -> int:
    come_to = 0
    while True:
        number = store.add("meeting", 0)
        if number > come_to:
            come_to = number
            store.write(f"{number}/here/{cell.rank}", mark)
        if number > 0 and store.has(f"{number}/begun"):
            marks = json.loads(store.read([f"{number}/begun"])[0])
            if marks[cell.rank] == mark:
                return number
        if time.monotonic() >= deadline:
            what = "cell 0" if come_to == 0 else "another cell, or cell 0 after it lost one,"
            raise GroupError(f"{what} did not join within {limit_seconds:g} s")
        time.sleep(POLL_SECONDS)
