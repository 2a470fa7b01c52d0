"""Output of `attract tune`: a table on a terminal, a line for each trial that ends anywhere else."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from attract.commands.output import say
from attract.commands.train_display import duration, number, printable
from attract.schema.studies import StudyConfirmation, StudyTrial, StudyView

SHOWN_TRIALS: Final = 15


class StudyDisplay:
    """Prints the progress of a study; a context manager, owned by the tune command."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self._printed: set[tuple[str, int, int]] = set()
        self._is_first = True

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print a line that stays above the live display."""
        say(self._console, text)

    def changed(self, view: StudyView) -> None:
        if self._live is not None:
            self._live.update(study_table(view))
            return
        for trial in view.trials:
            if self._is_new("trial", trial.number, 0) and trial.state != "running" and not self._is_first:
                self.say(trial_line(trial))
            elif trial.state == "running":
                self._printed.discard(("trial", trial.number, 0))
        for row in view.confirmations:
            if row.seeds and self._is_new("seed", row.trial, len(row.seeds)) and not self._is_first:
                self.say(confirmation_line(row))
        if self._is_first and view.trials:
            self.say(f"study {view.study}: {len(view.trials)} trials are done already")
        self._is_first = False

    def _is_new(self, kind: str, number: int, count: int) -> bool:
        key = (kind, number, count)
        is_new = key not in self._printed
        self._printed.add(key)
        return is_new


def trial_line(trial: StudyTrial) -> str:
    front = "  on the front" if trial.on_front else ""
    return printable(
        f"trial {trial.number}  {trial.state}  score {number(trial.score)}  {_seconds(trial.seconds)}  "
        f"{trial.agent_steps} steps{front}  {settings_text(trial)}"
    )


def confirmation_line(row: StudyConfirmation) -> str:
    """One line on a run with a fresh seed."""
    who = "the defaults" if row.trial == 0 else f"trial {row.trial}"
    return f"confirmed  {who}  seed {row.seeds[-1]}  score {row.scores[-1]:.4g}  {row.seconds[-1]:.1f} s"


def settings_text(trial: StudyTrial) -> str:
    """The settings in a line; those of the defaults by that word."""
    if trial.number == 0:
        return "the defaults"
    return " ".join(f"{name.split('.')[-1]}={_value(value)}" for name, value in trial.settings.items())


def study_table(view: StudyView) -> Group:
    """The newest trials, the best first, and what is known of the finalists."""
    table = Table(title=f"{escape(view.study)}: {view.state}", title_justify="left")
    for name in ("trial", "", "score", "seconds", "steps"):
        table.add_column(name, justify="left" if name == "" else "right")
    table.add_column("settings", overflow="fold")
    running = [trial for trial in view.trials if trial.state == "running"]
    ended = [trial for trial in view.trials if trial.state == "finished" and trial.score is not None]
    best = sorted(ended, key=lambda trial: -(trial.score or 0.0))
    default = [trial for trial in best if trial.number == 0]
    shown = best[: SHOWN_TRIALS - len(running)]
    for trial in [*running, *shown, *(trial for trial in default if trial not in shown)]:
        table.add_row(
            str(trial.number),
            "running" if trial.state == "running" else ("front" if trial.on_front else ""),
            number(trial.score),
            _seconds(trial.seconds),
            f"{trial.agent_steps:,}",
            escape(printable(settings_text(trial))),
            style="bold" if trial.on_front else None,
        )
    counts: Mapping[str, Any] = {
        state: sum(trial.state == state for trial in view.trials)
        for state in ("finished", "pruned", "failed")
    }
    totals = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    lines = [
        f"{totals or 'no trial has finished yet'} of {view.num_trials}; {duration(view.elapsed_seconds)}"
    ]
    lines += [confirmation_text(row) for row in view.confirmations if row.seeds]
    return Group(table, *(Text(line) for line in lines))


def confirmation_text(row: StudyConfirmation) -> str:
    """Result so far of a finalist or of the defaults."""
    who = "the defaults" if row.trial == 0 else f"trial {row.trial}"
    verdict = "" if row.verdict is None else f": {row.verdict} (chance {row.chance:.2g})"
    return (
        f"{who}: {len(row.seeds)} fresh seeds, score {fmean(row.scores):.4g}, "
        f"{fmean(row.seconds):.1f} s{verdict}"
    )


def result_lines(view: StudyView) -> list[str]:
    """Result of the study at the end of the command."""
    lines = [confirmation_text(row) for row in view.confirmations if row.seeds]
    if view.state == "stopped":
        done = len(view.trials)
        return [*lines, f"stopped after {done} trials; to continue: {view.command}"]
    if view.state == "failed":
        return [*lines, f"error: {printable(view.error or '')}"]
    if not view.confirmations and len(view.trials) < 2:
        return [
            *lines,
            "no time for a trial besides the defaults: give more --minutes or fewer --total-steps",
        ]
    if view.winner is None:
        return [*lines, "no trial beats the defaults: nothing is written"]
    return [*lines, f"trial {view.winner} wins; its settings: {view.file}"]


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return "none" if value is None else str(value)
