"""The training loop's decisions: what the learner does with each message of the gateway."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from attract.collection.seating import Seating
from attract.errors import AttractError, CheckpointError, NonFiniteUpdateError
from attract.experience.store import SegmentStore
from attract.learner.algorithms.algorithm import Progress, run_metrics
from attract.learner.checkpoints.checkpoint import find_newest, load_checkpoint, set_aside_newer, versions_in
from attract.learner.checkpoints.exporting import export_policies
from attract.learner.checkpoints.writer import CheckpointWriter
from attract.learner.group.averaging import Averaging
from attract.learner.imitation.demonstrations import demonstrations_of
from attract.learner.policies.policy_group import PolicyGroup
from attract.learner.policies.policy_state import matching_state
from attract.learner.policies.training_state import TrainingState
from attract.learner.process.episode_desynchronisation import EpisodeDesynchronisation
from attract.learner.process.experience_files import ExperienceFiles
from attract.learner.process.health import ExperienceHealth
from attract.learner.process.machine import resolve_device, threads_for
from attract.learner.process.rounds import average, join
from attract.learner.registry import choose_algorithm
from attract.learner.replay.buffer import columns_of
from attract.policy.network import build_policy
from attract.schema.game import description_sha256
from attract.schema.learner import (
    Begin,
    Counters,
    Dropped,
    Export,
    Exported,
    FromLearner,
    Noted,
    Published,
    Ready,
    RejectedRow,
    Stalled,
    Train,
    Trained,
    Warmup,
)
from attract.settings.collection import MAIN
from attract.settings.run import RunSettings


@dataclass(frozen=True, slots=True)
class Update:
    """An update between its end and its announcement."""

    batch_id: int | None
    metrics: Mapping[str, float]
    valid_steps: int
    rejected: list[RejectedRow]
    gateway_metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    """Metrics that came with `train`."""


class Learner:
    """Sole owner of the weights of a run's policies and their version; on the learner process's main thread.

    Args:
        begin: the run.
        settings: those of `begin`, checked.
        send: sends a message to the gateway; called from this thread and the writer's.
        on_failure: gets failures, on the writer's thread.
        awaited: the batch whose update the next batch waits for, as far as is known.

    Raises: ConfigurationError: settings or spaces that cannot be trained. StoreError: the store is not there.
    """

    def __init__(
        self,
        begin: Begin,
        settings: RunSettings,
        send: Callable[[FromLearner], None],
        on_failure: Callable[[Exception], None],
        awaited: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._begin = begin
        self._awaited = awaited
        self._send = send
        self._settings = settings
        self._device = resolve_device(settings, begin.description)
        torch.set_num_threads(threads_for(settings))
        self._seating = Seating(settings.collection.seats or (MAIN,) * begin.description.num_agents)
        source = settings.cloning.demonstrations
        self._algorithm = choose_algorithm(
            settings,
            demonstrations=None
            if source is None
            else demonstrations_of(
                Path(begin.run_dir), Path(source), self._seating, settings.algorithm_settings.horizon
            ),
        )
        self._state = TrainingState.create(
            begin.description,
            settings.policy,
            self._algorithm,
            settings.seed,
            self._device,
            self._seating.policy_ids,
        )
        self._max_lag = settings.collection.policy_lag
        self._policies = PolicyGroup(self._state, begin.description, self._max_lag + 1)
        self._store = SegmentStore.open(Path(begin.store_path))
        self._writer = CheckpointWriter(
            Path(begin.run_dir), on_failure, lambda reason: send(Stalled(reason=reason))
        )
        self._experience = ExperienceFiles(
            Path(begin.run_dir),
            {name: policy.algorithm for name, policy in self._state.policies.items()},
            description_sha256(begin.description),
            columns_of(self._store.layout),
        )
        self._averaging: Averaging | None = None
        if settings.federated is not None:
            for policy in self._state.policies.values():
                policy.begin_federated()
        self._phases = EpisodeDesynchronisation()
        self._health = ExperienceHealth(begin.description)
        self._consecutive_dropped = 0
        self._idle_since: float | None = None
        self._needs_warmup = False
        self._notes: list[str] = []
        self._labels = {
            "run_id": begin.run_id,
            "game_id": begin.description.id,
            "description_sha256": description_sha256(begin.description),
            "seed": settings.seed,
            "policy": settings.policy.model_dump(mode="json"),
            settings.algorithm: settings.hyperparameters.model_dump(mode="json"),
        }

    def start(self) -> None:
        """Find out where to start, make that durable, and send `ready`.

        Raises:
            CheckpointError: when the run to go on with, or to start from, cannot be used.
            FederationError: when the other trainers do not come.
        """
        is_fresh = not self._resume()
        if is_fresh:
            self._start_fresh()
        if self._settings.federated is not None:
            self._averaging = Averaging(
                self._settings.federated,
                description_sha256(self._begin.description),
                has_begun=not is_fresh,
                say=lambda text: self._send(Noted(kind="federated", text=text)),
            )
            if is_fresh:
                join(self._state, self._averaging)
        if not self._needs_warmup:
            self._policies.remember()
        ready = Ready(
            policy_version=self._state.policy_version,
            needs_warmup=self._needs_warmup,
            onnx=self._policies.onnx(),
            weights_sha256=self._state.weights_sha256(),
            num_parameters=self._policies.num_parameters,
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
                self._idle_since = time.perf_counter()
            case Export():
                self._export(message)

    def leave(self) -> None:
        """The run is over: save experience, let trainers that average with this one know."""
        self._saved(self._experience.save())
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
            others = f"; and {len(self._notes) - 1} more" if len(self._notes) > 1 else ""
            raise CheckpointError(
                str(checkpoints), f"none of its versions is intact: {self._notes[0]}{others}"
            )
        self._state.restore(checkpoint)
        notes, is_loaded = self._experience.load()
        self._notes += notes
        if self._algorithm.resume_note is not None and not is_loaded:
            self._notes.append(self._algorithm.resume_note)
        set_aside_newer(checkpoints, checkpoint.policy_version)
        self._remember_earlier(versions)
        return True

    def _remember_earlier(self, versions: Collection[int]) -> None:
        checkpoints, newest = self._writer.checkpoints, self._state.policy_version
        # Segments of earlier versions may still come in, from workers that outlived the last learner.
        for version in range(newest - self._max_lag, newest):
            if version not in versions:
                continue
            try:
                earlier = load_checkpoint(checkpoints / str(version))
            except CheckpointError as error:
                self._notes.append(f"its late segments will be rejected: {error}")
            else:
                self._policies.remember_saved(earlier)

    def _start_fresh(self) -> None:
        if self._begin.initialize_from is not None:
            self._state.adopt(load_checkpoint(Path(self._begin.initialize_from)))
        self._needs_warmup = self._state.needs_statistics
        for policy in self._state.policies.values():
            if policy.federated is not None:
                policy.federated.add(policy.statistics)

    def _warm_up(self, message: Warmup) -> None:
        if not self._needs_warmup:
            raise RuntimeError("expected warmup only after needs_warmup, got one more")
        self._needs_warmup = False
        started = time.perf_counter()
        batches = self._policies.load(self._store, message, self._device)
        self._policies.gather(batches)
        num_steps = sum(int(batch.valid.sum()) for batch in batches.values())
        metrics = {"time/warmup_seconds": time.perf_counter() - started}
        self._publish(Update(None, metrics, num_steps, []))

    def _train(self, message: Train) -> None:
        if self._needs_warmup:
            raise RuntimeError(f"expected warmup before training, got batch {message.batch_id}")
        started = time.perf_counter()
        batches = self._policies.load(self._store, message, self._device)
        spread = self._phases.spread(*batches.values())
        batches, rejected = self._policies.verify(batches, message)
        loaded = time.perf_counter()
        num_segments = sum(batch.num_segments for batch in batches.values()) + len(rejected)
        trainable = self._policies.trainable(batches)
        num_steps = sum(int(batch.valid.sum()) for batch in batches.values())
        if not trainable:
            refused = "every result differed when recomputed (rule C7)"
            self._drop(message, refused if rejected else "it holds no valid step")
            return
        progress = Progress(
            self._state.policy_version,
            self._state.counters.agent_steps,
            self._settings.schedule_steps,
            lambda: self._awaited() == message.batch_id,
        )
        try:
            reports = self._policies.update(trainable, progress)
        except NonFiniteUpdateError as error:
            self._drop(message, str(error))
            return
        acted = torch.cat([batch.policy_version for batch in batches.values()])
        lags = (self._state.policy_version - acted).double()
        self._consecutive_dropped = 0
        self._policies.gather(trainable)
        updated = time.perf_counter()
        trainers: tuple[int, ...] = ()
        if self._averaging is not None:
            trainers = average(self._state, self._averaging, message.federated_rounds)
        self._state.policy_version += 1
        self._state.counters = self._counted(message, num_steps, rejected)
        self._state.curriculum = message.curriculum
        metrics = {
            **run_metrics(reports, is_sole=len(self._state.policies) == 1),
            **self._health.metrics(trainable, reports, is_sole=len(self._state.policies) == 1),
            "train/policy_lag_mean": float(lags.mean()),
            "train/policy_lag_max": float(lags.max()),
            "train/verify_largest_difference": max(
                policy.tolerance.largest_difference for policy in self._state.policies.values()
            ),
            "train/verify_refused_share": len(rejected) / num_segments,
            "time/load_seconds": loaded - started,
            "time/update_seconds": updated - loaded,
        }
        if rejected:
            metrics["train/verify_refused_difference"] = max(
                rejection.largest_difference for rejection in rejected
            )
        if self._idle_since is not None:
            metrics["time/idle_seconds"] = started - self._idle_since
        if message.federated_rounds:
            metrics["federated/round"] = float(message.federated_rounds[-1])
            metrics["federated/trainers"] = float(len(trainers))
            metrics["time/federated_seconds"] = time.perf_counter() - updated
        if spread is not None:
            metrics["rollout/episode_desynchronisation"] = spread
        # Said first: while the version is written, the gateway sends the next batch.
        self._send(
            Trained(
                batch_id=message.batch_id,
                policy_version=self._state.policy_version,
                metrics=_finite(metrics),
                valid_steps=num_steps,
                rejected=rejected,
            )
        )
        self._publish(Update(message.batch_id, metrics, num_steps, rejected, message.metrics))
        self._saved(self._experience.save_if_due())

    def _saved(self, problem: str | None) -> None:
        """The disk took the experience, or did not, which ends no training."""
        if problem is not None:
            self._send(Noted(kind="learner", text=problem))

    def _counted(self, message: Train, num_steps: int, rejected: list[RejectedRow]) -> Counters:
        """The gateway's counters, without the steps that were left out (rule T4)."""
        if not rejected:
            return message.counters
        agent_steps = self._state.counters.agent_steps + num_steps
        return message.counters.model_copy(update={"agent_steps": agent_steps})

    def _drop(self, message: Train, reason: str) -> None:
        self._consecutive_dropped += 1
        self._send(Dropped(batch_id=message.batch_id, reason=reason, consecutive=self._consecutive_dropped))

    def _publish(self, update: Update) -> None:
        """Hand the version to the disk; it is announced once it is durable (rule D1)."""
        state = self._state
        self._policies.remember()
        row = _finite({**update.gateway_metrics, **update.metrics})
        snapshot = state.snapshot({**self._labels, "metrics": row})
        published = Published(
            batch_id=update.batch_id,
            policy_version=state.policy_version,
            onnx=self._policies.onnx(),
            checkpoint=f"checkpoints/{state.policy_version}",
            weights_sha256=snapshot.document["weights_sha256"],
            metrics=_finite(update.metrics),
            valid_steps=update.valid_steps,
            rejected=update.rejected,
        )

        def announce(folder: Path, seconds: float) -> None:
            metrics = {**published.metrics, "time/checkpoint_seconds": seconds}
            self._send(published.model_copy(update={"metrics": metrics}))

        self._writer.submit(snapshot, announce)

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
        policies = self._state.policies
        states: dict[str, dict[str, torch.Tensor]]
        if version == self._state.policy_version:
            states = {
                policy_id: policy_state.policy.state_dict() for policy_id, policy_state in policies.items()
            }
        else:
            parts = self._state.parts(load_checkpoint(self._writer.checkpoints / str(version)))
            states = {name: matching_state(part, policies[name].policy) for name, part in parts.items()}
        blank = build_policy(
            self._settings.policy,
            self._begin.description,
            normalize_observations=self._algorithm.normalize_observations,
            num_bins=self._algorithm.num_bins,
        )
        export_policies(
            Path(message.out_dir),
            states,
            blank,
            self._policies.patcher,
            self._begin.description,
            seats=self._seating.seats,
            policy_version=version,
            training=message.summary,
        )


def _finite(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if value - value == 0}
