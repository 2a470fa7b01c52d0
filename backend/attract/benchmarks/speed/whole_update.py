"""The learner's whole path: from rows of the store to a version that is durable and ready to be sent."""

import queue
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from attract.benchmarks.harness.figure import Figure
from attract.benchmarks.harness.in_subprocess import run_apart
from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.speed.learning import check_device, median
from attract.benchmarks.speed.ready_update import (
    SLOT_SEGMENTS,
    TERMINATED,
    TRUNCATED,
    ReadyUpdate,
    Work,
    cartpole_work,
    describe_game,
)
from attract.collection.seating import MAIN
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.store import SegmentStore
from attract.learner.process.loop import Learner
from attract.schema.learner import Begin, Counters, FromLearner, Published, Train, Trained, Warmup

UPDATES_PER_ROUND = 5
QUICK_STEPS = 8192
VERIFIED_ROWS = 8
"""Of each batch: one segment per lease, as for hosts of this machine (rule C7)."""
ANSWER_SECONDS = 120.0
TIMES = ("load", "update", "checkpoint")
"""What the learner itself says of an update, in its metrics."""


def _whole_update(options: BenchOptions) -> Mapping[str, Figure]:
    check_device(options.device)
    work = cartpole_work(num_steps=QUICK_STEPS if options.quick else 32_768)
    updates = 2 if options.quick else UPDATES_PER_ROUND
    rounds = run_apart(_rounds, work, options.device, options.rounds, updates)
    detail = {"update_alone_samples_per_s": median([alone for _, alone, _ in rounds])}
    for name in TIMES:
        detail[f"{name}_ms"] = median([times[name] for _, _, times in rounds])
    whole = [update for update, _, _ in rounds]
    return {
        "learner/whole_update": Figure.of(
            whole,
            "samples/s",
            ratios=[update / alone for update, alone, _ in rounds],
            against=f"ppo_update on a ready batch, {options.device}",
            detail=detail,
        )
    }


def _rounds(
    work: Work, device: str, rounds: int, updates: int
) -> list[tuple[float, float, Mapping[str, float]]]:
    """Samples/s of the whole path and of the update alone, and milliseconds of its parts, round by round."""
    found: list[tuple[float, float, Mapping[str, float]]] = []
    ready = ReadyUpdate(work, torch.device(device))
    ready.run()
    with tempfile.TemporaryDirectory(prefix="attract-bench-") as folder:
        path = _WholePath(work, device, Path(folder), batches=updates)
        try:
            path.round()
            for _ in range(rounds):
                seconds, times = path.round()
                alone = sum(ready.run() for _ in range(updates))
                samples = updates * work.num_samples
                found.append((samples / seconds, samples / alone, times))
        finally:
            path.close()
    return found


class _WholePath:
    """The real `Learner` over a real store, on this thread; its checkpoints are written on their own.

    Args:
        work: sizes and settings.
        device: the learner's.
        folder: of the run and the store; in shared memory the store would be as a run's is.
        batches: how many the store holds, and how many updates a round has.
    """

    def __init__(self, work: Work, device: str, folder: Path, batches: int) -> None:
        self._work = work
        self._batches = batches
        self._answers: queue.SimpleQueue[FromLearner | Exception] = queue.SimpleQueue()
        self._random = np.random.default_rng(4)
        self._counters = Counters()
        self._next_step = 0
        game = describe_game(work.num_inputs, work.num_actions)
        shared = Path("/dev/shm")
        with tempfile.NamedTemporaryFile(
            prefix="attract-bench-", dir=shared if shared.is_dir() else folder, delete=False
        ) as file:
            path = Path(file.name)
        path.unlink()
        layout = StoreLayout.for_run(game, PolicyLayout(), work.ppo.horizon, batches * work.segments)
        self._store = SegmentStore.create(path, layout)
        try:
            begin = Begin(
                run_id="bench",
                run_dir=str(folder),
                store_path=str(path),
                description=game,
                settings={
                    "policy": work.policy.model_dump(mode="json"),
                    "ppo": {**work.ppo.model_dump(mode="json"), "lag_correction": "none"},
                    "seed": 5,
                    "device": device,
                    "learner_threads": torch.get_num_threads(),
                    # All batches of a round are played by the version before it: nobody plays while time is
                    # kept.
                    "collection": {"schedule": "async", "max_policy_lag": batches},
                },
            )
            self._learner = Learner(begin, self._answers.put, self._answers.put)
            try:
                self._learner.start()
                self._answer()
                self._learner.handle(Warmup(rows=self._play(None, 0, 0)))
                self._newest = self._published()
            except BaseException:
                self._learner.close()
                raise
        except BaseException:
            self._store.close(unlink=True)
            raise

    def round(self) -> tuple[float, Mapping[str, float]]:
        """Seconds of as many updates as there are batches, and milliseconds of their parts."""
        policy = self._newest
        session = _session(policy.onnx[MAIN])
        orders = [self._play(session, policy.policy_version, batch) for batch in range(self._batches)]
        started = time.perf_counter()
        for rows in orders:
            self._learner.handle(self._train(rows))
        published = [self._published() for _ in orders]
        seconds = time.perf_counter() - started
        self._newest = published[-1]
        times = {
            name: median([1e3 * version.metrics[f"time/{name}_seconds"] for version in published])
            for name in TIMES
        }
        return seconds, times

    def close(self) -> None:
        """Let the checkpoints be finished; the store goes."""
        self._learner.close()
        self._store.close(unlink=True)

    def _train(self, rows: list[int]) -> Train:
        steps = self._counters.agent_steps + self._work.num_steps
        updates = self._counters.updates + 1
        self._counters = Counters(collected_steps=steps, agent_steps=steps, ticks=steps, updates=updates)
        verified = rows[:: max(1, len(rows) // VERIFIED_ROWS)]
        return Train(
            batch_id=updates, rows=rows, verify_rows=verified, verify="sample", counters=self._counters
        )

    def _answer(self) -> FromLearner:
        answer = self._answers.get(timeout=ANSWER_SECONDS)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _published(self) -> Published:
        answer = self._answer()
        while isinstance(answer, Trained):
            answer = self._answer()
        if not isinstance(answer, Published) or answer.rejected:
            raise RuntimeError(f"expected a version without rejected rows, got {answer!r}"[:500])
        return answer

    def _play(self, session: onnxruntime.InferenceSession | None, version: int, batch: int) -> list[int]:
        """Fill one batch of the store with random outcomes of what the policy does; its rows."""
        work, random = self._work, self._random
        horizon, segments = work.ppo.horizon, work.segments
        shape = (horizon, segments)
        observations = random.standard_normal((*shape, work.num_inputs), np.float32)
        after = random.standard_normal((segments, work.num_inputs), np.float32)
        logits, values = _say(session, observations.reshape(-1, work.num_inputs), work.num_actions)
        # By Gumbel's trick: the largest of log-probability plus noise is a draw.
        actions = (logits + random.gumbel(size=logits.shape)).argmax(1)
        terminated = random.random(shape) < TERMINATED
        truncated = (random.random(shape) < TRUNCATED) & ~terminated
        finals = np.argwhere(truncated)
        final_observations = random.standard_normal((len(finals), work.num_inputs), np.float32)
        _, final_values = _say(session, final_observations, work.num_actions)
        _, bootstrap = _say(session, after, work.num_actions)
        bootstrap = np.where(terminated[-1], 0.0, bootstrap).astype(np.float32)
        for (step, column), value in zip(finals, final_values, strict=True):
            if step == horizon - 1:
                bootstrap[column] = value
        column = np.arange(segments)
        first = batch * segments
        rows = np.arange(first, first + segments)
        self._store.write_block(
            rows,
            {
                "obs.obs": observations,
                "action": actions.reshape(shape),
                "log_prob": np.take_along_axis(logits, actions[:, None], 1).reshape(shape),
                "value": values.reshape(shape),
                "reward": random.standard_normal(shape, np.float32),
                "terminated": terminated,
                "truncated": truncated,
                "valid": True,
                "executed_ticks": 1,
                "bootstrap_value": bootstrap,
                "bootstrap_obs.obs": after,
                "slot_id": column // SLOT_SEGMENTS,
                "first_step": self._next_step + column % SLOT_SEGMENTS * horizon,
                "lease_id": 0,
                "segment_index": 0,
                "policy_version": version,
                "worker_id": 0,
                "final_step": finals[:, 0].astype(np.int32),
                "final_column": finals[:, 1].astype(np.int32),
                "final_value": final_values,
                "final_obs.obs": final_observations,
            },
        )
        self._next_step += SLOT_SEGMENTS * horizon
        return rows.tolist()


def _session(onnx: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(onnx, options)


def _say(
    session: onnxruntime.InferenceSession | None, observations: NDArray[Any], num_actions: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """[n, num_actions] log-probabilities and [n] values; uniform and 0 without a policy."""
    if session is None:
        return (
            np.full((len(observations), num_actions), -np.log(num_actions), np.float32),
            np.zeros(len(observations), np.float32),
        )
    if not len(observations):
        return np.zeros((0, num_actions), np.float32), np.zeros(0, np.float32)
    logits, values = (
        np.asarray(output) for output in session.run(["logits", "value"], {"obs": observations})
    )
    top = logits.max(1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True)), values


WHOLE_UPDATE = Measure(
    names=("learner/whole_update",),
    about="from rows in shared memory to a durable version, updates in a row, against ppo_update alone",
    run=_whole_update,
)
