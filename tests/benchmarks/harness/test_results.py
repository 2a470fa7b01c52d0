"""Blocks and publications that benchmarks measure, and the tables of what came of it."""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from attract.errors import AttractError, ConfigurationError
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.validate import check_block
from attract.schema.frames import decode_from_browser, encode
from attract.schema.game import GameReference
from attract.schema.messages import Block, BlockAck, LeaseVoid, Policy, PolicyAck, WelcomeWorker
from attract_benchmarks.bench import read_figures
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import Measure, choose
from attract_benchmarks.harness.played_blocks import CARTPOLE, PlayedBlocks
from attract_benchmarks.harness.publication import Acknowledged, Reached, Ready, Sent, reached
from attract_benchmarks.harness.stamps import StampedApp
from attract_benchmarks.harness.table import comparison, table
from blocks import SEED, train_lease


def test_value_and_ratio_are_medians_each_of_its_own_numbers():
    figure = Figure.of([3.0, 1.0, 2.0], "steps/s", ratios=[0.5, 0.9, 0.1], against="the bare part")
    assert (figure.value, figure.ratio, figure.rounds) == (2.0, 0.5, (3.0, 1.0, 2.0))
    assert Figure.of([1.0, 4.0], "ms").value == 2.5


def test_a_figure_without_a_bare_part_has_no_ratio():
    figure = Figure.of([1.0], "ms", better="lower")
    assert (figure.ratio, figure.against, figure.better, figure.detail) == (None, "", "lower", {})


def test_a_figure_has_a_round_and_survives_being_written_down():
    with pytest.raises(ValueError, match="at least one round"):
        Figure.of([], "ms")
    figure = Figure.of([1.0], "ms", detail={"share": 0.25})
    assert Figure.model_validate_json(figure.model_dump_json()) == figure
    with pytest.raises(ValidationError):
        Figure.model_validate(figure.model_dump() | {"better": "faster"})


WELCOME = WelcomeWorker(
    run_id="run-1",
    worker_id=3,
    game=GameReference(name="cartpole", sha256="ab" * 32, url="games/x.js"),
    description=CARTPOLE,
    instance_ids=list(range(40, 136)),
    seed=SEED,
    horizon=64,
    max_frame_bytes=1 << 18,
)


def test_each_segment_of_a_lease_is_a_usable_block_that_follows_the_one_before():
    blocks = PlayedBlocks(WELCOME)
    layout = StoreLayout.for_run(CARTPOLE, PolicyLayout(), 64, 96)
    seen: list[tuple[int, int, int, int]] = []
    for lease in (train_lease(7, version=0, num_segments=2), train_lease(9, version=1)):
        for frame in blocks.frames(lease):
            block = decode_from_browser(frame)
            assert isinstance(block, Block)
            arrays = check_block(block, layout)
            assert arrays["slot_id"].tolist() == WELCOME.instance_ids
            assert set(block.episodes.end_reason) == {"terminated", "time_limit"}
            first = set(arrays["first_step"].tolist())
            seen.append((block.lease_id, block.segment_index, block.policy_version, *first))
    assert seen == [(7, 0, 0, 0), (7, 1, 0, 64), (9, 0, 1, 128)]


def test_a_segment_that_does_not_fit_a_frame_is_refused():
    with pytest.raises(RuntimeError, match="expected frames of at most 100000 bytes"):
        PlayedBlocks(WELCOME.model_copy(update={"max_frame_bytes": 100_000}))


def ack(socket: int, when: float, version: int) -> Acknowledged:
    return Acknowledged(socket, when, version, 1.0)


def test_a_version_has_reached_the_fleet_with_its_last_worker():
    ready = [Ready(1, 10.0, 10.25)]
    sent = [Sent(7, 10.5, 1), Sent(8, 10.75, 1)]
    assert reached(ready, sent, [ack(8, 12.0, 1), ack(7, 11.0, 1)], 2) == [Reached(1, 0.25, 0.5, 1.0, 2.0)]


def test_a_worker_that_skipped_a_version_has_it_with_the_next():
    ready = [Ready(2, 20.0, 20.0), Ready(1, 10.0, 10.0)]
    sent = [Sent(1, 11.0, 1), Sent(1, 21.0, 2), Sent(2, 22.0, 2)]
    acks = [ack(1, 12.0, 1), ack(1, 23.0, 2), ack(2, 25.0, 2)]
    assert [(reach.version, reach.first, reach.last) for reach in reached(ready, sent, acks, 2)] == [
        (1, 2.0, 15.0),
        (2, 3.0, 5.0),
    ]


@pytest.mark.parametrize("acks", [[], [ack(1, 12.0, 1)], [ack(1, 12.0, 1), ack(2, 13.0, 0)]])
def test_a_version_that_a_worker_still_waits_for_does_not_count(acks: list[Acknowledged]):
    assert reached([Ready(1, 10.0, 10.0)], [Sent(1, 11.0, 1)], acks, 2) == []


def test_a_worker_that_came_back_has_another_socket_and_is_one_worker():
    acks = [ack(1, 12.0, 1), ack(3, 13.0, 1), ack(2, 19.0, 1)]
    assert [reach.last for reach in reached([Ready(1, 10.0, 10.0)], [Sent(1, 11.0, 1)], acks, 2)] == [3.0]


BLOCK = b"b" * 5000
ACK = encode(BlockAck(run_id="r", lease_id=1, block_index=0, accepted=True))
VOID = encode(LeaseVoid(run_id="r", lease_id=1, reason="block_ack"))
POLICY = encode(Policy(run_id="r", policy_version=3, onnx=b"onnx"))
DEALING_SECONDS = 0.002
POLICY_ACK = encode(PolicyAck(run_id="r", policy_id="main", policy_version=3, create_ms=2.0))


class Script:
    """An app that receives `received` one by one and, before each further one, sends what is due."""

    def __init__(self, received: list[bytes], sent: list[list[bytes]]) -> None:
        self._received = deque(received)
        self._sent = sent
        self.heard: list[bytes] = []
        self.said: list[bytes] = []
        self.deal: Callable[[], None] = lambda: None
        """What the app does at once with what it received."""

    async def app(self, _scope: Any, receive: Any, send: Any) -> None:
        for answers in self._sent:
            self.heard.append((await receive())["bytes"])
            time.sleep(DEALING_SECONDS)  # noqa: ASYNC251 - as the gateway deals with a block
            self.deal()
            for answer in answers:
                await send({"type": "websocket.send", "bytes": answer})

    async def receive(self) -> Any:
        return {"type": "websocket.receive", "bytes": self._received.popleft()}

    async def send(self, message: Any) -> None:
        self.said.append(message["bytes"])


async def play(script: Script, stamped: StampedApp) -> None:
    await stamped({"type": "websocket"}, script.receive, script.send)


async def test_a_block_takes_until_its_row_is_committed():
    script = Script([BLOCK, BLOCK[:4500], b"small"], [[VOID], [ACK, VOID], [ACK, ACK]])
    stamped = StampedApp(script.app)
    script.deal = stamped.committed
    await play(script, stamped)
    passed = stamped.take()
    assert (script.heard, script.said) == ([BLOCK, BLOCK[:4500], b"small"], [VOID, ACK, VOID, ACK, ACK])
    assert [size for size, _ in passed.blocks] == [5000, 4500], "each once, and nothing that is no block"
    assert all(DEALING_SECONDS <= seconds < 1 for _, seconds in passed.blocks)
    assert passed.num_bytes == 9500


async def test_a_block_that_is_refused_is_none_that_was_committed():
    script = Script([BLOCK, BLOCK], [[ACK], [ACK]])
    stamped = StampedApp(script.app)
    await play(script, stamped)
    assert stamped.take().blocks == []


async def test_policies_and_their_acknowledgements_are_noted_for_each_socket():
    script = Script([POLICY_ACK] * 4, [[POLICY], []])
    stamped = StampedApp(script.app)
    await play(script, stamped)
    await play(script, stamped)
    passed = stamped.take()
    assert [(socket, frame) for socket, _, frame in passed.policies] == [(1, POLICY), (2, POLICY)]
    assert [socket for socket, _, _ in passed.acks] == [1, 1, 2, 2]
    assert {frame for _, _, frame in passed.acks} == {POLICY_ACK}


async def test_a_look_begins_anew():
    script = Script([BLOCK], [[ACK]])
    stamped = StampedApp(script.app)
    await play(script, stamped)
    assert stamped.take().num_bytes == 5000
    assert (stamped.take().num_bytes, stamped.take().blocks) == (0, [])


def figure(value: float, ratio: float | None = None, *, better: str = "higher") -> Figure:
    return Figure(value=value, unit="ms", rounds=(value,), ratio=ratio, better=better)  # pyright: ignore[reportArgumentType]


def test_a_figure_is_the_median_of_its_rounds_and_of_its_ratios() -> None:
    made = Figure.of([3.0, 1.0, 2.0], "ms", ratios=[0.5, 0.9, 0.6])
    assert (made.value, made.ratio, made.rounds) == (2.0, 0.6, (3.0, 1.0, 2.0))


def test_the_table_has_a_line_for_each_figure() -> None:
    lines = table({"a/b": figure(12345.6, 0.5), "c": figure(0.01234)}).splitlines()
    assert lines[1].split() == ["a/b", "12,346", "ms", "12,346", "to", "12,346", "0.50"]
    assert lines[2].split() == ["c", "0.0123", "ms", "0.0123", "to", "0.0123"]


@pytest.mark.parametrize(
    ("now", "earlier", "slower"),
    [
        (figure(1.0, 0.5), figure(1.0, 0.8), True),
        (figure(0.1, 0.8), figure(1.0, 0.8), False),
        (figure(10.0), figure(5.0), False),
        (figure(10.0, better="lower"), figure(5.0, better="lower"), True),
        (figure(1.0), figure(1.02), False),
    ],
)
def test_slower_means_a_worse_ratio_or_without_one_a_worse_value(
    now: Figure, earlier: Figure, slower: bool
) -> None:
    assert comparison({"x": now}, {"x": earlier})[1] == (["x"] if slower else [])


def test_what_was_not_measured_this_time_is_named() -> None:
    text, slower = comparison({"new": figure(1.0)}, {"old": figure(1.0)})
    assert [line.split(maxsplit=1) for line in text.splitlines()] == [
        ["new", "new"],
        ["old", "not measured this time"],
    ]
    assert slower == []


def measure(*names: str, by_default: bool = True, needs: tuple[str, ...] = ()) -> Measure:
    return Measure(names, "", lambda _options: {}, needs=needs, by_default=by_default)


def test_measures_are_chosen_by_figure_by_part_and_by_default() -> None:
    every = [
        measure("publish/p50_ms", "publish/p99_ms"),
        measure("solve/x", by_default=False, needs=("sb3",)),
    ]
    assert choose(every, only=[], peers=False) == every[:1]
    assert choose(every, only=[], peers=True) == every
    assert choose(every, only=["publish/p99_ms"], peers=False) == every[:1]
    assert choose(every, only=["solve"], peers=False) == every[1:]


def test_an_unknown_figure_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'publish'"):
        choose([measure("publish/p50_ms")], only=["publsh"], peers=False)


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        ("", "is empty"),
        ("[]", "must hold a JSON object"),
        ('{"figures": {"a": 1}}', "not a result of `attract bench`"),
        ('{"figures": {"a": {"value": "x"}}}', "not a result of `attract bench`"),
    ],
)
def test_a_file_that_is_no_earlier_result_is_refused(tmp_path: Path, content: str, refusal: str) -> None:
    path = tmp_path / "earlier.json"
    path.write_text(content)
    with pytest.raises(AttractError, match=refusal):
        read_figures(path)
