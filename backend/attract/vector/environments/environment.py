"""`VectorEnvironment`: many copies of a game behind `reset()`, `recv()` and `send()` (rules I1, I2, I3)."""

import asyncio
import itertools
import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from attract.collection.leases import SILENCE_SECONDS
from attract.curriculum.lessons import resolve_parameters
from attract.errors import ConfigurationError, GameError, ProtocolError
from attract.games.library import GameLibrary, GameModule
from attract.games.project import find_project_dir
from attract.processes.cores import usable_cores
from attract.schema.game import GameDescription
from attract.schema.messages import (
    Act,
    FromBrowser,
    GameFailed,
    Lease,
    Observe,
    ParameterDistribution,
    Seat,
    WelcomeWorker,
)
from attract.schema.philox import derive_seed
from attract.schema.tensor import from_numpy
from attract.settings.base import variable
from attract.settings.run import RunSettings
from attract.vector.batch import StepBatch, VectorLayout
from attract.vector.core import VectorCore
from attract.vector.environments.node_fleet import NodeFleet
from attract.vector.group import StepRequest, even_parts
from attract.vector.trace import POLICY_TRACK, Timeline, games_track

ENDLESS_SEGMENTS: Final = 65_536
IN_BROWSERS: Final = "train it by `attract train`, or name a game of a module"
Parameters = Mapping[str, Any]
"""By name: a number, a distribution as settings write it, or as a lease carries it."""
_environments = itertools.count(1)


class GameOptions(TypedDict, total=False):
    """Options of the forms for libraries, each as `VectorEnvironment` has it."""

    parameters: Parameters | None
    render_mode: str | None
    lease_seconds: float
    project_dir: Path | None
    web_dir: Path | None


class VectorEnvironment:
    """`num_games` copies of a game in Node worker threads, in `async_factor` groups that take strict turns.

    `reset()` gives the first observations, a batch per group; then actions of one group go in with `send()`
    and come back out of `recv()`, group after group. While one group's observations are with the policy, all
    other groups' games step. A context manager; to be used from one thread. Games restart by themselves in
    the step in which they end (rule E3); the same seed and actions give the same numbers with any workers.
    """

    def __init__(
        self,
        game: str,
        num_games: int,
        async_factor: int = 2,
        *,
        num_workers: int | None = None,
        seed: int = 0,
        parameters: Parameters | None = None,
        render_mode: str | None = None,
        desync_steps: int = 0,
        lease_seconds: float = SILENCE_SECONDS,
        tells_terminal: bool = False,
        project_dir: Path | None = None,
        web_dir: Path | None = None,
        trace: Path | None = None,
    ) -> None:
        """Start the fleet and load the game.

        Args:
            game: a bundled game's name, or a path to a module, `.ts` or `.js`, relative to
                `project_dir`, or without one to the current folder.
            num_games: running copies.
            async_factor: groups; 2 is double buffering, 1 has the policy and the games wait for each other.
            num_workers: threads that step games; None: one per core, leaving one for the policy.
            seed: as `--seed` of a run: its games and episodes are those of that run (rule C5).
            parameters: how game parameters are drawn at each episode's start, as `--parameters` of a run:
                `{"size": 8, "wind": {"uniform": [0, 3]}}`; None: their defaults.
            render_mode: None, for there are no pictures here.
            desync_steps: cut each game's first episode at a step up to this (rule E7); 0 is off.
            lease_seconds: slots of a worker that is silent for so long come back invalid (rule I1).
            tells_terminal: the final observations of a batch are those of terminated slots too.
            project_dir: the folder that the module may import from; None: $ATTRACT_PROJECT_DIR, or as the
                command line finds it.
            web_dir: built web side; None: the one inside the package.
            trace: file for a timeline in Chrome's trace format, written by `close`.

        Raises: ConfigurationError, GameError, ProtocolError: no such game, one that lives in a page, other
            parameters than it has, no Node, or it cannot be loaded.
        """
        if render_mode is not None:
            raise ConfigurationError(
                f"games in Node's threads have no pictures: {render_mode!r} cannot be had",
                setting="render_mode",
                fix="leave it out; a run's page (`attract serve`) shows and records its game",
            )
        self._module = _resolve(game, project_dir, web_dir)
        workers = num_workers or max(1, min(usable_cores() - 1, num_games // max(1, async_factor)))
        self._parts = even_parts(num_games, async_factor, workers)
        self.num_games = num_games
        self.num_groups = async_factor
        self._run_id = f"vector-{next(_environments)}"
        self._trace = trace
        self._timeline = Timeline()
        self._began = time.perf_counter()
        self._sent_at = [0.0] * async_factor
        self._complete_at: list[float | None] = [None] * async_factor
        self._delivered: list[tuple[int, float]] = []
        self._desync_steps = desync_steps
        self._lease_seconds = lease_seconds
        self._tells_terminal = tells_terminal
        self._fleet = NodeFleet(self._module, workers, run_id=self._run_id, web_dir=web_dir)
        try:
            self.description: GameDescription = self._fleet.describe()
            if self.description.page is not None:
                raise ConfigurationError(f"{game} lives in a page: only a browser plays it", fix=IN_BROWSERS)
            self._parameters = _resolved(parameters or {}, self.description)
            self.layout = VectorLayout.for_game(self.description, horizon=1)
            """Shapes and dtypes of observations and actions."""
            self._core = self._begun(seed)
        except BaseException:
            self._fleet.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def num_agents(self) -> int:
        return self.description.num_agents

    @property
    def num_slots(self) -> int:
        """Slots in all: games times agents; slot = game * agents + agent."""
        return self._core.num_slots

    def reset(self) -> tuple[StepBatch, ...]:
        """Observation 0 of every slot, a batch per group, not counted (rule I1). Once, first of all.

        Raises: as `recv`.
        """
        self._order(self._core.start(self._now()))
        self._wait()
        batches = self._core.reset()
        self._delivered += [(batch.group, self._now()) for batch in batches]
        return batches

    def restart(self, seed: int) -> None:
        """Restart as if made with this seed: every game is a fresh one, in its first episode.

        Actions already sent are played to the end of their step, and the result is dropped. `reset` is next.

        Raises:
            GameError, ProtocolError: as `recv`.
            ProtocolError: a thread was given up; it may answer yet.
        """
        while self._core.is_awaited:
            deadline = self._core.deadline()
            self._hear(0.0 if deadline is None else max(0.0, deadline - self._now()))
            self._core.tick(self._now())
        if self._core.has_lost:
            raise ProtocolError("a thread does not answer any more: close this environment and make another")
        self._delivered.clear()
        self._complete_at = [None] * self.num_groups
        self._core = self._begun(seed)

    def send(self, actions: NDArray[Any]) -> None:
        """Actions [k, ...] of the group in turn: after `reset` each group's, then those of the last received.

        Discrete actions are integers, `multi_discrete` and `multi_binary` [k, components]; box actions are
        float32 in unit space, [-1, 1] standing for [low, high]. Those of inactive slots are ignored.

        Raises: RuntimeError: it is no group's turn, or shape, dtype or range do not fit the game.
        """
        now = self._now()
        orders = self._core.send(actions, now)
        group, received = self._delivered.pop(0)
        self._timeline.span(POLICY_TRACK, f"policy, group {group}", received, now, group=group)
        self._sent_at[group] = now
        self._order(orders)

    def recv(self) -> StepBatch:
        """The outcome of the next group's last actions and what it sees after them; waits for it (rule I1).

        Raises:
            GameError: the game broke so often in one thread that this was given up.
            ProtocolError: the fleet's process ended, or said what the protocol does not allow.
            RuntimeError: no group has actions to answer for.
        """
        self._wait()
        batch = self._core.recv()
        group, now = batch.group, self._now()
        done = self._complete_at[group]
        self._timeline.span(
            games_track(group),
            f"step {batch.num_outcomes}",
            self._sent_at[group],
            now if done is None else done,
            game_seconds=batch.step_seconds,
        )
        self._complete_at[group] = None
        self._delivered.append((group, now))
        return batch

    def close(self) -> None:
        """End the fleet and write the trace, if one was asked for; may be called again."""
        self._fleet.close()
        if self._trace is not None:
            self._trace.write_text(json.dumps(self._timeline.to_json()), encoding="utf-8")
            self._trace = None

    def _begun(self, seed: int) -> VectorCore:
        """A core whose threads know their games and step them until the end."""
        core = VectorCore(
            self.layout,
            self._parts,
            num_groups=self.num_groups,
            lease_seconds=self._lease_seconds,
            tells_terminal=self._tells_terminal,
        )
        for worker in range(self._fleet.num_workers):
            self._welcome(
                worker, [part.instance_ids for part in self._parts if part.worker_id == worker], seed
            )
        return core

    def _welcome(self, worker: int, instance_ids: list[NDArray[np.int64]], seed: int) -> None:
        module = self._module
        run_seed = derive_seed(seed, "run")
        welcome = WelcomeWorker(
            run_id=self._run_id,
            worker_id=worker,
            game=module.reference,
            description=self.description,
            instance_ids=np.concatenate(instance_ids).tolist(),
            seed=run_seed,
            horizon=65_536,
            max_frame_bytes=1 << 30,
        )
        lease = Lease(
            run_id=self._run_id,
            lease_id=worker + 1,
            purpose="train",
            seats=[Seat() for _ in range(self.num_agents)],
            game_sha256=module.reference.sha256,
            seed=run_seed,
            num_segments=ENDLESS_SEGMENTS,
            desync_steps=self._desync_steps,
            parameters=self._parameters,
            tells_terminal=self._tells_terminal,
            group_sizes=[len(ids) for ids in instance_ids],
        )
        self._fleet.send(worker, welcome)
        self._fleet.send(worker, lease)

    def _order(self, orders: list[StepRequest]) -> None:
        for order in orders:
            action = None if order.action is None else from_numpy(order.action)
            message = Act(run_id=self._run_id, lease_id=order.worker_id + 1, group=order.group, action=action)
            self._fleet.send(order.worker_id, message)

    def _wait(self) -> None:
        """Hear the fleet until what comes next is complete."""
        self._hear(0.0)
        while not self._core.is_ready:
            deadline = self._core.deadline()
            if deadline is None:
                return
            self._hear(max(0.0, deadline - self._now()))
            self._core.tick(self._now())

    def _hear(self, timeout: float) -> None:
        for worker, message in self._fleet.poll(timeout):
            self._take(worker, message)

    def _take(self, worker: int, message: FromBrowser | None) -> None:
        match message:
            case Observe():
                self._core.handle_observation(worker, message)
                if self._core.is_complete(message.group):
                    self._complete_at[message.group] = self._now()
            case GameFailed() if message.kind == "crash" or message.repeated:
                raise self._fleet.game_error(message)
            case GameFailed():
                pass  # its slots come back invalid, and its next episode has begun
            case None:
                raise ProtocolError(f"thread {worker} of the fleet has ended")
            case _:
                raise ProtocolError(f"thread {worker} sent {message.type}, which is not expected here")

    def _now(self) -> float:
        return time.perf_counter() - self._began


def _resolved(parameters: Parameters, game: GameDescription) -> dict[str, ParameterDistribution]:
    """As leases carry them. Raises: ConfigurationError: as of a run with these parameters."""
    drawn = {name: value for name, value in parameters.items() if isinstance(value, ParameterDistribution)}
    written = {name: value for name, value in parameters.items() if name not in drawn}
    settings = RunSettings.from_mapping({"parameters": written})
    return drawn | resolve_parameters(settings.parameters, game, setting="parameters")


def _resolve(game: str, project_dir: Path | None, web_dir: Path | None) -> GameModule:
    """The bundled module; in a thread of its own, since the caller may already run an event loop."""
    if project_dir is None and Path(game).suffix:
        path = Path(game).resolve()
        given = os.environ.get(variable("project_dir"), "").strip()
        game, project_dir = str(path), Path(given) if given else find_project_dir(path)
    library = GameLibrary(project_dir or Path(), web_dir)
    try:
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(lambda: asyncio.run(library.resolve(game))).result()
    except ConfigurationError as error:
        if not Path(game).suffix:
            raise
        fix = f"`project_dir` is {project_dir}: the module, and what it imports, lie below it"
        raise ConfigurationError(error.problem, setting=error.setting, fix=fix) from None


__all__ = ["GameError", "StepBatch", "VectorEnvironment"]
