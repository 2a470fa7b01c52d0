"""Which rows of the store are free; a row is owned here, or by the caller that took it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class RowAllocator:
    """Hands out row numbers; a row is free, or taken by exactly one segment. Owned by the core."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.reserved = 0
        """Rows promised to open leases, not yet taken."""
        self._free = np.ones(capacity, np.bool_)
        self._next = 0
        """Where the rows just after the last taken ones lie, mostly free; the lowest given back since."""
        self.num_free = capacity

    @property
    def available(self) -> int:
        """Free rows that are not reserved."""
        return self.num_free - self.reserved

    def take(self, count: int) -> NDArray[np.int64]:
        """`count` free rows, next to each other where possible, which makes writing them fast.

        Raises: RuntimeError: when there are not that many, which reservations rule out.
        """
        if count > self.num_free:
            raise RuntimeError(f"expected at least {count} free rows, have {self.num_free}")
        following = self._free[self._next : self._next + count]
        if len(following) == count and bool(following.all()):
            # Looking through the whole store for every small block would cost more than the block.
            rows = np.arange(self._next, self._next + count)
        else:
            free = np.flatnonzero(self._free)
            starts = np.flatnonzero(free[count - 1 :] - free[: len(free) - count + 1] == count - 1)
            rows = free[starts[0] : starts[0] + count] if len(starts) else free[:count]
        self._next = int(rows[-1]) + 1
        self._free[rows] = False
        self.num_free -= count
        return rows

    def give_back(self, rows: NDArray[np.int64] | Sequence[int]) -> None:
        """Free rows that were taken. Raises: RuntimeError: when one of them is free already."""
        index = np.asarray(rows, np.int64)
        if bool(self._free[index].any()):
            raise RuntimeError(
                f"expected taken rows, got {index[self._free[index]].tolist()!r} that are free"
            )
        self._free[index] = True
        self._next = min(self._next, int(index.min(initial=self._next)))
        self.num_free += len(index)
