"""Measures: each gives the figures that it names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from attract.errors import ConfigurationError, nearest_name
from attract_benchmarks.harness.figure import Figure


@dataclass(frozen=True)
class BenchOptions:
    """Options of a measurement.

    Attributes:
        rounds: of each figure; the median counts.
        device: torch's, for the learner's figures: "cpu" or "cuda".
        quick: shorter rounds, for the guard: a collapse shows, a few percent do not.
        say: gets a line of progress for each measurement.
    """

    rounds: int = 5
    device: str = "cpu"
    quick: bool = False
    say: Callable[[str], None] = lambda _line: None


@dataclass(frozen=True)
class Measure:
    """One part of the benchmark.

    Attributes:
        names: every figure that `run` gives, e.g. ("publish/p50_ms", "publish/p99_ms").
        about: what is measured against what, one line for `--list`.
        run: measures, and gives exactly the figures of `names`.
        needs: packages beyond Attract's own, named when they are missing.
        by_default: False for what runs only when asked for (`--peers`, `--only`).
        reason_left_out: where what it needs is hard to build: without it the others are measured, and this is
            said. Empty: what it needs has to be there.
    """

    names: tuple[str, ...]
    about: str
    run: Callable[[BenchOptions], Mapping[str, Figure]]
    needs: tuple[str, ...] = ()
    by_default: bool = True
    reason_left_out: str = ""


def choose(measures: Sequence[Measure], *, only: Sequence[str], peers: bool) -> list[Measure]:
    """The measures that were asked for: `only` by figure name or by its first part (`publish`).

    Raises: ConfigurationError: for a name no measure gives.
    """
    if not only:
        return [measure for measure in measures if measure.by_default or (peers and measure.needs)]
    known = {name for measure in measures for name in measure.names}
    known |= {name.split("/")[0] for name in known}
    for wanted in only:
        if wanted not in known:
            nearest = nearest_name(wanted, sorted(known))
            raise ConfigurationError(
                f"no figure is called {wanted!r}",
                setting="attract bench --only",
                fix=(f"did you mean {nearest!r}? " if nearest else "") + "`attract bench --list` names all",
            )
    return [
        measure
        for measure in measures
        if any(name in only or name.split("/")[0] in only for name in measure.names)
    ]
