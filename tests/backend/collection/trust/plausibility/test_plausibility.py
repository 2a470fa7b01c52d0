import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from attract.collection.leases import Lease, LeaseBook
from attract.collection.trust.plausibility import GameLimits, Plausibility
from attract.errors import ProtocolError
from attract.schema.messages import Block, Tensor
from attract.schema.tensor import from_numpy
from blocks import admitted_worker, train_lease
from fake_worker import FakeWorker, counting_description

HORIZON, SLOTS, LIMIT = 4, 6, 7


def a_lease(book: LeaseBook, segments: int = 2) -> Lease:
    return book.issue(
        worker_id=3,
        purpose="train",
        version=0,
        first_slot=0,
        num_slots=SLOTS,
        num_segments=segments,
        local=False,
        now=0.0,
    )


def played(worker: FakeWorker, leases: int = 8, segments: int = 2) -> Iterator[tuple[Lease, Block]]:
    """Blocks of leases one after another, the slots of a segment in two blocks."""
    book = LeaseBook()
    for number in range(leases):
        lease = a_lease(book, segments)
        for segment in range(segments):
            first = (number * segments + segment) * HORIZON
            for block in worker.segment_blocks(train_lease(1), segment, first):
                yield lease, block


def worker_of(agents: int, *, breaks: bool = False, slots_per_block: int = 1_000) -> FakeWorker:
    description = counting_description(num_agents=agents)
    worker = admitted_worker(num_slots=SLOTS, horizon=HORIZON, description=description, breaks=breaks)
    worker.slots_per_block = slots_per_block
    return worker


def places(block: Block) -> Any:
    return np.frombuffer(block.slot_id.data, "<i4").astype(np.int64)


@pytest.mark.parametrize(("agents", "breaks"), [(1, False), (2, False), (3, True)])
@pytest.mark.parametrize("slots_per_block", [2, 3, 4, 1_000])
def test_hostile_08_honest_blocks_pass_however_they_are_cut(
    agents: int, breaks: bool, slots_per_block: int
) -> None:
    one = Plausibility(GameLimits(agents, 2, LIMIT), HORIZON)
    worker = worker_of(agents, breaks=breaks, slots_per_block=slots_per_block)
    for lease, block in played(worker):
        one.check(lease, block, places(block))


def changed(tensor: Tensor, change: Callable[[Any], Any]) -> Tensor:
    kinds = {"float32": np.float32, "int32": np.int32, "uint8": np.uint8, "uint16": np.uint16}
    array = np.frombuffer(tensor.data, kinds[tensor.dtype]).reshape(tensor.shape)
    return from_numpy(change(array).astype(array.dtype))


def with_columns(**changes: Callable[[Any], Any]) -> Callable[[Block], dict[str, Any]]:
    def change(block: Block) -> dict[str, Any]:
        columns = {name: how(getattr(block.episodes, name)) for name, how in changes.items()}
        return {"episodes": block.episodes.model_copy(update=columns)}

    return change


def of(field: str, how: Callable[[Any], Any]) -> Callable[[Block], dict[str, Any]]:
    return lambda block: {field: changed(getattr(block, field), how)}


def erased(block: Block) -> dict[str, Any]:
    """No end in the block, and no episode told of it."""
    nothing = {name: [] for name in ("instance_id", "episode", "step", "returns", "length_steps")}
    nothing |= {"length_ticks": [], "end_reason": []}
    return {
        "truncated": changed(block.truncated, np.zeros_like),
        "episodes": block.episodes.model_copy(update=nothing),
    }


LIES: dict[str, tuple[Callable[[Block], dict[str, Any]], str]] = {
    "rewards x 100": (of("reward", lambda a: a * 100), "episodes.returns"),
    "returns": (with_columns(returns=lambda a: [5000.0 for _ in a]), "episodes.returns"),
    "lengths": (with_columns(length_steps=lambda a: [number - 1 for number in a]), "episodes.length"),
    "ticks": (with_columns(length_ticks=lambda a: [number + 1 for number in a]), "episodes.length_ticks"),
    "longer than the limit": (
        with_columns(length_steps=lambda a: [9 for _ in a], length_ticks=lambda a: [18 for _ in a]),
        "episodes.length_steps",
    ),
    "shorter than it was, and ended by the game": (
        with_columns(
            length_steps=lambda a: [number - 1 for number in a],
            length_ticks=lambda a: [number - 2 for number in a],
            end_reason=lambda a: ["game_truncated" for _ in a],
        ),
        "episodes.length_steps",
    ),
    "ends erased": (erased, "truncated"),
    "flags without episodes": (of("truncated", np.zeros_like), "episodes.step"),
    "another end": (with_columns(end_reason=lambda a: ["terminated" for _ in a]), "episodes.end_reason"),
    "another step": (with_columns(step=lambda a: [(number + 1) % HORIZON for number in a]), "episodes.step"),
    "an episode twice": (
        with_columns(instance_id=lambda a: [a[0] for _ in a], step=lambda a: [a[0] for _ in a]),
        "episodes.step",
    ),
    "an old episode again": (with_columns(episode=lambda a: [0 for _ in a]), "episodes.episode"),
    "first_step shifted": (of("first_step", lambda a: a + 7), "first_step"),
    "first_step back": (of("first_step", lambda a: a - HORIZON), "first_step"),
    "half a step": (of("executed_ticks", lambda a: a - 1), "executed_ticks"),
}


@pytest.mark.parametrize("lie", LIES)
def test_hostile_08_S2_T2_what_cannot_have_happened_is_refused_by_the_name_of_its_field(lie: str) -> None:
    change, field = LIES[lie]
    one = Plausibility(GameLimits(1, 2, LIMIT), HORIZON)
    # The second lie of a cheat that goes on: the eighth segment is the second one of its lease.
    for number, (lease, block) in enumerate(played(worker_of(1))):
        is_target = number == 3  # steps 12 to 15, the episode of steps 7 to 13 ends in it
        if not is_target:
            one.check(lease, block, slice(0, SLOTS))
            continue
        with pytest.raises(ProtocolError, match=field):
            one.check(lease, block.model_copy(update=change(block)), slice(0, SLOTS))
        return


UNSEEN = {
    "longer than the limit": with_columns(
        length_steps=lambda a: [LIMIT + 2 for _ in a],
        length_ticks=lambda a: [2 * LIMIT + 4 for _ in a],
        end_reason=lambda a: ["game_truncated" for _ in a],
    ),
    "at the limit before it": with_columns(
        length_steps=lambda a: [LIMIT - 2 for _ in a], length_ticks=lambda a: [2 * LIMIT - 4 for _ in a]
    ),
}


@pytest.mark.parametrize("lie", UNSEEN)
def test_hostile_08_an_episode_whose_beginning_was_not_seen_keeps_to_the_time_limit(lie: str) -> None:
    lease, block = list(played(worker_of(1)))[3]
    Plausibility(GameLimits(1, 2, LIMIT), HORIZON).check(lease, block, slice(0, SLOTS))
    lease.first_steps = None
    with pytest.raises(ProtocolError, match=r"episodes.length_steps: \d+"):
        Plausibility(GameLimits(1, 2, LIMIT), HORIZON).check(
            lease, block.model_copy(update=UNSEEN[lie](block)), slice(0, SLOTS)
        )


def test_hostile_08_of_two_episodes_in_one_segment_each_has_a_number_of_its_own() -> None:
    worker = admitted_worker(num_slots=SLOTS, horizon=2 * LIMIT)
    (block,) = worker.segment_blocks(train_lease(1), 0, 0)
    assert block.episodes.instance_id.count(0) == 2
    for change, is_true in ((lambda a: a, True), (lambda a: [0 for _ in a], False)):
        one = Plausibility(GameLimits(1, 2, LIMIT), 2 * LIMIT)
        changed_block = block.model_copy(update=with_columns(episode=change)(block))
        with contextlib.nullcontext() if is_true else pytest.raises(ProtocolError, match="one twice"):
            one.check(a_lease(LeaseBook()), changed_block, slice(0, SLOTS))


def by_agents(block: Block, agents: int, shares: list[list[int]]) -> Iterator[Block]:
    """The same in a block for each share of the agents, as policies of their own have them."""
    slots = places(block)
    per_step = ("reward", "terminated", "truncated", "valid", "executed_ticks")
    for share in shares:
        chosen = np.isin(slots % agents, share)
        is_first_agent = slots[chosen] % agents == 0
        update: dict[str, Any] = {
            name: changed(getattr(block, name), lambda a, chosen=chosen: a[:, chosen]) for name in per_step
        }
        update |= {
            name: changed(getattr(block, name), lambda a, chosen=chosen: a[chosen])
            for name in ("slot_id", "first_step")
        }
        if not is_first_agent.any():
            update["episodes"] = block.episodes.model_copy(
                update={name: [] for name in type(block.episodes).model_fields if name not in NAMED}
            )
        yield block.model_copy(update=update)


NAMED = ("metrics", "reward_terms")


@pytest.mark.parametrize("shares", [[[0], [1, 2]], [[1, 2], [0]], [[2], [1], [0]]])
def test_hostile_08_honest_blocks_pass_where_agents_have_policies_of_their_own(
    shares: list[list[int]],
) -> None:
    one = Plausibility(GameLimits(3, 2, LIMIT), HORIZON)
    for lease, block in played(worker_of(3, breaks=True)):
        for part in by_agents(block, 3, shares):
            one.check(lease, part, places(part))


OF_AGENTS = ("rewards x 100", "returns", "lengths", "ticks", "an old episode again", "half a step")


@pytest.mark.parametrize("lie", [*OF_AGENTS, "flags without episodes"])
@pytest.mark.parametrize("is_cut", [True, False])
def test_hostile_08_agents_that_travel_apart_are_looked_at_once_their_game_is_whole(
    lie: str, is_cut: bool
) -> None:
    change, field = LIES[lie]
    field = "truncated" if lie == "flags without episodes" else field
    field = "executed_ticks" if lie == "half a step" else field
    one = Plausibility(GameLimits(3, 2, LIMIT), HORIZON)
    # In blocks of two slots each game of three agents is cut in two; or each agent has a policy.
    worker = worker_of(3, slots_per_block=2 if is_cut else 1_000)
    segment = -1
    for lease, block in played(worker):
        parts = [block] if is_cut else list(by_agents(block, 3, [[0], [1, 2]]))
        for part in parts:
            segment += int(places(part)[0] == 0)
            if segment != 3:
                one.check(lease, part, places(part))
                continue
            lying = part.model_copy(update=change(part)) if part.episodes.instance_id else part
            lying = part.model_copy(update=change(part)) if lie == "rewards x 100" else lying
            try:
                one.check(lease, lying, places(part))
            except ProtocolError as error:
                assert field in error.reason
                return
    pytest.fail("nobody noticed")


def test_hostile_08_what_is_missing_of_a_segment_makes_its_games_unknown_and_no_liar() -> None:
    one = Plausibility(GameLimits(3, 2, LIMIT), HORIZON)
    for number, (lease, block) in enumerate(played(worker_of(3))):
        parts = list(by_agents(block, 3, [[0], [1, 2]]))
        for part in parts[:1] if number == 1 else parts:
            one.check(lease, part, places(part))


def test_hostile_08_an_agent_of_an_ended_episode_goes_on_with_no_flag() -> None:
    one = Plausibility(GameLimits(2, 2, LIMIT), HORIZON)
    for number, (lease, block) in enumerate(played(worker_of(2))):
        if number == 3:
            block = block.model_copy(update={"truncated": changed(block.truncated, np.zeros_like)})
            with pytest.raises(ProtocolError, match=r"terminated, block.truncated"):
                one.check(lease, block, places(block))
            return
        one.check(lease, block, places(block))


def test_hostile_08_under_central_inference_a_lease_may_have_gaps_and_its_steps_never_go_back() -> None:
    one = Plausibility(GameLimits(1, 2, LIMIT), HORIZON)
    lease = a_lease(LeaseBook(), segments=8)
    lease.sends_blocks = False
    blocks = [block for _, block in played(worker_of(1))]
    for index, number in enumerate([0, 1, 3, 4]):  # the third was lost with a socket
        one.check(lease, blocks[number].model_copy(update={"segment_index": index}), slice(0, SLOTS))
    with pytest.raises(ProtocolError, match="first_step"):
        one.check(lease, blocks[2].model_copy(update={"segment_index": 4}), slice(0, SLOTS))


def test_hostile_08_a_gap_is_no_lie_and_what_follows_it_is_not_known() -> None:
    one = Plausibility(GameLimits(1, 2, 0), HORIZON)
    wrong = with_columns(returns=lambda a: [5000.0 for _ in a])
    for number, (lease, block) in enumerate(played(worker_of(1), segments=1)):
        if number in (1, 2):
            continue  # lost with a lease that lapsed
        if number == 3:
            block = block.model_copy(update=wrong(block))  # its beginning was not seen: it cannot be told
        one.check(lease, block, slice(0, SLOTS))
        if number == 4:
            break
    later = [entry for number, entry in enumerate(played(worker_of(1), segments=1)) if number == 5]
    (lease, block) = later[0]
    with pytest.raises(ProtocolError, match=r"episodes.returns"):
        one.check(lease, block.model_copy(update=wrong(block)), slice(0, SLOTS))


def test_hostile_08_rounding_of_rewards_is_no_lie() -> None:
    one = Plausibility(GameLimits(1, 2, LIMIT), HORIZON)
    draw = np.random.default_rng(1)
    carried = np.zeros(SLOTS)
    for number, (lease, block) in enumerate(played(worker_of(1), leases=60)):
        exact = draw.normal(0.0, 10.0 ** draw.uniform(-4, 4), (HORIZON, SLOTS))
        returns: list[float] = []
        for step in range(HORIZON):
            carried += exact[step]
            if (number * HORIZON + step + 1) % LIMIT == 0:
                returns += carried.tolist()
                carried[:] = 0.0
        update = {
            "reward": from_numpy(exact.astype(np.float32)),
            "episodes": block.episodes.model_copy(update={"returns": returns}),
        }
        one.check(lease, block.model_copy(update=update), slice(0, SLOTS))
