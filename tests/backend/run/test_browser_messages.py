"""What browsers say reaches the core and the store; what cannot be closes the socket of who said it."""

import zlib
from collections import deque
from typing import Any, cast

import numpy as np
import pytest

from attract.collection import effects as collecting
from attract.errors import ProtocolError
from attract.experience.store import SegmentStore
from attract.experience.unpacking import BlockUnpacker
from attract.run import effects, inputs, versions
from attract.run.browser_messages import BrowserSide
from attract.run.effect_runner import EffectRunner
from attract.run.effects import Effect
from attract.run.inference_relay import CentralRelay
from attract.run.outside_players import NOBODY
from attract.run.ports import BrowserSockets
from attract.schema.messages import Block, BlockAck, FromBrowser, GameDescribed, Hello, Lease, Observe
from attract.schema.spaces import BoxSpace
from attract.schema.step_numbers import REPEATS, PackedPictures, PackedStacks
from attract.schema.tensor import from_numpy
from blocks import played_block
from driven_core import HOST, ready_learner, small_config
from fake_worker import SHA256, FakeWorker, counting_description, host_hello
from run_simulation import RunSimulation

WORKER = 10


class FakeStore:
    """Holds the rows of the blocks that were written, or takes none."""

    def __init__(self) -> None:
        self.layout = small_config().fitted(counting_description()).store_layout()
        self.written: list[tuple[list[int], dict[str, Any]]] = []
        self.is_full = False

    def write_block(self, rows: Any, arrays: dict[str, Any]) -> None:
        if self.is_full:
            raise OSError("no space left")
        self.written.append((rows.tolist(), arrays))


class FakeRelay:
    """Hears what the server decides on."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    def observe(self, connection_id: int, message: Observe) -> None:
        self.heard.append((message.type, connection_id))

    def gone(self, connection_id: int) -> None:
        self.heard.append(("gone", connection_id))


class World:
    """The browser side of a fresh run, with one worker whose answers wait until they are delivered."""

    def __init__(self, relay: FakeRelay | None = None, **config: Any) -> None:
        self.core = RunSimulation(small_config(num_workers=1, **config)).run_core
        self.now = 1.0
        runner = EffectRunner(self.core, lambda: self.now, lambda: 0)
        runner.connect(self.apply)
        self.runner = runner
        self.side = BrowserSide(runner, cast("BrowserSockets", None), NOBODY)
        self.side.relay = cast("CentralRelay | None", relay)
        self.store = FakeStore()
        self.worker = FakeWorker("run-1", worker_key=f"{WORKER:032x}")
        self.answers: deque[FromBrowser] = deque()
        self.applied: list[Effect] = []

    def apply(self, effect: Effect) -> None:
        self.applied.append(effect)
        if isinstance(effect, collecting.GameKnown):
            self.side.store = cast("SegmentStore", self.store)
        elif isinstance(effect, effects.CommitRow):
            self.runner.do(versions.row_committed)
        elif isinstance(effect, collecting.Send) and effect.connection_id == WORKER:
            self.answers += self.worker.deliver(effect.message)
        elif isinstance(effect, collecting.SendPolicy):
            self.answers += self.worker.take_policy(effect.policy_version, effect.policy_id)

    def deliver(self) -> None:
        """What the worker has to say arrives."""
        while self.answers:
            self.side.handle_message(WORKER, self.answers.popleft())

    def connected(self, hello: Hello, connection_id: int) -> None:
        self.side.connected(connection_id, hello, "local", "me")

    def joined(self) -> "World":
        """A host has described the game, its worker has a lease."""
        self.connected(host_hello(), HOST)
        described = GameDescribed(run_id="run-1", sha256=SHA256, description=counting_description())
        self.side.handle_message(HOST, described)
        self.connected(self.worker.hello(), WORKER)
        self.runner.do(versions.learner_ready, ready_learner())
        self.deliver()
        return self

    def block(self) -> Block:
        """The worker's next one."""
        (block,) = [message for message in self.worker.play() if isinstance(message, Block)]
        return block

    def sent(self, kind: type[Any]) -> list[Any]:
        sends = [effect for effect in self.applied if isinstance(effect, collecting.Send)]
        return [send.message for send in sends if isinstance(send.message, kind)]


def test_a_host_describes_the_game_and_its_worker_gets_a_lease() -> None:
    world = World().joined()
    assert world.core.progress.description == counting_description()
    assert {lease.purpose for lease in world.sent(Lease)} == {"train"}


def test_C1_an_accepted_block_is_in_the_store_before_it_is_acknowledged_and_another_is_not() -> None:
    world = World().joined()
    block = world.block()
    world.side.handle_message(WORKER, block)
    ((rows, arrays),) = world.store.written
    assert (len(rows), len(set(rows)), arrays["worker_id"]) == (3, 3, 0)
    np.testing.assert_array_equal(arrays["slot_id"], world.worker.slot_ids)
    world.side.handle_message(WORKER, block)
    assert len(world.store.written) == 1, "sent again"
    assert [(ack.accepted, ack.reason) for ack in world.sent(BlockAck)] == [
        (True, None),
        (False, "duplicate"),
    ]


def test_a_packed_block_is_made_whole_before_anybody_looks_at_it() -> None:
    game = counting_description().model_copy(
        update={"observation": BoxSpace(dtype="uint8", shape=[2, 1, 2]), "picture_stacks": {"obs": 2}}
    )
    world = World().joined()
    layout = small_config().fitted(game).store_layout()
    world.store.layout = layout
    world.side.unpacker = BlockUnpacker(layout, game.picture_stacks, 1 << 16)
    block = world.block()
    horizon, slots = block.valid.shape
    pictures = np.arange(horizon * slots * 2, dtype=np.uint8).reshape(horizon, slots, 2, 1, 1)
    squeezer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    data = squeezer.compress(pictures.tobytes()) + squeezer.flush()
    after = from_numpy(np.zeros((slots, 2, 1, 1), np.uint8))
    kinds = np.zeros((horizon, slots), np.uint8)
    kinds[0] = REPEATS
    stacks = PackedStacks(
        step=from_numpy(kinds),
        bootstrap=from_numpy(np.full(slots, REPEATS, np.uint8)),
        final=from_numpy(np.zeros(0, np.uint8)),
        older=from_numpy(np.zeros((0, 2, 1, 1), np.uint8)),
    )
    squeezed = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = block.model_copy(
        update={
            "observation": {"obs": from_numpy(pictures).model_copy(update={"data": data})},
            "bootstrap_observation": {
                "obs": after.model_copy(update={"data": squeezed.compress(after.data) + squeezed.flush()})
            },
            "packed": {"obs": PackedPictures(stacks=stacks, deflated=True)},
            "truncated": from_numpy(np.zeros((horizon, slots), np.bool_)),
            "final_observations": None,
        }
    )
    world.side.handle_message(WORKER, packed)
    ((_, arrays),) = world.store.written
    np.testing.assert_array_equal(arrays["obs.obs"][..., 1], pictures[..., 0])
    np.testing.assert_array_equal(arrays["obs.obs"][1:, ..., 0], pictures[:-1, ..., 0])
    np.testing.assert_array_equal(arrays["obs.obs"][0, ..., 0], pictures[0, ..., 0])
    (worker,) = [worker for host in world.core.collection.fleet_view(1.0).hosts for worker in host.workers]
    assert worker.deflates


def test_a_packed_block_of_a_game_without_pictures_closes_the_socket() -> None:
    world = World().joined()
    block = world.block()
    layout = world.store.layout
    world.side.unpacker = BlockUnpacker(layout, {}, 1 << 16)
    with pytest.raises(ProtocolError, match=r"block\.packed\.obs: float32 of shape"):
        world.side.handle_message(
            WORKER, block.model_copy(update={"packed": {"obs": PackedPictures(deflated=True)}})
        )
    assert world.store.written == []


def test_a_block_that_cannot_be_written_is_as_if_it_had_never_come() -> None:
    world = World().joined()
    block = world.block()
    world.store.is_full = True
    with pytest.raises(ProtocolError) as refused:
        world.side.handle_message(WORKER, block)
    assert (refused.value.code, refused.value.close_code, world.side.faults) == ("internal", 1011, 1)
    assert refused.value.reason == "the server could not handle block: OSError"
    assert world.sent(BlockAck) == []
    world.store.is_full = False
    world.side.handle_message(WORKER, block)
    assert [ack.accepted for ack in world.sent(BlockAck)] == [True], "its rows were free again"


def test_a_block_before_the_game_is_known_is_refused() -> None:
    world = World()
    with pytest.raises(ProtocolError, match="a block before any lease"):
        world.side.handle_message(WORKER, played_block())


def quarantined(world: World) -> list[str]:
    return [
        effect.text
        for effect in world.applied
        if isinstance(effect, collecting.Note) and effect.kind == "quarantine"
    ]


def test_hostile_05_what_cannot_be_counts_against_who_says_it() -> None:
    world = World().joined()
    block = world.block()
    lie = block.model_copy(update={"reward": from_numpy(np.full((4, 3), np.nan, np.float32))})
    for _ in range(3):
        assert quarantined(world) == []
        with pytest.raises(ProtocolError, match="reward"):
            world.side.handle_message(WORKER, lie)
    (text,) = quarantined(world)
    assert "(worker 0) is banned: it sent results that are impossible: block.reward" in text
    assert (world.store.written, world.side.faults) == ([], 0)


def test_words_for_another_run_close_the_socket_and_count_for_nothing() -> None:
    world = World().joined()
    stray = world.block().model_copy(update={"run_id": "run-0"})
    for _ in range(4):
        with pytest.raises(ProtocolError) as refused:
            world.side.handle_message(WORKER, stray)
        assert refused.value.code == "run"
    assert quarantined(world) == []


def test_settings_that_the_game_cannot_have_refuse_the_run_and_blame_no_browser() -> None:
    world = World(seats=("left", "right"))
    world.connected(host_hello(), HOST)
    world.side.handle_message(
        HOST, GameDescribed(run_id="run-1", sha256=SHA256, description=counting_description())
    )
    assert world.core.progress.refused
    assert "2 seats for the 1 agents of Counting-v1" in (world.core.progress.life.error or "")
    assert world.side.faults == 0


REFUSED = ProtocolError("game_described.description.id: got 7", fix="Input should be a valid string")


def test_a_description_that_is_refused_ends_the_run_with_the_reason() -> None:
    world = World()
    world.connected(host_hello(), HOST)
    world.side.refused(WORKER, REFUSED)
    world.side.refused(HOST, ProtocolError("more than 5 messages a second", code="full"))
    assert world.core.progress.life.error is None
    world.side.refused(HOST, REFUSED)
    world.side.disconnected(HOST)
    assert world.core.progress.refused
    assert world.core.progress.life.error == (
        "the game cannot be trained: game_described.description.id: got 7; Input should be a valid string"
    )


def test_hostile_D4_frames_that_cannot_be_read_count_against_their_sender() -> None:
    world = World().joined()

    def left_out() -> str | None:
        (host,) = world.runner.collection.fleet_view(world.now).hosts
        return host.workers[0].left_out

    world.side.refused(WORKER, ProtocolError("more than 5 messages a second", code="full"))
    world.side.refused(WORKER, REFUSED)
    assert left_out() is None
    world.side.refused(WORKER, REFUSED)
    assert left_out() == "it sent messages that cannot be read: game_described.description.id: got 7"


def test_what_a_host_says_once_the_game_is_known_ends_no_run() -> None:
    world = World().joined()
    world.side.refused(HOST, REFUSED)
    assert world.core.progress.life.error is None


def test_what_a_stranger_says_of_the_game_ends_no_run() -> None:
    world = World()
    world.side.connected(HOST, host_hello(), "invited", "somebody")
    world.now += 60.0
    world.runner.do(inputs.tick)
    world.side.refused(HOST, REFUSED)
    assert world.core.progress.life.error is None


def test_a_hello_that_the_core_cannot_take_closes_that_socket() -> None:
    world = World()
    with pytest.raises(ProtocolError) as refused:
        world.connected(world.worker.hello().model_copy(update={"run_id": "run-0"}), WORKER)
    assert refused.value.code == "run"
    with pytest.raises(ProtocolError) as refused:
        world.connected(cast("Hello", host_hello().model_copy(update={"max_workers": "many"})), HOST)
    assert (refused.value.code, refused.value.close_code) == ("internal", 1011)
    assert refused.value.reason.startswith("the server could not handle the hello of a host")


def observe(world: World) -> Observe:
    nothing = from_numpy(np.zeros(0, np.int32))
    return Observe(
        run_id="run-1",
        lease_id=1,
        group=0,
        step=0,
        observation={},
        active=nothing,
        episode=nothing,
        episode_step=nothing,
    )


def test_I1_what_a_worker_observes_goes_to_the_relay_and_its_end_too() -> None:
    relay = FakeRelay()
    world = World(relay)
    world.side.handle_message(WORKER, observe(world))
    world.side.disconnected(WORKER)
    assert relay.heard == [("observe", WORKER), ("gone", WORKER)]


def test_a_worker_whose_socket_ended_is_gone() -> None:
    world = World().joined()
    (host,) = world.core.collection.fleet_view(world.now).hosts
    assert [worker.state for worker in host.workers] != ["gone"]
    world.side.disconnected(WORKER)
    world.now = 6.0
    world.runner.do(inputs.tick)
    assert world.core.collection.fleet_view(world.now).last_left_seconds is not None


@pytest.mark.parametrize("ends", ["closed", "broken"])
async def test_nothing_is_heard_of_a_run_that_is_over(ends: str) -> None:
    relay = FakeRelay()
    world = World(relay).joined()
    block = world.block()
    if ends == "closed":
        await world.side.close()
    else:
        world.runner.broke(RuntimeError("a fault of our own"))
    assert world.side.is_closed
    before = len(world.applied)
    world.side.handle_message(WORKER, block)
    world.side.connected(HOST + 1, host_hello("1" * 32), "local", "me")
    world.side.disconnected(WORKER)
    assert (world.store.written, len(world.applied), relay.heard) == ([], before, [])
