"""The gateway's link to the learner: its words, and a process that is out of reach of Ctrl-C."""

import os
import signal

import pytest

from attract.errors import LearnerError, ProtocolError
from attract.processes.learner import COMMAND, LEARNER, spawn_learner
from attract.schema.frames import encode
from attract.schema.learner import Dropped, Shutdown


def test_its_words_are_read_and_those_to_it_are_not_its_own():
    said = Dropped(batch_id=1, reason="nan", consecutive=1)
    assert LEARNER.decode(encode(said)) == said
    with pytest.raises(ProtocolError):
        LEARNER.decode(encode(Shutdown()))
    assert LEARNER.shutdown_message == Shutdown()
    assert LEARNER.error is LearnerError


async def test_a_spawned_process_is_out_of_reach_of_ctrl_c_and_its_end_is_heard_of():
    link = await spawn_learner()
    assert link.process is not None
    assert list(link.process.args)[: len(COMMAND)] == list(COMMAND)  # type: ignore[arg-type]
    assert os.getpgid(link.process.pid) != os.getpgid(0)
    link.process.kill()
    assert await link.receive() is None
    assert await link.kill() == -signal.SIGKILL
