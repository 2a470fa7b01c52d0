"""`attract metrics`: prints the metrics of a run, whether it is still trained or not."""

import fnmatch
import json
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.commands import flags
from attract.commands.json_output import MAX_ANSWER_BYTES, json_text, print_answer
from attract.errors import ConfigurationError, few_names, nearest_name
from attract.processes.exit_codes import DONE
from attract.runs.directory import RunDirectory, find_run
from attract.runs.metrics import MetricsStore
from attract.runs.plain_text import plain
from attract.schema.answers import RunMetric, RunMetrics
from attract.schema.metrics import MetricSeries, MetricsView

NAMED_POINTS: Final = 20
"""Values of each metric that was named."""
WHOLE_POINTS: Final = 500
"""Points from which first, last and extremes are taken: of a shorter run, its updates."""


@flags.options
class MetricsOptions:
    points: Annotated[int | None, Parameter(validator=Number(gte=0, lte=500))] = None
    """Number of values of each metric; by default 20 of those that are named. With it nothing is left out;
    else the answer has at most 8 kB."""
    runs_dir: flags.RunsDir = None
    json_output: flags.Json = False


def metrics(run: flags.Run, /, *names: str, options: MetricsOptions = MetricsOptions()) -> int:
    """Print the metrics of RUN: first, last, lowest and highest value of each, and values of those named.

    Parameters
    ----------
    names
        Metrics, or patterns such as "rollout/*"; by default all.

    Examples
    --------
    attract metrics latest  # first, last, lowest and highest of each
    attract metrics latest rollout/ep_rew_mean --points 50  # how it went
    attract metrics latest 'rollout/*' --json  # for scripts and coding agents
    """
    found = run_metrics(flags.server_settings(options).runs_dir, run, names, options.points)
    if options.json_output:
        print_answer(found)
    else:
        print("\n".join(metrics_lines(found)))
    return DONE


def run_metrics(
    runs_dir: Path, run: str, names: tuple[str, ...] = (), points: int | None = None
) -> RunMetrics:
    """The metrics of a run, unless `points` are given in at most `MAX_ANSWER_BYTES` of JSON.

    Args:
        runs_dir: where runs are kept.
        run: id of a run, or `latest`.
        names: of metrics, or patterns such as `rollout/*`; empty: all.
        points: values of each metric, means of equal spans of updates; None: `NAMED_POINTS` of those that are
            named, none of others.

    Raises:
        ConfigurationError: no such run or metric.
        DamagedRunError: its database is damaged.
    """
    directory = RunDirectory.view(runs_dir, find_run(runs_dir, run))
    is_bounded = points is None
    points = points if points is not None else NAMED_POINTS if names else 0
    with directory.naming_damage():
        if not directory.metrics_path.is_file():
            return RunMetrics(run_id=directory.run_id, agent_steps=None, axis=None, metrics={})
        store = MetricsStore(directory.metrics_path)
        try:
            chosen = _chosen(names, store.names())
            whole = store.query(directory.run_id, chosen, max_points=WHOLE_POINTS)
            few = store.query(directory.run_id, chosen, max_points=points) if points > 0 else None
        finally:
            store.close()
    values = {} if few is None else {series.name: _values(series, few) for series in few.series}
    metrics = {
        series.name: _metric(series, values.get(series.name)) for series in whole.series if series.values
    }
    axis = None if few is None else [round(steps) for steps in few.agent_steps]
    answer = RunMetrics(run_id=directory.run_id, agent_steps=whole.last_steps, axis=axis, metrics=metrics)
    return _short(answer) if is_bounded else answer


def metrics_lines(answer: RunMetrics) -> list[str]:
    steps = "no update yet" if answer.agent_steps is None else f"{answer.agent_steps:,} agent steps"
    lines = [f"{answer.run_id}: {steps}"]
    for name, metric in answer.metrics.items():
        lines.append(
            f"  {name}: {metric.first:g} -> {metric.last:g}  (between {metric.low:g} and {metric.high:g})"
        )
        if metric.values is not None:
            lines.append(f"    {' '.join('-' if value is None else f'{value:g}' for value in metric.values)}")
    if answer.axis:
        lines.append(f"  values at agent steps {' '.join(f'{at:,}' for at in answer.axis)}")
    if answer.left_out:
        lines.append(f"left out: {', '.join(answer.left_out)}")
    return [plain(line) for line in lines]


def _chosen(wanted: tuple[str, ...], known: list[str]) -> list[str]:
    chosen: dict[str, None] = {}
    for name in wanted:
        found = [entry for entry in known if fnmatch.fnmatchcase(entry, name)]
        if not found:
            near = nearest_name(name, known)
            raise ConfigurationError(
                f"this run has no metric {name!r}",
                setting="NAME",
                fix=f"did you mean {near}?" if near else f"it has {few_names(known) or 'none yet'}",
            )
        chosen |= dict.fromkeys(found)
    return list(chosen) if wanted else known


def _metric(series: MetricSeries, values: list[float | None] | None) -> RunMetric:
    low, high = min(series.low or series.values), max(series.high or series.values)
    first, last = series.values[0], series.values[-1]
    return RunMetric(
        first=_digits(first), last=_digits(last), low=_digits(low), high=_digits(high), values=values
    )


def _values(series: MetricSeries, view: MetricsView) -> list[float | None]:
    places = range(len(view.agent_steps)) if series.at is None else series.at
    values: list[float | None] = [None] * len(view.agent_steps)
    for at, value in zip(places, series.values, strict=True):
        values[at] = _digits(value)
    return values


def _short(answer: RunMetrics) -> RunMetrics:
    """Without the last metrics, as far as the answer would be longer than `MAX_ANSWER_BYTES`."""
    names = list(answer.metrics)

    def with_first(count: int) -> RunMetrics:
        kept = {name: answer.metrics[name] for name in names[:count]}
        return answer.model_copy(update={"metrics": kept, "left_out": _named(names[count:])})

    def is_too_long(count: int) -> bool:
        return len(json_text(with_first(count))) > MAX_ANSWER_BYTES

    return with_first(max(1, bisect_left(range(1, len(names) + 1), True, key=is_too_long)))


def _named(names: Sequence[str]) -> list[str]:
    """As many names as half of a short answer has room for, then the number of the others."""
    ends = accumulate(len(json.dumps(name)) + 1 for name in names)
    count = sum(end <= MAX_ANSWER_BYTES // 2 for end in ends)
    more = [] if count == len(names) else [f"and {len(names) - count} more"]
    return [*names[:count], *more]


def _digits(value: float) -> float:
    return float(f"{value:.6g}")
