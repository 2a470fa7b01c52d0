"""`attract bench`: measures, prints a table, keeps a JSON and compares it with an earlier one."""

import importlib.util
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attract.commands.destination import check_writable, writing
from attract.errors import ConfigurationError
from attract.files import MAX_JSON_BYTES, parse_object, read_file
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.machine import describe_machine
from attract_benchmarks.harness.measure import BenchOptions, Measure, choose
from attract_benchmarks.harness.table import comparison, table
from attract_benchmarks.speed.catalogue import MEASURES

EXIT_SLOWER = 1
EXIT_FAILED = 2
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BenchCommandOptions:
    """Arguments of the command line; `only` and `peers` as in `choose`."""

    options: BenchOptions
    only: Sequence[str] = ()
    peers: bool = False
    json_output: bool = False
    out: Path | None = None
    compare: Path | None = None


def run_bench(
    order: BenchCommandOptions, say: Callable[[str], None], print_out: Callable[[str], None]
) -> int:
    """Measure and print; 0, 1 when something got slower than in the earlier file, 2 when something failed.

    What one measure fails at costs the others nothing: they are measured, and kept as soon as they are.

    Args:
        order: what to measure.
        say: gets progress messages; with `json_output` that must not be stdout.
        print_out: takes the result.

    Raises: ConfigurationError: for an unknown figure, a missing package, a file that is no earlier result.
    """
    measures = choose(MEASURES, only=order.only, peers=order.peers)
    earlier = None if order.compare is None else read_figures(order.compare)
    measures = _with_packages(measures, say)
    if order.out is not None:
        check_writable(order.out)
    figures: dict[str, Figure] = {}
    failed: list[str] = []
    text = _document(figures)
    for number, measure in enumerate(measures, start=1):
        names = ", ".join(measure.names)
        say(f"{number}/{len(measures)} {names}: {measure.about}")
        try:
            figures |= measure.run(order.options)
        except Exception as error:
            log.debug("%s failed", names, exc_info=True)
            failed.append(f"{names} failed: {type(error).__name__}: {error}")
            say(failed[-1])
        text = _document(figures)
        if order.out is not None:
            with writing(order.out):
                order.out.parent.mkdir(parents=True, exist_ok=True)
                order.out.write_text(text + "\n", encoding="utf-8")
    slower: list[str] = []
    compared = ""
    if earlier is not None:
        compared, slower = comparison(figures, earlier)
    if order.json_output:
        print_out(text)
        # The one object stays alone on stdout.
        if compared:
            say(compared)
    else:
        print_out(table(figures))
        if compared:
            print_out(f"\nagainst {order.compare}:\n{compared}")
    for line in failed:
        # Once more, where the eye is: after the table.
        say(line)
    return EXIT_FAILED if failed else EXIT_SLOWER if slower else 0


def _document(figures: Mapping[str, Figure]) -> str:
    machine = describe_machine()
    measured = {name: figure.model_dump(mode="json") for name, figure in figures.items()}
    return json.dumps({"machine": machine, "figures": measured}, indent=2)


def list_measures() -> str:
    """Every figure's name and what it is, a line each."""
    return "\n".join(
        f"{', '.join(measure.names)}: {measure.about}"
        + ("" if measure.by_default else "  (only with --peers or --only)")
        for measure in MEASURES
    )


def read_figures(path: Path) -> dict[str, Figure]:
    """The figures of an earlier `attract bench --json`.

    Raises: ConfigurationError: when the file is not one.
    """
    try:
        document = parse_object(read_file(path, MAX_JSON_BYTES), path)
        values: Mapping[str, Any] = document["figures"]
        return {name: Figure.model_validate(figure) for name, figure in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(
            "is not a result of `attract bench`",
            setting=str(path),
            fix="make one with attract bench --out FILE",
        ) from None


def _with_packages(measures: Sequence[Measure], say: Callable[[str], None]) -> list[Measure]:
    """The measures whose packages are installed; reports which are left out, and why.

    Raises: ConfigurationError: without a package that cannot be done without, or if none is left.
    """
    kept: list[Measure] = []
    missing: set[str] = set()
    reasons: list[str] = []
    for measure in measures:
        lacks = {name for name in measure.needs if importlib.util.find_spec(name) is None}
        if lacks and measure.reason_left_out:
            reasons.append(measure.reason_left_out)
            say(f"{', '.join(measure.names)} is left out: {measure.reason_left_out}")
            continue
        missing |= lacks
        kept.append(measure)
    if missing:
        raise ConfigurationError(
            f"the baselines' packages are not installed: {', '.join(sorted(missing))}",
            setting="attract bench",
            fix="pip install 'attract-rl[results]'",
        )
    if not kept:
        raise ConfigurationError("nothing is left to measure", setting="attract bench", fix=reasons[0])
    return kept
