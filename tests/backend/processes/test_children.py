"""The gateway's links to its children: their words, and processes that are out of reach of Ctrl-C."""

import os
import signal
from typing import Any

import pytest

from attract.errors import InferenceError, LearnerError, ProtocolError
from attract.processes.children import INFERENCE, LEARNER
from attract.processes.link import Peer, spawn
from attract.schema.base import WireModel
from attract.schema.frames import encode
from attract.schema.inference import EndInference, ObserveRefused
from attract.schema.learner import Dropped, Shutdown

SAID: dict[str, tuple[Peer[Any], WireModel, WireModel, type[Exception]]] = {
    "learner": (LEARNER, Dropped(batch_id=1, reason="nan", consecutive=1), Shutdown(), LearnerError),
    "inference": (
        INFERENCE,
        ObserveRefused(worker_id=0, reason="r", fix="f"),
        EndInference(),
        InferenceError,
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_its_words_are_read_and_those_to_it_are_not_its_own(name: str):
    peer, said, end, error = SAID[name]
    assert peer.decode(encode(said)) == said
    with pytest.raises(ProtocolError):
        peer.decode(encode(end))
    assert peer.shutdown_message == end
    assert peer.error is error


@pytest.mark.parametrize("name", SAID)
async def test_a_spawned_process_is_out_of_reach_of_ctrl_c_and_its_end_is_heard_of(name: str):
    peer, *_ = SAID[name]
    link = await spawn(peer)
    assert link.process is not None
    assert list(link.process.args)[: len(peer.command)] == list(peer.command)  # type: ignore[arg-type]
    assert os.getpgid(link.process.pid) != os.getpgid(0)
    link.process.kill()
    assert await link.receive() is None
    assert await link.kill() == -signal.SIGKILL
