"""Real learner processes that average with each other, and go on when one of them dies."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attract.learner.checkpoints.checkpoint import load_checkpoint
from attract.learner.group.membership import NOTHING
from attract.learner.group.store import KeyValueStore
from attract.schema.learner import Failed, FromLearner, Noted, Published, Ready, Shutdown, Warmup
from learner_world import GatewayEnd, SignsFleet, begin_for, train_message
from servers import free_port
from zygote import fork_learner

HORIZON, SLOTS = 16, 4
WAIT_SECONDS = 60.0
LOST_SECONDS = 3.0
"""Six times what a living trainer is silent; those who go on wait for so long."""


class Trainer:
    """One trainer: its learner process, its own games and run directory."""

    def __init__(self, tmp_path: Path, rank: int, world_size: int) -> None:
        self.rank = rank
        self.world_size = world_size
        self.notes: list[str] = []
        tmp_path.mkdir(exist_ok=True)
        self.run_dir = tmp_path / f"run-{rank}"
        self.fleet = SignsFleet(tmp_path / f"store-{rank}", num_slots=SLOTS, horizon=HORIZON, seed=rank)
        self.last: Published | None = None
        self._start()

    def _start(self) -> None:
        connection, self.pid = fork_learner()
        self.end = GatewayEnd(connection)

    def begin(
        self,
        port: int,
        *,
        resume: bool = False,
        timeout: float = WAIT_SECONDS,
        lost: float = LOST_SECONDS,
        **changes: Any,
    ) -> None:
        federated = {
            "rendezvous": f"127.0.0.1:{port}",
            "rank": self.rank,
            "world_size": self.world_size,
            "every_episodes": 100,
            "timeout_seconds": timeout,
            "lost_seconds": lost,
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

    def receive(self) -> FromLearner:
        """What the learner says next; what is for a person is kept apart."""
        while isinstance(answer := self.end.receive(), Noted):
            self.notes.append(answer.text)
        return answer

    def published(self) -> Published:
        answer = self.receive()
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

    def kill(self) -> None:
        """As by `kill -9`; what it had not made durable is lost."""
        os.kill(self.pid, signal.SIGKILL)

    def again(self) -> None:
        """Another learner in the place of one that is gone."""
        self.end.hang_up()
        self._start()

    def close(self) -> None:
        self.end.hang_up()
        self.fleet.close()


@contextlib.contextmanager
def group(tmp_path: Path, world_size: int = 2) -> Iterator[list[Trainer]]:
    trainers = [Trainer(tmp_path, rank, world_size) for rank in range(world_size)]
    try:
        yield trainers
    finally:
        for trainer in trainers:
            trainer.close()


def warmed_up(trainers: list[Trainer], port: int, **changes: Any) -> list[Ready]:
    """All at version 0; what they said when they were ready."""
    for trainer in trainers:
        trainer.begin(port, **changes)
    ready = [trainer.receive() for trainer in trainers]
    for trainer in trainers:
        trainer.warm_up()
    for trainer in trainers:
        trainer.published()
    assert all(isinstance(message, Ready) for message in ready)
    return [message for message in ready if isinstance(message, Ready)]


def meet(trainers: list[Trainer], rounds: list[int]) -> list[tuple[str, float | None]]:
    """An update of each with these rounds: hash of the version, and how many shares are in it."""
    for trainer in trainers:
        trainer.train(rounds)
    return [
        (version.weights_sha256, version.metrics.get("federated/trainers"))
        for version in [trainer.published() for trainer in trainers]
    ]


def seen(trainer: Trainer) -> float:
    """How many observations are in the statistics of a trainer's newest checkpoint."""
    assert trainer.last is not None
    checkpoint = load_checkpoint(trainer.run_dir / trainer.last.checkpoint)
    return float(checkpoint.policy["observation_statistics.count"])


def test_C6_two_trainers_are_equal_after_each_round_and_go_on_so_after_a_resume(tmp_path: Path):
    with group(tmp_path) as trainers:
        # Nobody is lost here, though a machine that others take may keep one from telling that it lives.
        ready = warmed_up(trainers, free_port(), lost=5 * LOST_SECONDS)
        # Different seeds; they begin with the weights of trainer 0 all the same.
        assert ready[0].weights_sha256 == ready[1].weights_sha256
        for rounds, are_equal in (([], False), ([1], True), ([], False), ([2, 3], True)):
            left, right = meet(trainers, rounds)
            assert (left[0] == right[0], left[1]) == (are_equal, 2.0 if rounds else None)
        # Each saw the warm-up and four batches of 16 x 4 steps: 2 x 5 x 64, each counted once.
        assert [seen(trainer) for trainer in trainers] == [640.0, 640.0]
        port = free_port()
        for trainer in trainers:
            trainer.restart()
            trainer.begin(port, resume=True)
        for trainer in trainers:
            ready_again = trainer.receive()
            assert isinstance(ready_again, Ready)
            assert ready_again.policy_version == 4
        left, right = meet(trainers, [4])
        assert left == right
        assert left[1] == 2.0
        assert [seen(trainer) for trainer in trainers] == [768.0, 768.0]


@pytest.mark.parametrize("leaving", [0, 1])
def test_the_other_trains_on_when_one_has_ended_in_good_order(tmp_path: Path, leaving: int):
    with group(tmp_path) as trainers:
        warmed_up(trainers, free_port())
        meet(trainers, [1])
        trainers[leaving].shut_down()
        other = trainers[1 - leaving]
        for rounds in ([2], [], [3]):
            ((_, shares),) = meet([other], rounds)
            assert shares == (1.0 if rounds else None)
        assert len(other.notes) == 1
        assert "ended" in other.notes[0]


def test_scale_12_two_of_three_go_on_averaging_when_one_is_killed_and_it_comes_back(tmp_path: Path):
    with group(tmp_path, 3) as trainers:
        port = free_port()
        warmed_up(trainers, port)
        assert len({version for version, _ in meet(trainers, [1])}) == 1
        killed, left = trainers[2], trainers[:2]
        killed.kill()
        for rounds in ([2], [3]):
            first, second = meet(left, rounds)
            assert first == second
            assert first[1] == 2.0
        for trainer in left:
            assert trainer.notes == [
                "trainer 2 is lost: no heartbeat for 3 s; averaging continues without it"
            ]
        # What it had announced is there, and it learns what the others learned meanwhile.
        killed.again()
        killed.begin(port, resume=True)
        ready = killed.receive()
        assert isinstance(ready, Ready)
        assert killed.last is not None
        assert ready.weights_sha256 == killed.last.weights_sha256
        assert ready.policy_version == killed.last.policy_version
        # Until it has found the rendezvous the others would not wait for it.
        store = KeyValueStore.open("127.0.0.1", port, WAIT_SECONDS, serves=False)
        while store.read(["gone/2"]) != [NOTHING]:
            pass
        assert set(meet(trainers, [4])) == {(first_of(trainers), 2.0)}
        assert killed.notes == [
            "this trainer takes over the policy of trainers 0, 1: they have gone on meanwhile"
        ]
        assert left[0].notes[1:] == left[1].notes[1:] == ["trainer 2 is back"]
        assert set(meet(trainers, [5])) == {(first_of(trainers), 3.0)}
        assert len({seen(trainer) for trainer in trainers}) == 1


def first_of(trainers: list[Trainer]) -> str:
    """Hash of the newest version of the first."""
    assert trainers[0].last is not None
    return trainers[0].last.weights_sha256


def test_scale_12_each_goes_on_alone_while_trainer_0_is_dead_and_they_meet_again(tmp_path: Path):
    with group(tmp_path) as (first, other):
        port = free_port()
        warmed_up([first, other], port)
        first.kill()
        for rounds in ([1], [], [2]):
            ((_, shares),) = meet([other], rounds)
            assert shares == (1.0 if rounds else None)
        assert len(other.notes) == 1
        assert "is away" in other.notes[0]
        first.again()
        first.begin(port, resume=True)
        assert isinstance(first.receive(), Ready)
        # The other has gone further: trainer 0 takes over what it learned.
        while not other.notes[-1].startswith("the rendezvous at"):
            meet([other], [])
        left, right = meet([first, other], [3])
        assert left == right
        assert left[1] == 1.0
        assert first.notes == ["this trainer takes over the policy of trainer 1: they have gone on meanwhile"]
        left, right = meet([first, other], [4])
        assert left == right
        assert left[1] == 2.0


def test_trainers_of_different_networks_are_told_so(tmp_path: Path):
    with group(tmp_path) as trainers:
        port = free_port()
        trainers[0].begin(port)
        trainers[1].begin(port, policy={"hidden_sizes": [9]})
        for trainer in trainers:
            failed = trainer.receive()
            assert isinstance(failed, Failed)
            assert failed.is_final
            assert "another game or network" in failed.text


def test_a_trainer_alone_at_the_rendezvous_gives_up(tmp_path: Path):
    with group(tmp_path) as trainers:
        trainers[1].begin(free_port(), timeout=1.0)
        failed = trainers[1].receive()
        assert isinstance(failed, Failed)
        assert "trainer 1 of 2 did not meet the others at 127.0.0.1:" in failed.text
