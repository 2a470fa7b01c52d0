"""The answer of `attract look`: kept short, and as lines for people."""

import json
from collections.abc import Callable
from typing import Any, Final

from attract.commands.json_output import KEPT_SHARE, MAX_ANSWER_BYTES, plain_json, shortened
from attract.commands.train_display import printable
from attract.schema.look import LookGlobal, LookReport

MAX_EVAL_LENGTH: Final = 3_000
"""Characters of a value's JSON; a longer one is cut, as a text that has as many in JSON."""
MIN_TEXT_LENGTH: Final = 60
"""Characters that stay of a title, an engine's name, and why the play ended."""
LISTS: Final = {
    name: (name,)
    for name in (
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
} | {"steps": ("episode", "steps"), "actions": ("episode", "actions")}


def short_look(report: LookReport, render: Callable[[LookReport], str]) -> LookReport:
    """The report as `shortened` cuts it; where that is not enough, with short titles and reasons."""
    report = shortened(_with_short_eval(report), render, LISTS, keeps_end=("steps",))
    return report if len(render(report).encode()) <= MAX_ANSWER_BYTES else _with_short_texts(report)


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
    lines += _section("inputs", report, [_input_line(entry) for entry in report.inputs])
    lines += _section("texts", report, [f"{_place(entry)}  {entry.text}" for entry in report.texts])
    lines += _section(
        "buttons",
        report,
        [
            f"{_place(entry)}  {entry.selector or 'drawn'}  {entry.text}"
            + (f"  (one of {entry.count} alike)" if entry.count > 1 else "")
            for entry in report.buttons
        ],
    )
    lines += _section(
        "things",
        report,
        [
            f"{entry.x:.2f},{entry.y:.2f}  {entry.look}"
            + (f"  ({entry.count} of them)" if entry.count > 1 else "")
            for entry in report.things
        ],
    )
    lines += _section("globals", report, [_global_line(entry) for entry in report.globals])
    lines += _steps(report)
    lines += _section(
        "console",
        report,
        [
            f"{entry.by} {entry.level}: {entry.text}" + (f"  (x{entry.times})" if entry.times > 1 else "")
            for entry in report.console
        ],
    )
    lines += _section("alerts", report, list(report.alerts))
    lines += _section("errors", report, list(report.errors))
    lines += _section("missing", report, [f"{entry.address}: {entry.why}" for entry in report.missing])
    lines += _section("notes", report, [f"it {entry}" for entry in report.notes])
    if report.eval is not None:
        error, value = report.eval.error, report.eval.value
        lines.append(f"eval: {json.dumps(plain_json(value))}" if error is None else f"eval threw {error}")
    if report.png is not None:
        lines.append(f"picture: {report.png}")
    if report.sheet is not None:
        lines.append(f"sheet: {report.sheet}")
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


def _input_line(entry: Any) -> str:
    frames = f"{entry.name} in frames {entry.first_frame} to {entry.end_frame - 1}"
    if entry.problem is not None:
        return f"{frames}: {entry.problem}"
    moved = (
        "not compared, for want of time" if entry.num_moved is None else f"moves {entry.num_moved} globals"
    )
    return f"{frames}: {moved}"


def _global_line(entry: LookGlobal) -> str:
    value = json.dumps(plain_json(entry.value))
    text = f"{entry.path} = {value}"
    if entry.kind == "list":
        row = ", ".join(
            f"{name}: {json.dumps(plain_json(number))}"
            for name, number in zip(entry.fields, entry.row, strict=False)
        )
        text = f"{entry.path}: list of {value}" + (f", first {{{row}}}" if row else "")
    elif entry.kind == "grid":
        text = f"{entry.path}: grid of {value} cells, {json.dumps(plain_json(entry.row))}"
    if entry.direction != "still":
        span = "" if entry.low is None or entry.high is None else f"{entry.low:g} to {entry.high:g}, "
        text += f"  ({span}{entry.direction})"
    if entry.moved_by:
        text += "  moved by " + ", ".join(f"{name}: {how}" for name, how in entry.moved_by.items())
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


def _place(entry: Any) -> str:
    return f"{entry.x:g},{entry.y:g}"


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")


def _json(value: Any) -> str:
    return json.dumps(plain_json(value))


def _with_short_eval(report: LookReport) -> LookReport:
    if report.eval is None:
        return report
    text = _json(report.eval.value)
    if len(text) <= MAX_EVAL_LENGTH:
        return report
    cut = text[:MAX_EVAL_LENGTH]
    while len(_json(cut)) > MAX_EVAL_LENGTH:
        cut = cut[: int(KEPT_SHARE * len(cut))]
    value = report.eval.model_copy(update={"value": cut})
    left_out = {**report.left_out, "characters of eval": len(text) - len(cut)}
    return report.model_copy(update={"eval": value, "left_out": left_out})


def _with_short_texts(report: LookReport) -> LookReport:
    texts = {name: getattr(report, name) for name in ("title", "engine", "ended")}
    return report.model_copy(
        update={name: text[:MIN_TEXT_LENGTH] for name, text in texts.items() if text is not None}
    )
