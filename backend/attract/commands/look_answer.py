"""The answer of `attract look`: kept short, and as lines for people."""

import json
from collections.abc import Callable
from typing import Any, Final

from attract.commands.train_display import printable
from attract.schema.look import LookGlobal, LookReport

MAX_ANSWER_BYTES: Final = 8_000
MAX_EVAL_LENGTH: Final = 3_000
"""Characters of a value's JSON; a longer one is cut, as a text."""
SHORTENED: Final = 0.75
"""Share of a list's entries that stays each time."""
LISTS: Final = (
    "globals",
    "texts",
    "things",
    "buttons",
    "console",
    "notes",
    "missing",
    "errors",
    "contracts",
    "alerts",
    "inputs",
)


def shortened(report: LookReport, render: Callable[[LookReport], str]) -> LookReport:
    """The report without the last entries of its longest lists, so that its answer has `MAX_ANSWER_BYTES`.

    Of an episode's steps those before the last go. `left_out` counts what went.
    """
    report = _with_short_eval(report)
    while len(render(report).encode()) > MAX_ANSWER_BYTES:
        sizes = {name: _size(getattr(report, name)) for name in LISTS if getattr(report, name)}
        if report.episode is not None:
            if report.episode.steps:
                sizes["steps"] = _size(report.episode.steps)
            if report.episode.actions:
                sizes["actions"] = _size(report.episode.actions)
        if not sizes:
            return report
        report = _with_fewer(report, max(sizes, key=lambda name: sizes[name]))
    return report


def json_text(report: LookReport) -> str:
    """The report as one line of JSON, ASCII alone: no terminal obeys what a page says."""
    return json.dumps(_plain(report.model_dump(mode="json")), separators=(",", ":"))


def text_of(report: LookReport) -> str:
    """The report as lines."""
    return "\n".join(look_lines(report))


def look_lines(report: LookReport) -> list[str]:
    """The printed lines, without characters that a terminal would obey."""
    width, height = (f"{side:g}" for side in report.size)
    lines = [
        f"{report.title}: made with {report.engine or 'no known engine'}, {width}x{height}, "
        f"{report.frames} frames, looked at in {report.seconds:.1f} s"
    ]
    if report.ended is not None:
        lines.append(f"ended early: {report.ended}")
    if report.contracts:
        lines.append(f"offers: {', '.join(report.contracts)}")
    lines += _section("inputs", report, [_input_line(one) for one in report.inputs])
    lines += _section("texts", report, [f"{_place(one)}  {one.text}" for one in report.texts])
    lines += _section(
        "buttons",
        report,
        [
            f"{_place(one)}  {one.selector or 'drawn'}  {one.text}"
            + (f"  (one of {one.count} alike)" if one.count > 1 else "")
            for one in report.buttons
        ],
    )
    lines += _section(
        "things",
        report,
        [
            f"{one.x:.2f},{one.y:.2f}  {one.look}" + (f"  ({one.count} of them)" if one.count > 1 else "")
            for one in report.things
        ],
    )
    lines += _section("globals", report, [_global_line(one) for one in report.globals])
    lines += _steps(report)
    lines += _section(
        "console",
        report,
        [
            f"{one.by} {one.level}: {one.text}" + (f"  (x{one.times})" if one.times > 1 else "")
            for one in report.console
        ],
    )
    lines += _section("alerts", report, list(report.alerts))
    lines += _section("errors", report, list(report.errors))
    lines += _section("missing", report, [f"{one.address}: {one.why}" for one in report.missing])
    lines += _section("notes", report, [f"it {one}" for one in report.notes])
    if report.eval is not None:
        error, value = report.eval.error, report.eval.value
        lines.append(f"eval: {json.dumps(_plain(value))}" if error is None else f"eval threw {error}")
    if report.png is not None:
        lines.append(f"picture: {report.png}")
    if report.left_out:
        cut = ", ".join(f"{count} {name}" for name, count in report.left_out.items())
        lines.append(f"left out: {cut}; --full has them")
    return [printable(_one_line(line)) for line in lines]


def _section(name: str, report: LookReport, lines: list[str]) -> list[str]:
    if not lines and name not in report.left_out:
        return []
    total = report.num_globals if name == "globals" else len(lines) + report.left_out.get(name, 0)
    count = str(total) if total == len(lines) else f"{len(lines)} of {total}"
    return [f"{name} ({count}):", *(f"  {_one_line(line)}" for line in lines)]


def _input_line(one: Any) -> str:
    frames = f"{one.name} in frames {one.first_frame} to {one.end_frame - 1}"
    if one.problem is not None:
        return f"{frames}: {one.problem}"
    moved = "not compared, for want of time" if one.num_moved is None else f"moves {one.num_moved} globals"
    return f"{frames}: {moved}"


def _global_line(one: LookGlobal) -> str:
    value = json.dumps(_plain(one.value))
    text = f"{one.path} = {value}"
    if one.kind == "list":
        row = ", ".join(
            f"{name}: {json.dumps(_plain(number))}" for name, number in zip(one.fields, one.row, strict=False)
        )
        text = f"{one.path}: list of {value}" + (f", first {{{row}}}" if row else "")
    elif one.kind == "grid":
        text = f"{one.path}: grid of {value} cells, {json.dumps(_plain(one.row))}"
    if one.direction != "still":
        span = "" if one.low is None or one.high is None else f"{one.low:g} to {one.high:g}, "
        text += f"  ({span}{one.direction})"
    if one.moved_by:
        text += "  moved by " + ", ".join(f"{name}: {how}" for name, how in one.moved_by.items())
    return text


def _steps(report: LookReport) -> list[str]:
    episode = report.episode
    if episode is None:
        return []
    kind = "score" if episode.has_score else "reward"
    lines = [
        f"game {episode.game_id}: {episode.ticks_per_step} frames a step, "
        f"actions {', '.join(episode.actions) or 'without labels'}"
    ]
    steps: list[str] = []
    for step in episode.steps:
        mask = "" if step.mask is None else f"  mask {_json(step.mask)}"
        steps.append(
            f"{step.step}: {kind} {_json(step.score)}  over {_json(step.over)}{mask}  "
            f"observation {_json(step.observation)}"
        )
    return [*lines, *_section("steps", report, steps)]


def _place(one: Any) -> str:
    return f"{one.x:g},{one.y:g}"


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")


def _json(value: Any) -> str:
    return json.dumps(_plain(value))


def _plain(value: Any) -> Any:
    """Whole numbers without their point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


def _size(entries: list[Any]) -> int:
    return sum(len(entry if isinstance(entry, str) else entry.model_dump_json()) for entry in entries)


def _with_short_eval(report: LookReport) -> LookReport:
    if report.eval is None:
        return report
    text = _json(report.eval.value)
    if len(text) <= MAX_EVAL_LENGTH:
        return report
    value = report.eval.model_copy(update={"value": text[:MAX_EVAL_LENGTH]})
    left_out = {**report.left_out, "characters of eval": len(text) - MAX_EVAL_LENGTH}
    return report.model_copy(update={"eval": value, "left_out": left_out})


def _with_fewer(report: LookReport, name: str) -> LookReport:
    episode = report.episode
    of_episode = name in ("steps", "actions") and episode is not None
    entries: list[Any] = getattr(episode if of_episode else report, name)
    number = int(SHORTENED * len(entries))
    kept = entries[:number]
    if name == "steps" and number > 0:
        # How it ends says more than one step in between.
        kept = [*entries[: number - 1], entries[-1]]
    left_out = {**report.left_out, name: report.left_out.get(name, 0) + len(entries) - number}
    if of_episode and episode is not None:
        return report.model_copy(
            update={"episode": episode.model_copy(update={name: kept}), "left_out": left_out}
        )
    return report.model_copy(update={name: kept, "left_out": left_out})
