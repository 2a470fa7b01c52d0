import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attract.learner.checkpoints.checkpoint import find_newest
from attract.schema.learner import Failed, Published, Ready, Shutdown, Warmup
from learner_world import GatewayEnd, LearnerProcess, SignsFleet, begin_for, has_exited, train_message
from zygote import fork_learner

HORIZON, SLOTS = 16, 8


@pytest.fixture
def fleet(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store.bin", num_slots=SLOTS, horizon=HORIZON, seed=11)
    yield fleet
    fleet.close()


def started_by_a_thread_that_ends() -> LearnerProcess:
    """Linux signals the end of a starting *thread* as it does a parent's; that must end nothing."""
    learners: list[LearnerProcess] = []
    thread = threading.Thread(target=lambda: learners.append(LearnerProcess()))
    thread.start()
    thread.join()
    return learners[0]


def test_a_whole_run_over_the_socket_ends_with_exit_code_0(fleet: SignsFleet, tmp_path: Path):
    with started_by_a_thread_that_ends() as learner:
        learner.send(begin_for(fleet, tmp_path / "run"))
        ready = learner.receive()
        assert isinstance(ready, Ready) and ready.needs_warmup
        learner.send(Warmup(rows=fleet.play(None, 0)))
        last = learner.receive()
        for batch_id in range(2):
            assert isinstance(last, Published)
            # Ctrl-C reaches the whole process group; it is not the learner's business.
            learner.process.send_signal(signal.SIGINT)
            learner.send(train_message(batch_id, fleet.play(last.onnx, last.policy_version), HORIZON))
            last = learner.receive()
        assert isinstance(last, Published) and last.policy_version == 2
        # What was asked before the shutdown is done before it.
        learner.send(train_message(2, fleet.play(last.onnx, 2), HORIZON))
        learner.send(Shutdown())
        assert learner.receive().policy_version == 3
        assert learner.process.wait(20) == 0
        assert learner.process.stderr.read() == ""


def test_a_learner_that_cannot_go_on_says_why_and_exits_1(fleet: SignsFleet, tmp_path: Path):
    with LearnerProcess() as learner:
        learner.send(begin_for(fleet, tmp_path / "run", ppo={"learning_rat": 0.1}))
        failed = learner.receive()
        assert isinstance(failed, Failed)
        assert "ppo.learning_rat: there is no such setting" in failed.text
        assert "learning_rate" in failed.text
        # A stack is for faults of our own; here the sentence says all.
        assert failed.stack == ""
        assert learner.process.wait(20) == 1
        said = (tmp_path / "run" / "logs" / "learner.log").read_text()
        assert "learner of " in said and "there is no such setting" in said and "Traceback" not in said


def learner_of(die_at_write: int = 0) -> tuple[GatewayEnd, int]:
    connection, pid = fork_learner(die_at_write=die_at_write)
    return GatewayEnd(connection), pid


def test_D1_a_failing_disk_ends_the_learner_with_a_reason(fleet: SignsFleet, tmp_path: Path):
    learner, pid = learner_of()
    with learner:
        learner.send(begin_for(fleet, tmp_path / "run"))
        learner.receive()
        (tmp_path / "run" / "checkpoints").write_text("a file where the folder should be")
        learner.send(Warmup(rows=fleet.play(None, 0)))
        failed = learner.receive()
        assert isinstance(failed, Failed) and "NotADirectoryError" in failed.text
        assert has_exited(pid, 10)


def test_nonsense_on_the_socket_ends_the_learner_with_a_reason():
    connection, pid = fork_learner()
    connection.sendall(b"\x01\x00\x00\x00\xc1")
    with GatewayEnd(connection) as learner:
        failed = learner.receive()
        assert isinstance(failed, Failed) and "ProtocolError" in failed.text
        assert has_exited(pid, 10)


def test_a_first_message_that_is_not_begin_is_refused():
    learner, pid = learner_of()
    with learner:
        learner.send(Warmup(rows=[]))
        failed = learner.receive()
        assert isinstance(failed, Failed) and "expected begin" in failed.text
        assert has_exited(pid, 10)


def test_a_closed_socket_ends_an_idle_learner_at_once(fleet: SignsFleet, tmp_path: Path):
    learner, pid = learner_of()
    with learner:
        learner.send(begin_for(fleet, tmp_path / "run"))
        learner.receive()
    assert has_exited(pid, 2)


def test_a_closed_socket_ends_a_learner_in_the_middle_of_a_long_update(fleet: SignsFleet, tmp_path: Path):
    learner, pid = learner_of()
    with learner:
        learner.send(
            begin_for(
                fleet, tmp_path / "run", ppo={"n_epochs": 1000, "num_minibatches": 64, "target_kl": None}
            )
        )
        learner.receive()
        learner.send(Warmup(rows=fleet.play(None, 0)))
        first = learner.receive()
        learner.send(train_message(0, fleet.play(first.onnx, 0), HORIZON))
        assert learner.is_silent_for(0.3)
        assert not has_exited(pid, 0)
    assert has_exited(pid, 2)
    newest, _ = find_newest(tmp_path / "run" / "checkpoints")
    assert newest is not None and newest.document["weights_sha256"] == first.weights_sha256


PARENT = """
import socket, subprocess, sys, os
inherited = int(sys.argv[1])
command = [sys.executable, "-m", "attract.learner", "--fd", str(inherited)]
learner = subprocess.Popen(command, pass_fds=(inherited,))
os.close(inherited)
print(learner.pid, flush=True)
sys.stdin.read()
"""


HOLDERS = ["the parent", "another process too"] if sys.platform == "linux" else ["the parent"]


@pytest.mark.parametrize("socket_is_held_by", HOLDERS)
def test_a_learner_dies_with_its_parent_within_two_seconds(
    fleet: SignsFleet, tmp_path: Path, socket_is_held_by: str
):
    # In the second case the test itself holds the gateway's end: no end of file will ever come, only the
    # kernel's signal tells of the death. Elsewhere than on Linux there is only the end of file.
    ours, theirs = socket.socketpair()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(theirs.fileno())],
        pass_fds=(theirs.fileno(), ours.fileno()),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    theirs.close()
    pid = int(parent.stdout.readline())
    with GatewayEnd(ours) as learner:
        learner.send(begin_for(fleet, tmp_path / "run"))
        assert isinstance(learner.receive(), Ready)
        if socket_is_held_by == "the parent":
            learner.hang_up()
        parent.kill()
        parent.wait()
        assert has_exited(pid, 2)
    parent.stdin.close()
    parent.stdout.close()


class KilledRun:
    """One run, gone on with by learner after learner, each killed; checks that nothing announced is lost."""

    def __init__(self, fleet: SignsFleet, run_dir: Path) -> None:
        self._fleet = fleet
        self._run_dir = run_dir
        self.announced: dict[int, str] = {}
        self.update_seconds = 0.0
        """How long the last undisturbed update took, announcement included."""

    def life(
        self, num_updates: int, *, die_at_write: int = 0, kill_after_seconds: float | None = None
    ) -> bool:
        """One learner's life; True if it died in it, False if it got through its updates and was then ended.

        Args:
            num_updates: how many it is asked for, one after the other.
            die_at_write: killed at this fsync or rename.
            kill_after_seconds: killed this long after the last of its updates was asked for.
        """
        learner, pid = learner_of(die_at_write)
        try:
            learner.send(begin_for(self._fleet, self._run_dir, resume=bool(self.announced)))
            last = learner.receive()
            assert isinstance(last, Ready), last
            if self.announced:
                newest = max(self.announced)
                # Rule D1. It may be one further: durable, but killed before it could say so.
                assert last.policy_version in (newest, newest + 1)
                if last.policy_version == newest:
                    assert last.weights_sha256 == self.announced[newest]
                self.announced[last.policy_version] = last.weights_sha256
            else:
                learner.send(Warmup(rows=self._fleet.play(None, 0)))
                last = self._hear(learner)
            for _ in range(num_updates):
                rows = self._fleet.play(last.onnx, last.policy_version)
                learner.send(train_message(last.policy_version, rows, HORIZON))
                if kill_after_seconds is not None:
                    select.select([], [], [], kill_after_seconds)
                    os.kill(pid, signal.SIGKILL)
                asked = time.monotonic()
                last = self._hear(learner)
                if kill_after_seconds is None:
                    self.update_seconds = time.monotonic() - asked
        except (EOFError, BrokenPipeError):
            return True
        finally:
            learner.hang_up()
            assert has_exited(pid, 10)
        return False

    def _hear(self, learner: GatewayEnd) -> Published:
        published = learner.receive()
        assert isinstance(published, Published), published
        assert published.policy_version == max(self.announced, default=-1) + 1
        self.announced[published.policy_version] = published.weights_sha256
        return published


def test_D1_an_announced_version_survives_a_kill_at_every_write_of_an_update(
    fleet: SignsFleet, tmp_path: Path
):
    run = KilledRun(fleet, tmp_path / "run")
    assert not run.life(2)
    # A checkpoint is 6 writes: three files, their folder, the rename, the folder above. Two updates are hit.
    deaths = [run.life(2, die_at_write=number) for number in range(1, 14)]
    assert deaths == [True] * 12 + [False]
    assert not run.life(1)


def test_D1_an_announced_version_survives_kills_at_random_moments(fleet: SignsFleet, tmp_path: Path):
    seed = 20261121
    print(f"seed {seed}")
    moments = random.Random(seed)
    run = KilledRun(fleet, tmp_path / "run")
    assert not run.life(5)
    # Sets `update_seconds` to what the first update of a life takes: longer than those after it.
    assert not run.life(1)
    deaths: list[bool] = []
    window = 2 * run.update_seconds
    for _ in range(12):
        deaths.append(run.life(1, kill_after_seconds=moments.uniform(0.0, window)))
        # The machine may have become slower or faster since the first update.
        window *= 1.5 if deaths[-1] else 0.7
    assert not run.life(1)
    # Kills that all came too early, or all too late, would have tested nothing.
    assert True in deaths and False in deaths
