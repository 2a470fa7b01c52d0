"""The learner's process: inherited socket in, one loop on the main thread; ends with its parent."""

import ctypes
import logging
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

from attract.errors import CheckpointError, ConfigurationError, FederationError
from attract.learner.process.channel import Channel
from attract.processes.cores import keep_freed_memory
from attract.runs.log_files import redirect_output
from attract.runs.log_lines import LogFormat, LogLevel, bind, show_logs
from attract.schema.learner import Awaited, Begin, Failed, Shutdown, ToLearner
from attract.settings.run import RunSettings

ORPHAN_SECONDS = 1.0
"""How long an update may go on after the parent has gone, before the process ends under it."""
SWITCH_SECONDS = 0.0005
"""After so long the next update lets the thread that writes checkpoints go on, which asks for the interpreter
after each sync of a file; Python's own 5 ms delayed every version."""
_PR_SET_PDEATHSIG = 1
_TEXT_LIMIT = 20_000

HOPELESS = (ConfigurationError, CheckpointError)
"""Failures that a replacement of this learner would meet again."""

log = logging.getLogger(__name__)

Incoming = ToLearner | Exception | None
"""Events for the main thread: a message, a failure on another thread, or the parent's end."""


def run(fd: int, log_format: LogFormat = "text", log_level: LogLevel = "info") -> int:
    """Serve one gateway over the socket `fd` until it sends `shutdown` or goes away.

    Returns: exit code: 0, or 1 after a failure, which was reported as `failed`.
    """
    # Ctrl-C reaches the whole process group; the command line alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    keep_freed_memory()
    show_logs(log_format, log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    channel = Channel(socket.socket(fileno=fd))
    inbox: queue.SimpleQueue[Incoming] = queue.SimpleQueue()
    finished = threading.Event()
    threading.Thread(target=_listen, args=(channel, inbox, finished), name="listener", daemon=True).start()
    try:
        _serve(channel, inbox)
    except Exception as error:
        # For a wrong file or setting the message is enough; a stack is for our own faults.
        stack = "" if isinstance(error, HOPELESS) else traceback.format_exc()
        text = f"{type(error).__name__}: {error}"
        log.error("the learner failed: %s", f"{text}\n{stack}".rstrip())
        is_final = error.is_final if isinstance(error, FederationError) else isinstance(error, HOPELESS)
        channel.send(Failed(text=text[:_TEXT_LIMIT], stack=stack[-_TEXT_LIMIT:], is_final=is_final))
        return 1
    finally:
        finished.set()
    return 0


def die_with_parent() -> None:
    """On Linux, have the kernel signal this process when its parent dies; elsewhere the closed socket does.

    The signal also comes when only the *thread* that started this process ends; then it means nothing.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()

    def on_parent_death(signum: int, frame: object) -> None:
        if os.getppid() != parent:
            # A closed socket ends it too; this is for a socket that other processes hold open.
            end = threading.Timer(ORPHAN_SECONDS, os._exit, (0,))
            end.daemon = True
            end.start()

    signal.signal(signal.SIGUSR1, on_parent_death)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)


def _listen(channel: Channel, inbox: "queue.SimpleQueue[Incoming]", finished: threading.Event) -> None:
    """Hand messages to the main thread; at the parent's end give it a moment, then end the process."""
    try:
        while (message := channel.receive()) is not None:
            inbox.put(message)
    except Exception as error:
        inbox.put(error)
        return
    inbox.put(None)
    if not finished.wait(ORPHAN_SECONDS):
        # The result of this update has no reader; what was announced is on disk.
        os._exit(0)


def _serve(channel: Channel, inbox: "queue.SimpleQueue[Incoming]") -> None:
    # Imported at once, while the browser starts, so that `begin` is answered fast.
    from attract.learner.process.loop import Learner

    begin = inbox.get()
    if begin is None or isinstance(begin, Shutdown):
        return
    if isinstance(begin, Exception):
        raise begin
    if not isinstance(begin, Begin):
        raise RuntimeError(f"expected begin as the first message, got {begin.type!r}")
    redirect_output(Path(begin.run_dir) / "logs")
    bind(run=begin.run_id)
    log.info("learner of %s, process %d", begin.run_id, os.getpid())
    settings = RunSettings.from_mapping(begin.settings)
    learner = Learner(begin, settings, channel.send, inbox.put, lambda: channel.awaited)
    try:
        learner.start()
        while True:
            message = inbox.get()
            if isinstance(message, Exception):
                raise message
            if isinstance(message, Shutdown):
                learner.leave()
            if message is None or isinstance(message, Shutdown):
                return
            if isinstance(message, Begin | Awaited):
                raise RuntimeError(f"expected work, got {message.type!r}")
            learner.handle(message)
    finally:
        learner.close()
