"""A gateway and a fleet small enough for tests: the real learner process, fed rows that its policy played."""

import os
import queue
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnxruntime
import psutil
import torch

from attract.experience.batch import Batch
from attract.experience.store import PolicyLayout, SegmentStore, StoreLayout
from attract.learner.algorithms.algorithm import AlgorithmChoice, Progress, Report
from attract.learner.policies.policy_group import PolicyGroup
from attract.learner.policies.training_state import TrainingState
from attract.schema.frames import decode_from_learner, encode
from attract.schema.game import GameDescription
from attract.schema.learner import Begin, Counters, FromLearner, Train, Trained
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.settings.collection import MAIN
from attract.settings.run import PolicySettings, RunSettings, merge_settings

LENGTH = struct.Struct("<I")


def describe_signs(num_inputs: int = 3) -> GameDescription:
    """A game whose right action is told by the sign of its first input; episodes of 5 to 9 steps."""
    return GameDescription(
        id="Signs-v1",
        tick_seconds=0.1,
        seconds_per_step=0.1,
        ticks_per_step=1,
        max_seconds=0.9,
        max_steps=9,
        observation=BoxSpace(shape=[num_inputs]),
        action=DiscreteSpace(n=2),
    )


class SignsFleet:
    """Plays `Signs-v1` in numpy with the ONNX policy and writes what happened into a store, as a fleet would.

    Episodes of slot s last 5 + s % 5 steps; even slots end terminated, odd ones truncated.
    """

    def __init__(self, path: Path, *, num_slots: int, horizon: int, seed: int, num_inputs: int = 3) -> None:
        self.description = describe_signs(num_inputs)
        self.num_slots = num_slots
        self.horizon = horizon
        layout = StoreLayout.for_run(self.description, PolicyLayout(), horizon, capacity=2 * num_slots)
        self.store = SegmentStore.create(path, layout)
        self.path = path
        self._random = np.random.default_rng(seed)
        self._first_step = 0
        self._half = 0
        self._in_episode = np.zeros(num_slots, np.int64)
        self._dead = np.zeros(num_slots, np.int64)
        self._observation = self._draw()

    def play(self, onnx: Mapping[str, bytes] | None, version: int, *, invalid: float = 0.0) -> list[int]:
        """One segment of every slot; rows alternate between two halves of the store.

        Args:
            onnx: the policies by id, in turns over the slots; None plays at random, as in the warm-up.
            version: written into the rows.
            invalid: how often an agent that terminated is dead for 3 steps (E9), whose numbers are nonsense.

        Returns: the rows, in the order of slots.
        """
        horizon, slots = self.horizon, self.num_slots
        sessions = [onnxruntime.InferenceSession(model, _one_thread()) for model in (onnx or {}).values()]
        arrays = _empty(horizon, slots, self.description)
        finals: list[tuple[int, int, np.ndarray, float]] = []
        ends_after = 5 + np.arange(slots) % 5
        terminates = np.arange(slots) % 2 == 0
        for t in range(horizon):
            logits, value = self._infer(sessions, self._observation)
            probabilities = np.exp(logits - logits.max(1, keepdims=True))
            probabilities /= probabilities.sum(1, keepdims=True)
            action = (self._random.random(slots) > probabilities[:, 0]).astype(np.int32)
            arrays["obs.obs"][t] = self._observation
            arrays["action"][t] = action
            arrays["log_prob"][t] = np.log(probabilities[np.arange(slots), action])
            arrays["value"][t] = value
            arrays["reward"][t] = action == (self._observation[:, 0] > 1.0)
            alive = self._dead == 0
            arrays["valid"][t] = alive
            self._in_episode += alive
            over = alive & (self._in_episode >= ends_after)
            arrays["terminated"][t] = over & terminates
            arrays["truncated"][t] = over & ~terminates
            after = self._draw()
            if (over & ~terminates).any():
                _, final_value = self._infer(sessions, after)
                for column in np.flatnonzero(over & ~terminates):
                    finals.append((t, int(column), after[column], float(final_value[column])))
                after = np.where((over & ~terminates)[:, None], self._draw(), after)
            self._in_episode[over] = 0
            self._dead = np.maximum(self._dead - 1, 0)
            self._dead[over & terminates & (self._random.random(slots) < invalid)] = 3
            self._observation = after
        _, bootstrap = self._infer(sessions, self._observation)
        arrays["bootstrap_value"][:] = np.where(arrays["terminated"][-1], 0.0, bootstrap)
        arrays["bootstrap_obs.obs"][:] = self._observation
        for t, column, _, value in finals:
            if t == horizon - 1:
                arrays["bootstrap_value"][column] = value
        if finals:
            arrays["final_step"] = np.array([final[0] for final in finals], np.int32)
            arrays["final_column"] = np.array([final[1] for final in finals], np.int32)
            arrays["final_obs.obs"] = np.stack([final[2] for final in finals])
            arrays["final_value"] = np.array([final[3] for final in finals], np.float32)
        spoilt = ~arrays["valid"]
        for name in ("obs.obs", "value", "log_prob", "reward"):
            arrays[name][spoilt] = np.nan
        arrays["action"][spoilt] = 77
        arrays["slot_id"][:] = np.arange(slots)
        arrays["first_step"][:] = self._first_step
        arrays["policy_version"][:] = version
        self._first_step += horizon
        rows = np.arange(slots) + self._half * slots
        self._half = 1 - self._half
        self.store.write_block(rows, arrays)
        return rows.tolist()

    def close(self) -> None:
        self.store.close(unlink=True)

    def _draw(self) -> np.ndarray:
        # Mean 1, deviation 2: what observation statistics must find.
        shape = (self.num_slots, self.description.observation.shape[0])
        return self._random.normal(1.0, 2.0, shape).astype(np.float32)

    def _infer(self, sessions: list[Any], observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, value = np.zeros((self.num_slots, 2)), np.zeros(self.num_slots, np.float32)
        for number, session in enumerate(sessions):
            own = slice(number, None, len(sessions))
            logits[own], value[own] = session.run(["logits", "value"], {"obs": observation[own]})
        return logits, value


class GatewayEnd:
    """The gateway's end of a learner's socket; blocking, a minute at most."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.settimeout(60)
        self._file = connection.makefile("rb")

    def send(self, message: Any) -> None:
        data = encode(message)
        self._socket.sendall(LENGTH.pack(len(data)) + data)

    def receive(self) -> FromLearner:
        """The next message but `trained`, which `published` follows; EOFError when the learner is gone."""
        try:
            header = self._file.read(LENGTH.size)
        except ConnectionResetError:
            header = b""
        if len(header) < LENGTH.size:
            raise EOFError("the learner is gone")
        (length,) = LENGTH.unpack(header)
        data = self._file.read(length)
        if len(data) < length:
            raise EOFError("the learner died in the middle of a message")
        message = decode_from_learner(data)
        return self.receive() if isinstance(message, Trained) else message

    def is_silent_for(self, seconds: float) -> bool:
        """Whether nothing comes within that time; an end of the connection is something."""
        return not select.select([self._socket], [], [], seconds)[0]

    def hang_up(self) -> None:
        """Close the socket, as a dying gateway does."""
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.hang_up()


class LearnerProcess(GatewayEnd):
    """The real process at the other end of a socket pair."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attract.learner", "--fd", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
            text=True,
        )
        theirs.close()
        super().__init__(ours)

    def __exit__(self, *exception: object) -> None:
        self.hang_up()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if not self.process.stderr.closed:
            self.process.stderr.close()


def begin_for(fleet: SignsFleet, run_dir: Path, **changes: Any) -> Begin:
    """A small network on one thread; settings in `changes` are merged into these, the rest are fields."""
    run_dir.mkdir(parents=True, exist_ok=True)
    small = {
        "policy": {"hidden_sizes": [8]},
        "ppo": {
            "horizon": fleet.horizon,
            "rollout_steps": fleet.horizon,
            "n_epochs": 2,
            "num_minibatches": 2,
        },
        "seed": 7,
        "device": "cpu",
        "learner_threads": 1,
    }
    given = {name: changes.pop(name) for name in RunSettings.model_fields.keys() & changes.keys()}
    return Begin(
        **{
            "run_id": "run-1",
            "run_dir": str(run_dir),
            "store_path": str(fleet.path),
            "description": fleet.description,
            "settings": merge_settings(small, given),
            **changes,
        }
    )


def train_message(batch_id: int, rows: list[int], horizon: int, **changes: Any) -> Train:
    """Train on these rows; counters as if every batch had this size, and one row verified."""
    steps = (batch_id + 1) * len(rows) * horizon
    counters = Counters(collected_steps=steps, agent_steps=steps, ticks=steps, updates=batch_id + 1)
    return Train(
        **{
            "batch_id": batch_id,
            "rows": rows,
            "verify_rows": rows[:1],
            "verify": "sample",
            "counters": counters,
            **changes,
        }
    )


def has_exited(pid: int, within_seconds: float) -> bool:
    """Whether a process, a child or not, ends (or has ended) within that time."""
    if not hasattr(os, "pidfd_open"):  # macOS
        try:
            psutil.Process(pid).wait(within_seconds)
        except psutil.TimeoutExpired:
            return False
        except psutil.NoSuchProcess:
            return True
        return True
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        # Readable from the process's end on, before anyone has waited for it.
        return bool(select.select([descriptor], [], [], within_seconds)[0])
    finally:
        os.close(descriptor)


def _empty(horizon: int, slots: int, description: GameDescription) -> dict[str, np.ndarray]:
    width = description.observation.shape[0]
    steps = (horizon, slots)
    return {
        "obs.obs": np.zeros((*steps, width), np.float32),
        "action": np.zeros(steps, np.int32),
        **{name: np.zeros(steps, np.float32) for name in ("log_prob", "value", "reward")},
        **{name: np.zeros(steps, bool) for name in ("terminated", "truncated")},
        "valid": np.ones(steps, bool),
        "executed_ticks": np.ones(steps, np.uint16),
        "bootstrap_value": np.zeros(slots, np.float32),
        "bootstrap_obs.obs": np.zeros((slots, width), np.float32),
        **{
            name: np.zeros(slots, np.int64)
            for name in ("slot_id", "first_step", "lease_id", "segment_index", "policy_version", "worker_id")
        },
    }


def _one_thread() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return options


class LearnerHere:
    """The learner in this process and thread, its answers in a queue; `close` it."""

    def __init__(self, begin: Begin, **more: Any) -> None:
        """`more`: of the learner, as `group`."""
        # Imported here: most users of this module drive the process and need no torch.
        from attract.learner.process.loop import Learner

        self._answers: queue.Queue[FromLearner | Exception] = queue.Queue()
        self.trained: list[Trained] = []
        """What it said of updates before their versions were published."""
        self.learner = Learner(
            begin,
            RunSettings.from_mapping(begin.settings),
            self._answers.put,
            self._answers.put,
            **more,
        )
        try:
            self.learner.start()
        except BaseException:
            self.learner.close()
            raise
        self.ready = self.answer()

    def answer(self) -> FromLearner:
        """The next thing it says but `trained`, kept apart; raises what went wrong on the writer's thread."""
        answer = self._answers.get(timeout=60)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Trained):
            self.trained.append(answer)
            return self.answer()
        return answer

    def ask(self, message: Any) -> FromLearner:
        """Hand it a message and wait for its answer."""
        self.learner.handle(message)
        return self.answer()

    def close(self) -> None:
        self.learner.close()

    def __enter__(self) -> "LearnerHere":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class SolePolicy:
    """The sole policy of a run of signs, updated as a learner updates it."""

    def __init__(self, choice: AlgorithmChoice) -> None:
        game = describe_signs()
        state = TrainingState.create(game, PolicySettings(hidden_sizes=(8,)), choice, 3, torch.device("cpu"))
        self._group = PolicyGroup(state, game, 2)
        self.state = state.policies[MAIN]

    def update(self, batch: Batch, progress: Progress) -> Report:
        return self._group.update({MAIN: batch}, progress)[MAIN]

    def gather(self, batch: Batch) -> None:
        self._group.gather({MAIN: batch})
