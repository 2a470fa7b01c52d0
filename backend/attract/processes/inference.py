"""The gateway's link to the inference process."""

import sys
from collections.abc import Awaitable, Callable, Mapping

from attract.errors import InferenceError
from attract.processes.link import Peer, ProcessLink, spawn
from attract.schema.frames import decode_from_inference
from attract.schema.inference import EndInference, FromInference

INFERENCE: Peer[FromInference] = Peer(
    name="the inference process",
    decode=decode_from_inference,
    error=InferenceError,
    shutdown_message=EndInference(),
    shutdown_seconds=10.0,
)
COMMAND = (sys.executable, "-m", "attract.vector.serving")

InferenceLink = ProcessLink[FromInference]
"""Owned by the relay."""
StartInference = Callable[[], Awaitable[InferenceLink]]


async def spawn_inference(environment: Mapping[str, str] | None = None) -> InferenceLink:
    """Start the inference process. Raises: OSError: it cannot be started."""
    return await spawn(INFERENCE, COMMAND, environment)
