"""The training loop's decisions: what the learner does with each message of the gateway."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from attract.algorithm.normalisation import RunningMoments
from attract.curriculum_settings import FederatedSettings
from attract.errors import AttractError, CheckpointError, NonFiniteUpdateError
from attract.experience.batch import Batch, load_batch
from attract.experience.store import SegmentStore
from attract.learner.checkpoint import find_newest, load_checkpoint, set_aside_newer, versions_in
from attract.learner.federated import FederatedAveraging, FederatedStatistics
from attract.learner.gloo import GlooAveraging
from attract.learner.machine import default_threads, resolve_device
from attract.learner.phases import EpisodePhases
from attract.learner.report import rates_at
from attract.learner.rounds import average, join
from attract.learner.state import TrainingState, description_sha256, matching_state
from attract.learner.update import ppo_update
from attract.learner.update_batch import UpdateBatch
from attract.learner.verification import VersionHistory, verify
from attract.learner.writer import CheckpointWriter
from attract.policy.export import OnnxPatcher, policy_metadata, shipped_model, write_export
from attract.policy.network import build_distribution, build_policy
from attract.policy.parity import check_parity
from attract.schema.learner import (
    Begin,
    Counters,
    Dropped,
    Export,
    Exported,
    FromLearner,
    Published,
    Ready,
    RejectedRow,
    Stalled,
    Train,
    Warmup,
)
from attract.settings import PolicySettings, PpoSettings


@dataclass(frozen=True, slots=True)
class _Update:
    """What is known of an update between its end and its announcement."""

    batch_id: int | None
    metrics: Mapping[str, float]
    valid_steps: int
    rejected: list[RejectedRow]


class Learner:
    """Sole owner of a run's weights and version; lives on the main thread of the learner process.

    Args:
        begin: the run.
        send: says something to the gateway; called from this thread and the writer's.
        on_failure: told of failures on the writer's thread.

    Raises: ConfigurationError: settings or spaces that cannot be trained. StoreError: the store is not there.
    """

    def __init__(
        self, begin: Begin, send: Callable[[FromLearner], None], on_failure: Callable[[Exception], None]
    ) -> None:
        self._begin = begin
        self._send = send
        self._device = resolve_device(begin.device)
        torch.set_num_threads(begin.num_threads or default_threads())
        self._policy_settings = PolicySettings.from_mapping(begin.policy)
        self._ppo = PpoSettings.from_mapping(begin.ppo)
        self._state = TrainingState.create(
            begin.description, self._policy_settings, self._ppo, begin.seed, self._device
        )
        self._distribution = build_distribution(begin.description)
        self._history = VersionHistory(self._state.policy, self._distribution, begin.max_policy_lag + 1)
        self._patcher = OnnxPatcher(self._state.policy)
        self._store = SegmentStore.open(Path(begin.store_path))
        self._writer = CheckpointWriter(
            Path(begin.run_dir), on_failure, lambda reason: send(Stalled(reason=reason))
        )
        self._averaging: FederatedAveraging | None = None
        if begin.federated is not None:
            empty = dict(self._state.statistics)
            self._state.federated = FederatedStatistics(common=empty, own=empty)
        self._phases = EpisodePhases()
        self._consecutive_dropped = 0
        self._needs_warmup = False
        self._notes: list[str] = []
        self._labels = {
            "run_id": begin.run_id,
            "game_id": begin.description.id,
            "description_sha256": description_sha256(begin.description),
            "seed": begin.seed,
            "policy": self._policy_settings.model_dump(mode="json"),
            "ppo": self._ppo.model_dump(mode="json"),
        }

    def start(self) -> None:
        """Find out where to start, make that durable, and say `ready`.

        Raises:
            CheckpointError: when the run to go on with, or to start from, cannot be used.
            FederationError: when the other trainers do not come.
        """
        is_fresh = not self._resume()
        if is_fresh:
            self._start_fresh()
        if self._begin.federated is not None:
            settings = FederatedSettings.from_mapping(self._begin.federated)
            self._averaging = GlooAveraging(settings, description_sha256(self._begin.description))
            if is_fresh:
                join(self._state, self._averaging)
        if not self._needs_warmup:
            self._history.remember(self._state.policy_version, self._state.policy.state_dict())
        ready = Ready(
            policy_version=self._state.policy_version,
            needs_warmup=self._needs_warmup,
            onnx=self._onnx(),
            weights_sha256=self._state.weights_sha256(),
            num_parameters=sum(parameter.numel() for parameter in self._state.policy.parameters()),
            device=str(self._device),
            counters=self._state.counters,
            curriculum=self._state.curriculum,
            notes=self._notes,
        )
        if self._needs_warmup or ready.policy_version in versions_in(self._writer.checkpoints):
            self._send(ready)
        else:
            self._writer.submit(self._state.snapshot(self._labels), lambda folder, seconds: self._send(ready))

    def handle(self, message: Warmup | Train | Export) -> None:
        """Do what the gateway asks; answers are sent when they are true."""
        match message:
            case Warmup():
                self._warm_up(message)
            case Train():
                self._train(message)
            case Export():
                self._export(message)

    def leave(self) -> None:
        """The run is over: trainers that average with this one go on without it."""
        if self._averaging is not None:
            self._averaging.leave()

    def close(self) -> None:
        """Let what is being written be finished."""
        self._writer.finish()
        if self._averaging is not None:
            self._averaging.close()

    def _resume(self) -> bool:
        """Go on from the newest valid checkpoint; False when there is nothing to go on from."""
        checkpoints = self._writer.checkpoints
        versions = versions_in(checkpoints)
        if not versions or not self._begin.resume:
            if versions:
                raise CheckpointError(str(checkpoints), "this run has checkpoints and was not to be resumed")
            set_aside_newer(checkpoints, None)
            return False
        checkpoint, self._notes = find_newest(checkpoints)
        if checkpoint is None:
            raise CheckpointError(
                str(checkpoints), "none of its versions is whole: " + "; ".join(self._notes)
            )
        self._state.restore(checkpoint)
        set_aside_newer(checkpoints, checkpoint.policy_version)
        # Segments of earlier versions may still come in, from workers that outlived the last learner.
        for version in range(
            checkpoint.policy_version - self._begin.max_policy_lag, checkpoint.policy_version
        ):
            if version not in versions:
                continue
            try:
                earlier = load_checkpoint(checkpoints / str(version))
            except CheckpointError as error:
                self._notes.append(f"its late segments will be left out: {error}")
            else:
                self._history.remember(version, matching_state(earlier, self._state.policy))
        return True

    def _start_fresh(self) -> None:
        if self._begin.initialize_from is not None:
            self._state.adopt(load_checkpoint(Path(self._begin.initialize_from)))
        self._needs_warmup = any(one.count == 0 for one in self._state.statistics.values())
        if self._state.federated is not None:
            self._state.federated.add(self._state.statistics)

    def _warm_up(self, message: Warmup) -> None:
        if not self._needs_warmup:
            raise RuntimeError("expected warmup only after needs_warmup, got one more")
        self._needs_warmup = False
        started = time.perf_counter()
        num_steps = 0
        if message.rows:
            batch = load_batch(self._store, message.rows, self._device)
            num_steps = int(batch.valid.sum())
            self._state.gather(self._moments(batch))
        metrics = {"time/warmup_seconds": time.perf_counter() - started}
        self._publish(_Update(None, metrics, num_steps, []))

    def _train(self, message: Train) -> None:
        if self._needs_warmup:
            raise RuntimeError(f"expected warmup before training, got batch {message.batch_id}")
        started = time.perf_counter()
        batch = load_batch(self._store, message.rows, self._device)
        spread = self._phases.spread(batch)
        batch, rejected = self._verify(batch, message)
        loaded = time.perf_counter()
        if not bool(batch.valid[self._ppo.burn_in_steps :].any()):
            self._drop(message, "no valid step is left" if rejected else "it holds no valid step")
            return
        rates = rates_at(self._ppo, self._state.counters.agent_steps, self._begin.schedule_steps)
        try:
            report = ppo_update(
                self._state.policy,
                self._state.optimizer,
                UpdateBatch.of(batch, self._state.policy_version),
                self._ppo,
                self._state.generator,
                distribution=self._distribution,
                rates=rates,
            )
        except NonFiniteUpdateError as error:
            self._drop(message, str(error))
            return
        lags = (self._state.policy_version - batch.policy_version).double()
        self._consecutive_dropped = 0
        self._state.gather(self._moments(batch))
        updated = time.perf_counter()
        if self._averaging is not None:
            average(self._state, self._averaging, message.federated_rounds)
        self._state.policy_version += 1
        self._state.counters = self._counted(message, batch, rejected)
        self._state.curriculum = message.curriculum
        metrics = {
            **report.metrics(rates),
            "train/policy_lag_mean": float(lags.mean()),
            "train/policy_lag_max": float(lags.max()),
            "train/verify_largest_difference": self._state.tolerance.largest_difference,
            "time/load_seconds": loaded - started,
            "time/update_seconds": updated - loaded,
        }
        if message.federated_rounds:
            metrics["federated/round"] = float(message.federated_rounds[-1])
            metrics["time/federated_seconds"] = time.perf_counter() - updated
        if self._averaging is not None:
            metrics["federated/is_over"] = float(self._averaging.is_over)
        if spread is not None:
            metrics["rollout/phase_spread"] = spread
        self._publish(_Update(message.batch_id, metrics, int(batch.valid.sum()), rejected))

    def _verify(self, batch: Batch, message: Train) -> tuple[Batch, list[RejectedRow]]:
        """Rule C7; without trust, train on our own numbers."""
        wanted = message.verify_rows if message.trust_all else message.rows
        batch, refused = verify(
            batch, wanted, self._history, self._state.tolerance, replace_numbers=not message.trust_all
        )
        return batch, [RejectedRow(row=row, largest_difference=by) for row, by in refused.items()]

    def _counted(self, message: Train, batch: Batch, rejected: list[RejectedRow]) -> Counters:
        """The gateway's counters, without the steps that were left out (rule T4)."""
        if not rejected:
            return message.counters
        agent_steps = self._state.counters.agent_steps + int(batch.valid.sum())
        return message.counters.model_copy(update={"agent_steps": agent_steps})

    def _drop(self, message: Train, reason: str) -> None:
        self._consecutive_dropped += 1
        self._send(Dropped(batch_id=message.batch_id, reason=reason, consecutive=self._consecutive_dropped))

    def _publish(self, update: _Update) -> None:
        """Hand the version to the disk; it is announced once it is durable (rule D1)."""
        state = self._state
        self._history.remember(state.policy_version, state.policy.state_dict())
        snapshot = state.snapshot(self._labels)
        published = Published(
            batch_id=update.batch_id,
            policy_version=state.policy_version,
            onnx=self._onnx(),
            checkpoint=f"checkpoints/{state.policy_version}",
            weights_sha256=snapshot.document["weights_sha256"],
            metrics={name: value for name, value in update.metrics.items() if value - value == 0},
            valid_steps=update.valid_steps,
            rejected=update.rejected,
        )

        def announce(folder: Path, seconds: float) -> None:
            metrics = {**published.metrics, "time/checkpoint_seconds": seconds}
            self._send(published.model_copy(update={"metrics": metrics}))

        self._writer.submit(snapshot, announce)

    def _moments(self, batch: Batch) -> dict[str, RunningMoments]:
        """Of what is normalised (rule P7)."""
        return {key: RunningMoments.of(batch.observation[key], batch.valid) for key in self._state.statistics}

    def _onnx(self) -> bytes:
        return self._patcher.patched(self._state.policy.state_dict())

    def _export(self, message: Export) -> None:
        version = self._state.policy_version if message.policy_version is None else message.policy_version
        error = None
        try:
            self._write_export(version, message)
        except (AttractError, OSError) as problem:
            # A folder that cannot be written must not end the training.
            error = f"{type(problem).__name__}: {problem}"
        self._send(Exported(policy_version=version, out_dir=message.out_dir, error=error))

    def _write_export(self, version: int, message: Export) -> None:
        policy = build_policy(
            self._policy_settings,
            self._begin.description,
            normalize_observations=self._ppo.normalize_observations,
        )
        if version == self._state.policy_version:
            policy.load_state_dict(self._state.policy.state_dict())
        else:
            saved = load_checkpoint(self._writer.checkpoints / str(version))
            policy.load_state_dict(matching_state(saved, policy))
        model = self._patcher.patched(policy.state_dict())
        metadata = policy_metadata(policy, self._begin.description, version, message.summary)
        # What ships is what is checked: the graph with `action` in it.
        check_parity(policy, shipped_model(model, metadata))
        write_export(Path(message.out_dir), model, metadata)
