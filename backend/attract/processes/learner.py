"""The gateway's link to the learner process."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

from attract.errors import LearnerError
from attract.processes.link import Peer, ProcessLink, spawn
from attract.schema.frames import decode_from_learner
from attract.schema.learner import FromLearner, Shutdown

LEARNER: Peer[FromLearner] = Peer(
    name="the learner",
    decode=decode_from_learner,
    error=LearnerError,
    shutdown_message=Shutdown(),
    shutdown_seconds=20.0,
)
COMMAND = (sys.executable, "-m", "attract.learner")

LearnerLink = ProcessLink[FromLearner]
"""Owned by the learner's supervisor."""
StartLearner = Callable[[], Awaitable[LearnerLink]]
"""Starts a learner for the gateway; called again when one has died."""


async def spawn_learner(
    environment: Mapping[str, str] | None = None, *, command: Sequence[str] = COMMAND
) -> LearnerLink:
    """Start the learner process, or `command` in its place. Raises: OSError: it cannot be started."""
    return await spawn(LEARNER, command, environment)
