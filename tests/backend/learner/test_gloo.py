"""Two real learner processes that average with each other."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attract.learner.checkpoint import load_checkpoint
from attract.schema.learner import Failed, FromLearner, Published, Ready, Shutdown, Warmup
from free_port import free_port
from learner_world import GatewayEnd, SignsFleet, begin_for, train_message
from learner_zygote import LearnerZygote

HORIZON, SLOTS = 16, 4
WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def zygote():
    zygote = LearnerZygote()
    yield zygote
    zygote.close()


class Trainer:
    """One trainer: its learner process, its own games and run directory."""

    def __init__(self, zygote: LearnerZygote, tmp_path: Path, rank: int) -> None:
        self._zygote = zygote
        self.rank = rank
        tmp_path.mkdir(exist_ok=True)
        self.run_dir = tmp_path / f"run-{rank}"
        self.fleet = SignsFleet(tmp_path / f"store-{rank}", num_slots=SLOTS, horizon=HORIZON, seed=rank)
        self.last: Published | None = None
        self._start()

    def _start(self) -> None:
        connection, self.pid = self._zygote.start()
        self.end = GatewayEnd(connection)

    def begin(
        self, port: int, *, resume: bool = False, timeout: float = WAIT_SECONDS, **changes: Any
    ) -> None:
        federated = {
            "rendezvous": f"127.0.0.1:{port}",
            "rank": self.rank,
            "world_size": 2,
            "every_episodes": 100,
            "timeout_seconds": timeout,
        }
        begin = begin_for(
            self.fleet, self.run_dir, seed=10 + self.rank, federated=federated, resume=resume, **changes
        )
        self.end.send(begin)

    def warm_up(self) -> None:
        self.end.send(Warmup(rows=self.fleet.play(None, 0)))

    def train(self, rounds: list[int]) -> None:
        assert self.last is not None
        rows = self.fleet.play(self.last.onnx, self.last.policy_version)
        changes: dict[str, Any] = {"federated_rounds": rounds}
        self.end.send(train_message(self.last.policy_version, rows, HORIZON, **changes))

    def published(self) -> Published:
        answer = self.end.receive()
        assert isinstance(answer, Published), answer
        self.last = answer
        return answer

    def shut_down(self) -> None:
        self.end.send(Shutdown())
        with contextlib.suppress(EOFError):
            self.end.receive()
        self.end.hang_up()

    def restart(self) -> None:
        self.shut_down()
        self._start()

    def again(self) -> None:
        """Another learner in the place of one that is gone."""
        self.end.hang_up()
        self._start()

    def close(self) -> None:
        self.end.hang_up()
        self.fleet.close()


@contextlib.contextmanager
def two(zygote: LearnerZygote, tmp_path: Path) -> Iterator[tuple[Trainer, Trainer]]:
    trainers = Trainer(zygote, tmp_path, 0), Trainer(zygote, tmp_path, 1)
    try:
        yield trainers
    finally:
        for one in trainers:
            one.close()


def warmed_up(trainers: tuple[Trainer, Trainer], **changes: Any) -> list[FromLearner]:
    """Both at version 0; what they said when they were ready."""
    port = free_port()
    for one in trainers:
        one.begin(port, **changes)
    ready = [one.end.receive() for one in trainers]
    for one in trainers:
        one.warm_up()
    for one in trainers:
        one.published()
    return ready


def seen(trainer: Trainer) -> float:
    """How many observations are in the statistics of a trainer's newest checkpoint."""
    assert trainer.last is not None
    checkpoint = load_checkpoint(trainer.run_dir / trainer.last.checkpoint)
    return float(checkpoint.policy["observation_statistics.count"])


def test_C6_two_trainers_are_equal_after_each_round_and_go_on_so_after_a_resume(
    zygote: LearnerZygote, tmp_path: Path
):
    with two(zygote, tmp_path) as trainers:
        ready = warmed_up(trainers)
        assert all(isinstance(one, Ready) for one in ready)
        # Different seeds; they begin with the weights of trainer 0 all the same.
        assert ready[0].weights_sha256 == ready[1].weights_sha256
        hashes: list[bool] = []
        for rounds in ([], [1], [], [2, 3]):
            for one in trainers:
                one.train(rounds)
            left, right = (one.published() for one in trainers)
            hashes.append(left.weights_sha256 == right.weights_sha256)
            assert (left.metrics.get("federated/round"), "time/federated_seconds" in left.metrics) == (
                (float(rounds[-1]), True) if rounds else (None, False)
            )
        assert hashes == [False, True, False, True]
        assert left.onnx == right.onnx
        # Each saw the warm-up and four batches of 16 x 4 steps: 2 x 5 x 64, each counted once.
        assert [seen(one) for one in trainers] == [640.0, 640.0]
        port = free_port()
        for one in trainers:
            one.restart()
            one.begin(port, resume=True)
        for one in trainers:
            assert one.end.receive().policy_version == 4
            one.train([4])
        left, right = (one.published() for one in trainers)
        assert left.weights_sha256 == right.weights_sha256
        assert [seen(one) for one in trainers] == [768.0, 768.0]


def test_the_others_train_on_alone_when_one_has_ended_in_good_order(zygote: LearnerZygote, tmp_path: Path):
    for leaving in (0, 1):
        with two(zygote, tmp_path / str(leaving)) as trainers:
            warmed_up(trainers)
            for one in trainers:
                one.train([1])
            for one in trainers:
                assert one.published().metrics["federated/is_over"] == 0.0
            trainers[leaving].shut_down()
            other = trainers[1 - leaving]
            for rounds in ([2], [], [3]):
                other.train(rounds)
                assert other.published().metrics["federated/is_over"] == 1.0


def test_trainers_meet_again_when_the_learner_of_one_was_killed(zygote: LearnerZygote, tmp_path: Path):
    with two(zygote, tmp_path) as trainers:
        port = free_port()
        for one in trainers:
            one.begin(port)
        for one in trainers:
            one.end.receive()
            one.warm_up()
        for one in trainers:
            one.published()
        os.kill(trainers[0].pid, signal.SIGKILL)
        trainers[0].fleet.play(None, 0)
        trainers[1].train([1])
        failed = trainers[1].end.receive()
        assert isinstance(failed, Failed)
        assert not failed.is_final
        for one in trainers:
            one.again()
            one.begin(port, resume=True)
        for one in trainers:
            assert one.end.receive().policy_version == 0
            one.train([1])
        left, right = (one.published() for one in trainers)
        assert left.weights_sha256 == right.weights_sha256


def failure_of(trainer: Trainer) -> tuple[str, float]:
    started = time.monotonic()
    failed = trainer.end.receive()
    assert isinstance(failed, Failed), failed
    assert failed.is_final == ("is gone" not in failed.text)
    return failed.text, time.monotonic() - started


def test_a_trainer_that_died_is_told_of_and_nobody_hangs(zygote: LearnerZygote, tmp_path: Path):
    with two(zygote, tmp_path) as trainers:
        warmed_up(trainers)
        os.kill(trainers[1].pid, signal.SIGKILL)
        trainers[0].train([1])
        text, seconds = failure_of(trainers[0])
        assert "FederationError: round 1 of averaging: another trainer is gone" in text
        assert seconds < 20


def test_a_trainer_that_does_not_come_is_waited_for_no_longer_than_the_limit(
    zygote: LearnerZygote, tmp_path: Path
):
    with two(zygote, tmp_path) as trainers:
        warmed_up(trainers, timeout=3.0)
        trainers[0].train([1])
        text, seconds = failure_of(trainers[0])
        assert "round 1 of averaging: another trainer did not come within 3 s" in text
        assert "resume all of them" in text
        assert 2 < seconds < 20


def test_trainers_at_different_rounds_are_told_so(zygote: LearnerZygote, tmp_path: Path):
    with two(zygote, tmp_path) as trainers:
        warmed_up(trainers)
        trainers[0].train([1])
        trainers[1].train([2])
        texts = [failure_of(one)[0] for one in trainers]
        assert "trainer 1 is at round 2, this one at round 1" in texts[0]
        assert "trainer 0 is at round 1, this one at round 2" in texts[1]


def test_trainers_of_different_networks_are_told_so(zygote: LearnerZygote, tmp_path: Path):
    with two(zygote, tmp_path) as trainers:
        port = free_port()
        trainers[0].begin(port)
        trainers[1].begin(port, policy={"hidden_sizes": [9]})
        texts = [failure_of(one)[0] for one in trainers]
        assert all("trains another game or network" in text for text in texts)


def test_a_trainer_alone_at_the_rendezvous_gives_up(zygote: LearnerZygote, tmp_path: Path):
    with two(zygote, tmp_path) as trainers:
        trainers[1].begin(free_port(), timeout=1.0)
        text, seconds = failure_of(trainers[1])
        assert "trainer 1 of 2 did not meet the others at 127.0.0.1:" in text
        assert seconds < 30
