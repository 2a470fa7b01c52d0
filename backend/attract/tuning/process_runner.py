"""Trials, and what runs them: `attract train` processes on this machine, or something else."""

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from attract.errors import FileError, TrialError
from attract.processes.exit_codes import DONE, GOAL_MISSED, INTERRUPTED, USAGE
from attract.runs.directory import RunDirectory
from attract.runs.index import write_labels
from attract.schema.game import GameDescription
from attract.schema.run_list import RunLabels
from attract.settings.file import settings_text
from attract.settings.run import SERVER_VARIABLES
from attract.settings.variables import SETTING_VARIABLES

NOT_KEPT: Final = ("best", "latest", "checkpoints")
"""Parts of a trial's run that are most of its bytes; its exported policy can be watched without them."""
MAX_TAG: Final = 40
END_SECONDS: Final = 30.0
"""Time that a trial has to end after it was asked to."""
SAID_CHARACTERS: Final = 1000
MAX_LINE_BYTES: Final = 1 << 22


@dataclass(frozen=True)
class TrialOrder:
    """One training run, as plain data: it may be sent to another machine."""

    run_id: str
    game: str
    settings: Mapping[str, Any]
    """Every setting of the run, nested."""
    evaluated: bool = False
    """Score by an evaluation of the trained policy, instead of by its training."""
    checked: bool = False
    """Look for faults of the game first, as a training does."""
    project_dir: str | None = None
    """Folder from which the user's own module may import; None: the game is bundled."""


@dataclass(frozen=True)
class TrialProgress:
    """Progress of a trial after an update."""

    agent_steps: int
    seconds: float
    score: float | None


@dataclass(frozen=True)
class TrialResult:
    """Result of a trial."""

    score: float | None
    """Mean return, no more than the goal; None: no episode ended."""
    seconds: float
    """From the first lease on."""
    agent_steps: int
    ended_early: bool = False
    description: GameDescription | None = None
    """Description of the game, where the runner knows it."""


class TrialRunner(Protocol):
    """Runs trials, several at once; `attract tune` has the one that starts processes on this machine."""

    async def run(self, order: TrialOrder, goes_on: Callable[[TrialProgress], bool]) -> TrialResult:
        """Train until the end that the settings name.

        Args:
            order: what to train; its run id is new.
            goes_on: called after each update, on the caller's event loop; False ends the trial.

        Raises:
            TrialError: when the run fails or is refused.
            asyncio.CancelledError: once the trial was asked to end and has ended.
        """
        ...


class ProcessRunner:
    """Starts one process a trial, in a session of its own: a terminal's Ctrl-C reaches the tuner alone.

    Owner: the tune command. A trial whose tuner was killed ends by itself: its output has no reader.
    """

    def __init__(
        self,
        folder: Path,
        command: Sequence[str] = (sys.executable, "-m", "attract"),
        kept_in: Path | None = None,
    ) -> None:
        """`folder`: where the trials' runs and logs are kept, a run that ended in order only until then.

        `command`: what takes the words of a command line. `kept_in`: the runs folder to which such a run
        moves, without its checkpoints; None: it is removed.
        """
        self._command = command
        self._study = folder.name
        self._kept_in = kept_in
        self._runs_dir = folder / "runs"
        self._logs = folder / "logs"

    async def run(self, order: TrialOrder, goes_on: Callable[[TrialProgress], bool]) -> TrialResult:
        self._logs.mkdir(parents=True, exist_ok=True)
        config = self._logs / f"{order.run_id}.yaml"
        config.write_text(settings_text(order.settings), encoding="utf-8")
        goal = order.settings.get("until_return")
        result = await self._train(order, config, goal, goes_on)
        if order.evaluated and result.score is not None and result.score != goal:
            played = await self._json_of("eval", order.run_id, "--json", of=order)
            score = float(played["return_mean"])
            result = TrialResult(
                score if goal is None else min(score, goal), result.seconds, result.agent_steps
            )
        self._keep(self._runs_dir / order.run_id)
        return result

    def _keep(self, run: Path) -> None:
        """Move a run that is over among the others: archived, so that only who asks for it sees it."""
        if self._kept_in is not None:
            for name in NOT_KEPT:
                shutil.rmtree(run / name, ignore_errors=True)
                with contextlib.suppress(OSError):
                    (run / name).unlink()
            labels = RunLabels(name=run.name, tags=[self._study[:MAX_TAG]], archived=True)
            # What cannot be kept is no reason to lose a trial's result.
            with contextlib.suppress(OSError, FileError):
                write_labels(RunDirectory(run, None), labels)
                run.rename(self._kept_in / f"{self._study[:60]}-{run.name}-{secrets.token_hex(2)}")
        shutil.rmtree(run, ignore_errors=True)

    async def _train(
        self, order: TrialOrder, config: Path, goal: float | None, goes_on: Callable[[TrialProgress], bool]
    ) -> TrialResult:
        words = ["train", order.game, "--run-id", order.run_id, "--config", str(config), "--port", "0"]
        words += ["--json-lines"] + ([] if order.checked else ["--no-check"])
        words += [] if order.project_dir is None else ["--project-dir", order.project_dir]
        last: TrialProgress | None = None
        final: dict[str, Any] | None = None
        ended_early = False
        async with self._process(order, *words) as process:
            assert process.stdout is not None
            async for line in process.stdout:
                said: dict[str, Any] = json.loads(line)
                # The command was refused: its exit code and the end of its log say so.
                if "exit_code" in said:
                    continue
                if "state" in said:
                    final = said
                    continue
                last = TrialProgress(
                    said["agent_steps"], said["wall_seconds"], _capped(said["episode_return_mean"], goal)
                )
                if not ended_early and not goes_on(last):
                    ended_early = True
                    process.send_signal(signal.SIGINT)
            code = await process.wait()
        if ended_early and last is not None and code in (INTERRUPTED, DONE, GOAL_MISSED):
            return TrialResult(last.score, last.seconds, last.agent_steps, ended_early=code == INTERRUPTED)
        if final is None or code not in (DONE, GOAL_MISSED):
            raise self._failure(order, code)
        score = goal if final["goal_reached"] else _capped(final["episode_return_mean"], goal)
        _, description = RunDirectory.view(self._runs_dir, order.run_id).read_game()
        return TrialResult(score, final["wall_seconds"], final["agent_steps"], description=description)

    async def _json_of(self, *words: str, of: TrialOrder) -> dict[str, Any]:
        async with self._process(of, *words) as process:
            assert process.stdout is not None
            said = await process.stdout.read()
            code = await process.wait()
        if code != DONE:
            raise self._failure(of, code)
        return json.loads(said)

    @contextlib.asynccontextmanager
    async def _process(self, order: TrialOrder, *words: str):
        """A process that has ended when the block is left."""
        with self._log_of(order).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(*self._command, *words, "--runs-dir", str(self._runs_dir)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=MAX_LINE_BYTES,
                env=environment_of_trials(os.environ),
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.returncode is None:
                await _end(process)

    def _failure(self, order: TrialOrder, code: int) -> TrialError:
        said = self._log_of(order).read_text(encoding="utf-8", errors="replace").strip()
        return TrialError(order.run_id, said[-SAID_CHARACTERS:], refused=code == USAGE)

    def _log_of(self, order: TrialOrder) -> Path:
        return log_of(self._logs.parent, order)


def log_of(folder: Path, order: TrialOrder) -> Path:
    """Path of a trial's output in a study's folder."""
    return folder / "logs" / f"{order.run_id}.log"


async def _end(process: Process) -> None:
    """Send Ctrl-C, and kill the process if it ignores that; also when this is cancelled meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        # Read its remaining output: a full pipe would keep it alive.
        await asyncio.wait_for(process.communicate(), END_SECONDS)
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def environment_of_trials(environment: Mapping[str, str]) -> dict[str, str]:
    """Without variables of settings, which the trial's file has, and of the server: a trial has no users."""
    left_out: Collection[str] = {*SETTING_VARIABLES, *SERVER_VARIABLES}
    return {name: value for name, value in environment.items() if name not in left_out}


def _capped(score: float | None, goal: float | None) -> float | None:
    return score if score is None or goal is None else min(score, goal)
