"""The versions of a run: which checkpoints stay when others are removed, and how a command names one."""

from collections.abc import Sequence
from typing import Final

from attract.errors import ConfigurationError

NUM_NEWEST: Final = 20
"""Newest versions, all of which stay."""
NUM_SPREAD: Final = 20
"""At least so many versions are spread over a longer run, and at most twice as many."""
MAX_DIGITS: Final = 15
MAX_LISTED: Final = 80
"""Versions that an error lists; of more it leaves out those in the middle."""


def thinned(versions: Sequence[int]) -> list[int]:
    """The versions whose checkpoints stay: the newest 20, and 20 to 40 spread evenly over the run.

    The run is divided into parts of equal width, a power of two; the first version of each part stays. A
    longer run has parts of twice the width, so that what stays later was never removed earlier.

    Args:
        versions: of a run, at least 0, in any order, each once.

    Returns: some of them, ascending.
    """
    known = sorted(versions)
    if not known:
        return []
    width = 1
    while known[-1] >= 2 * NUM_SPREAD * width:
        width *= 2
    first: dict[int, int] = {}
    for version in known:
        first.setdefault(version // width, version)
    return sorted({*first.values(), *known[-NUM_NEWEST:]})


def find_version(
    name: str, versions: Sequence[int], best: int | None, *, run_id: str, setting: str = "--version"
) -> int:
    """The version that a command names: a number, `best`, `newest` or `first`; `v12` is 12.

    Args:
        versions: those of run `run_id`, ascending.
        best: the version marked so; None if no version is marked: then `best` is the newest.

    Raises: ConfigurationError: it names none, listing the versions that are there.
    """
    if not versions:
        raise ConfigurationError(f"run {run_id} has no policy yet", setting=setting)
    word = name.strip().lower()
    named = {"best": best, "newest": versions[-1], "first": versions[0]}
    digits = word.removeprefix("v")
    chosen: int | None = None
    if word in named:
        chosen = versions[-1] if named[word] is None else named[word]
    elif digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS:
        chosen = int(digits)
    if chosen is not None and chosen in versions:
        return chosen
    problem = f"{name[:40]!r} is no version" if chosen is None else f"version {chosen} is not there"
    raise ConfigurationError(
        f"{problem} in {run_id}",
        setting=setting,
        fix=f"these are: {_listed(versions)}; or best, newest, first. "
        "`attract train --callbacks.checkpoint.every-steps 100000` keeps more versions",
    )


def _listed(versions: Sequence[int]) -> str:
    shown = [str(version) for version in versions]
    if len(shown) > MAX_LISTED:
        half = MAX_LISTED // 2
        shown = [*shown[:half], f"... ({len(shown) - MAX_LISTED} more) ...", *shown[-half:]]
    return ", ".join(shown)
