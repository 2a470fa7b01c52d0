"""The gateway's child processes: the learner, and the one that plays policies for page workers."""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from attract.errors import InferenceError, LearnerError
from attract.processes.link import Peer, ProcessLink, spawn
from attract.schema.frames import decode_from_inference, decode_from_learner
from attract.schema.inference import EndInference, FromInference
from attract.schema.learner import FromLearner, Shutdown

LEARNER: Final[Peer[FromLearner]] = Peer(
    name="the learner",
    command=(sys.executable, "-m", "attract.learner"),
    decode=decode_from_learner,
    error=LearnerError,
    shutdown_message=Shutdown(),
    shutdown_seconds=20.0,
)
INFERENCE: Final[Peer[FromInference]] = Peer(
    name="the inference process",
    command=(sys.executable, "-m", "attract.vector.serving"),
    decode=decode_from_inference,
    error=InferenceError,
    shutdown_message=EndInference(),
    shutdown_seconds=10.0,
)
LearnerLink = ProcessLink[FromLearner]
"""Owned by the learner's supervisor."""
InferenceLink = ProcessLink[FromInference]
"""Owned by the relay."""
StartLearner = Callable[[], Awaitable[LearnerLink]]
"""Starts a learner for the gateway; called again when one has died."""
StartInference = Callable[[], Awaitable[InferenceLink]]
spawn_learner: Final = partial(spawn, LEARNER)
spawn_inference: Final = partial(spawn, INFERENCE)
