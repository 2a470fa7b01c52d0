"""A learner without torch that speaks the learner's protocol over a real socket pair."""

import asyncio
import contextlib
import json
import socket
import struct
from pathlib import Path
from typing import Any

from attract.processes.children import LEARNER, LearnerLink
from attract.processes.link import open_link
from attract.runs.checkpoint_document import DOCUMENT_FILE, sealed
from attract.runs.exports import model_file
from attract.schema.base import WireModel
from attract.schema.frames import decode_to_learner, encode
from attract.schema.learner import (
    Begin,
    Counters,
    Dropped,
    Export,
    Exported,
    Failed,
    Noted,
    Published,
    Ready,
    Shutdown,
    Stalled,
    ToLearner,
    Train,
    Trained,
    Warmup,
)
from attract.settings.run import RunSettings

LENGTH = struct.Struct("<I")


class FakeLearner:
    """Starts lives on demand (`start` is a StartLearner); the ONNX bytes of version v are `onnx <v>`,
    or of one of several policies `onnx <policy id> <v>`.

    A version's checkpoint is a folder with `checkpoint.json`; a life that resumes reads the newest.
    """

    def __init__(self, *, needs_warmup: bool = True) -> None:
        self.needs_warmup = needs_warmup
        self.heard: list[ToLearner] = []
        self.lives = 0
        self.hold = asyncio.Event()
        """Cleared: updates wait."""
        self.hold.set()
        self.hold_disk = asyncio.Event()
        """Cleared: versions are trained, and wait to be durable."""
        self.hold_disk.set()
        self.holding = asyncio.Event()
        """Set once an update or a version waits."""
        self.fail_begin = False
        self.failure_is_final = False
        self.stall: str | None = None
        """Why the next update, held up, cannot be saved; it is as long as `hold` is cleared."""
        self.fail_export = False
        self.note: str | None = None
        """What each of its lives has to tell a person."""
        self.drop_updates = 0
        """How many of the next updates are undone."""
        self.num_trained = 0
        self.metrics: dict[str, float] = {}
        """What updates report besides `train/loss`, the version."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> LearnerLink:
        """A fresh learner, at the end of a socket pair."""
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=theirs)
        self.lives += 1
        self._task = asyncio.create_task(self._live_and_close(reader, writer))
        return await open_link(LEARNER, ours)

    async def die(self) -> None:
        """As if killed: the socket closes, nothing more is said."""
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _live_and_close(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._live(reader, writer)
        finally:
            writer.close()

    async def _live(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        version, begin, dropped = 0, None, 0

        def say(message: WireModel) -> None:
            data = encode(message)
            writer.write(LENGTH.pack(len(data)) + data)

        while True:
            try:
                (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                message = decode_to_learner(await reader.readexactly(length))
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            self.heard.append(message)
            match message:
                case Begin():
                    begin = message
                    if self.note is not None:
                        say(Noted(kind="federated", text=self.note))
                    if self.fail_begin:
                        failed = Failed(text="ValueError: no such thing", stack="Traceback ...")
                        say(failed.model_copy(update={"is_final": self.failure_is_final}))
                        return
                    version, counters, curriculum = 0, Counters(), {}
                    if begin.resume:
                        version, counters, curriculum = _newest(Path(begin.run_dir))
                    needs = self.needs_warmup and not begin.resume
                    if not needs and not begin.resume:
                        _save(Path(begin.run_dir), 0, Counters())
                    say(
                        Ready(
                            policy_version=version,
                            needs_warmup=needs,
                            onnx=_models(begin, version),
                            weights_sha256=f"{version:064d}",
                            num_parameters=1,
                            device="cpu",
                            counters=counters,
                            curriculum=curriculum,
                        )
                    )
                case Warmup():
                    assert begin is not None
                    _save(Path(begin.run_dir), 0, Counters())
                    say(_published(begin, None, 0))
                case Train():
                    assert begin is not None
                    if not self.hold.is_set():
                        self.holding.set()
                        if self.stall is not None:
                            say(Stalled(reason=self.stall))
                        await self.hold.wait()
                        if self.stall is not None:
                            say(Stalled(reason=None))
                    if self.drop_updates:
                        self.drop_updates -= 1
                        dropped += 1
                        say(Dropped(batch_id=message.batch_id, reason="P8: nan", consecutive=dropped))
                        continue
                    dropped = 0
                    version += 1
                    self.num_trained += len(message.rows)
                    published = _published(begin, message.batch_id, version, self.metrics)
                    say(Trained(batch_id=message.batch_id, policy_version=version, metrics=published.metrics))
                    if not self.hold_disk.is_set():
                        self.holding.set()
                        await self.hold_disk.wait()
                    metrics = {**message.metrics, **published.metrics}
                    _save(Path(begin.run_dir), version, message.counters, message.curriculum, metrics)
                    say(published)
                case Export():
                    chosen = version if message.policy_version is None else message.policy_version
                    assert begin is not None
                    if self.fail_export:
                        say(
                            Exported(
                                policy_version=chosen, out_dir=message.out_dir, error="C9: they disagree"
                            )
                        )
                        continue
                    _export(message, chosen, _models(begin, chosen))
                    say(Exported(policy_version=chosen, out_dir=message.out_dir))
                case Shutdown():
                    return


def _published(
    begin: Begin, batch_id: int | None, version: int, metrics: dict[str, float] | None = None
) -> Published:
    return Published(
        batch_id=batch_id,
        policy_version=version,
        onnx=_models(begin, version),
        checkpoint=f"checkpoints/{version}",
        weights_sha256=f"{version:064d}",
        metrics={"train/loss": float(version), **(metrics or {})},
    )


def _models(begin: Begin, version: int) -> dict[str, bytes]:
    names = list(dict.fromkeys(RunSettings.from_mapping(begin.settings).collection.seats)) or ["main"]
    if len(names) == 1:
        return {names[0]: b"onnx %d" % version}
    return {name: f"onnx {name} {version}".encode() for name in names}


def _export(order: Export, version: int, models: dict[str, bytes]) -> None:
    out = Path(order.out_dir)
    out.mkdir(parents=True, exist_ok=True)
    for name, model in models.items():
        (out / model_file(name, list(models))).write_bytes(model)
    (out / "policy.json").write_text(json.dumps({"policy_version": version, "training": order.summary}))


def _save(
    run_dir: Path,
    version: int,
    counters: Counters,
    curriculum: dict[str, Any] | None = None,
    metrics: dict[str, float] | None = None,
) -> None:
    folder = run_dir / "checkpoints" / str(version)
    folder.mkdir(parents=True, exist_ok=True)
    saved = {
        "counters": counters.model_dump(),
        "curriculum": curriculum or {},
        "metrics": metrics or {},
        "weights_sha256": f"{version:064d}",
    }
    (folder / DOCUMENT_FILE).write_text(json.dumps(sealed(version, saved)))


def _newest(run_dir: Path) -> tuple[int, Counters, dict[str, Any]]:
    version = max(int(path.name) for path in (run_dir / "checkpoints").iterdir())
    saved = json.loads((run_dir / "checkpoints" / str(version) / DOCUMENT_FILE).read_text())
    return version, Counters.model_validate(saved["counters"]), saved["curriculum"]
