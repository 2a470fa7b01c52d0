"""The learner with a stamp on each of its versions, or a publisher in its place.

The publisher answers each batch at once by a new version: everything a learner does after an update is done
with the learner's own parts (rule D1); only the update is left out, and the weights are shaken instead.
"""

import argparse
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from attract.learner.checkpoints.writer import CheckpointWriter
from attract.learner.policies.training_state import TrainingState
from attract.learner.process.channel import Channel
from attract.learner.process.loop import Learner
from attract.learner.process.main import SWITCH_SECONDS, die_with_parent
from attract.learner.registry import choose_algorithm
from attract.policy.export import OnnxPatcher
from attract.processes.cores import keep_freed_memory
from attract.schema.learner import (
    Awaited,
    Begin,
    Export,
    Exported,
    FromLearner,
    Published,
    Ready,
    Shutdown,
    ToLearner,
    Train,
    Trained,
    Warmup,
)
from attract.settings.collection import MAIN
from attract.settings.run import RunSettings
from attract_benchmarks.harness.publication import DURABLE, ENDED, VERSION

WEIGHT_NOISE = 1e-3
"""Size of what is added to the weights: every version has other bytes, and the games go on as they were."""


class Publisher:
    """One run's publisher, on the main thread of its process."""

    def __init__(
        self, begin: Begin, send: Callable[[FromLearner], None], on_failure: Callable[[Exception], None]
    ) -> None:
        """`send` and `on_failure` are also called from the thread that writes checkpoints."""
        torch.set_num_threads(1)
        self._send = send
        settings = RunSettings.from_mapping(begin.settings)
        algorithm = choose_algorithm(settings)
        self._state = TrainingState.create(
            begin.description, settings.policy, algorithm, settings.seed, torch.device("cpu")
        )
        self._generator = torch.Generator().manual_seed(settings.seed)
        (self._sole,) = self._state.policies.values()
        self._patcher = OnnxPatcher(self._sole.policy)
        self._writer = CheckpointWriter(Path(begin.run_dir), on_failure, lambda _reason: None)

    def start(self) -> None:
        """Send `ready`, with version 0 on disk."""
        state = self._state
        ready = Ready(
            policy_version=0,
            needs_warmup=False,
            onnx=self._onnx(),
            weights_sha256=state.weights_sha256(),
            num_parameters=sum(parameter.numel() for parameter in self._sole.policy.parameters()),
            device="cpu",
            counters=state.counters,
        )
        self._writer.submit(state.snapshot({}), lambda _folder, _seconds: self._send(ready))

    def handle(self, message: ToLearner) -> None:
        """Answer a message of the gateway."""
        match message:
            case Train():
                self._publish(message)
            case Export():
                # The result of a benchmark's training has no reader.
                version = self._state.policy_version
                self._send(Exported(policy_version=version, out_dir=message.out_dir))
            case Warmup() | Begin() | Awaited() | Shutdown():
                raise RuntimeError(f"expected train or export, got {message.type!r}")

    def close(self) -> None:
        """Let what is being written be finished."""
        self._writer.finish()

    def _publish(self, message: Train) -> None:
        state = self._state
        with torch.no_grad():
            for parameter in self._sole.policy.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=self._generator), alpha=WEIGHT_NOISE)
        state.policy_version += 1
        state.counters = message.counters
        ended = time.monotonic()
        snapshot = state.snapshot({})
        published = Published(
            batch_id=message.batch_id,
            policy_version=state.policy_version,
            onnx=self._onnx(),
            checkpoint=f"checkpoints/{state.policy_version}",
            weights_sha256=snapshot.document["weights_sha256"],
            metrics={},
        )

        def announce(_folder: Path, _seconds: float) -> None:
            metrics = {ENDED: ended, DURABLE: time.monotonic(), VERSION: float(published.policy_version)}
            self._send(published.model_copy(update={"metrics": metrics}))

        self._writer.submit(snapshot, announce)

    def _onnx(self) -> dict[str, bytes]:
        return {MAIN: self._patcher.patched(self._sole.policy.state_dict())}


class StampedLearner(Learner):
    """The learner itself; a version's metrics say when its update ended and when it was on disk."""

    def __init__(
        self, begin: Begin, send: Callable[[FromLearner], None], on_failure: Callable[[Exception], None]
    ) -> None:
        """As the learner's."""
        self._ended: dict[int, float] = {}

        def stamped(message: FromLearner) -> None:
            if isinstance(message, Trained):
                self._ended[message.policy_version] = time.monotonic()
            elif isinstance(message, Published):
                version = message.policy_version
                now = time.monotonic()
                # Version 0 is no update's.
                stamps = {ENDED: self._ended.pop(version, now), DURABLE: now, VERSION: float(version)}
                message = message.model_copy(update={"metrics": {**message.metrics, **stamps}})
            send(message)

        super().__init__(begin, RunSettings.from_mapping(begin.settings), stamped, on_failure)


def main(fd: int, *, trains: bool) -> int:
    """Speak the learner's side of its protocol on the inherited socket until it ends; the exit code.

    Args:
        fd: the socket.
        trains: whether the learner itself answers, stamped, or a publisher in its place.
    """
    die_with_parent()
    keep_freed_memory()
    sys.setswitchinterval(SWITCH_SECONDS)
    channel = Channel(socket.socket(fileno=fd))

    def failed(error: Exception) -> None:
        print(f"the publisher failed: {error}", file=sys.stderr, flush=True)
        os._exit(1)

    begin = channel.receive()
    if not isinstance(begin, Begin):
        return 0
    publisher = (StampedLearner if trains else Publisher)(begin, channel.send, failed)
    publisher.start()
    while (message := channel.receive()) is not None and not isinstance(message, Shutdown):
        if isinstance(message, Begin | Awaited):
            raise RuntimeError(f"expected train or export, got {message.type!r}")
        publisher.handle(message)
    publisher.close()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m attract_benchmarks.harness.publisher")
    parser.add_argument("--fd", type=int, required=True, help="socket inherited from the gateway")
    parser.add_argument("--trains", action="store_true", help="be the learner, and only say when")
    arguments = parser.parse_args()
    sys.exit(main(arguments.fd, trains=arguments.trains))
