"""The gateway's link to the inference process: its words, and a process out of reach of Ctrl-C."""

import os
import signal

import pytest

from attract.errors import InferenceError, ProtocolError
from attract.processes.inference import COMMAND, INFERENCE, spawn_inference
from attract.schema.frames import encode
from attract.schema.inference import EndInference, ObserveRefused


def test_its_words_are_read_and_those_to_it_are_not_its_own():
    said = ObserveRefused(worker_id=0, reason="r", fix="f")
    assert INFERENCE.decode(encode(said)) == said
    with pytest.raises(ProtocolError):
        INFERENCE.decode(encode(EndInference()))
    assert INFERENCE.shutdown_message == EndInference()
    assert INFERENCE.error is InferenceError


async def test_a_spawned_process_is_out_of_reach_of_ctrl_c_and_its_end_is_heard_of():
    link = await spawn_inference()
    assert link.process is not None
    assert list(link.process.args)[: len(COMMAND)] == list(COMMAND)  # type: ignore[arg-type]
    assert os.getpgid(link.process.pid) != os.getpgid(0)
    link.process.kill()
    assert await link.receive() is None
    assert await link.kill() == -signal.SIGKILL
