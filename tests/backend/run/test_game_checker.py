"""Checks of a game in a browser, and the reports that come of them."""

import asyncio
import shlex
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from attract.errors import AttractError, ProtocolError
from attract.games.library import GameLibrary, GameModule
from attract.run.game_checker import GameChecker
from attract.run.game_reports import MAX_REPORTS, GameReports
from attract.run.outside_players import OutsidePlayers
from attract.schema.api import GameReport
from attract.schema.base import Seed, WireModel
from attract.schema.game import description_sha256
from attract.schema.game_messages import (
    CheckGame,
    GameChecked,
    GameFinding,
    MethodSource,
    ParameterDistribution,
)
from attract.schema.outside import Answer, Ask
from attract.schema.playtest import PlaytestGame
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.schema.tensor import from_numpy, view
from recorded_episodes import recorded
from socket_fleet import DESCRIPTION, random_play

GAME = """import { defineGame, box, discrete } from "attract";
export default defineGame({
  id: "Dice-v1", tickSeconds: 1, observation: box({ shape: [1] }), action: discrete(2),
  create: () => ({ start: () => [Math.random()], update: () => ({ reward: 0 }) }),
});
"""


class World:
    """A checker whose messages are remembered, and a module it can check."""

    def __init__(self, folder: Path) -> None:
        (folder / "dice.ts").write_text(GAME)
        self.sent: list[tuple[int, WireModel]] = []
        self._asked = asyncio.Event()
        self.games = GameLibrary(folder)
        self.checker = GameChecker(self.games, self._send)

    def _send(self, connection_id: int, message: WireModel) -> None:
        self.sent.append((connection_id, message))
        self._asked.set()

    async def module(self) -> GameModule:
        return await self.games.resolve("dice.ts")

    async def order(self) -> CheckGame:
        """The order that is sent, which is waited for."""
        await self._asked.wait()
        message = self.sent[0][1]
        assert isinstance(message, CheckGame)
        return message


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def checked(check_id: int, *findings: GameFinding) -> GameChecked:
    return GameChecked(
        check_id=check_id, findings=list(findings), description=None, play=None, unplayable=False, seconds=0.5
    )


def at(module: GameModule, needle: str) -> str:
    """A frame of the bundle where `needle` stands."""
    for number, text in enumerate(module.code.decode().splitlines(), 1):
        if needle in text:
            return f"    at Dice.start (http://h/{module.reference.url}:{number}:{text.index(needle) + 1})"
    raise AssertionError(needle)


async def test_findings_come_back_in_the_author_s_places_each_once_errors_first(world: World) -> None:
    module = await world.module()
    world.checker.host_came(7, "local")
    task = asyncio.create_task(world.checker.check(module, 0.5))
    order = await world.order()
    assert world.sent[0][0] == 7
    assert (order.game, order.budget_seconds) == (module.reference, 0.5)
    call = GameFinding(id="random", severity="error", text="calls", fix="f", stack=at(module, "Math.random"))
    dull = GameFinding(id="constant-reward", severity="warning", text="0", fix="f")
    elsewhere = call.model_copy(update={"stack": f"    at noise (node_modules.js:1:1)\n{call.stack}"})
    world.checker.heard(7, checked(order.check_id, dull, call, elsewhere))
    view = await task
    assert [(finding.id, finding.file, finding.line) for finding in view.findings] == [
        ("random", view.findings[0].file, 4),
        ("constant-reward", None, None),
    ]
    assert (view.findings[0].file or "").endswith("dice.ts")
    assert GAME.splitlines()[3].index("Math.random") + 1 == view.findings[0].column


async def test_episodes_come_with_the_build_that_was_played_and_the_author_s_places(world: World) -> None:
    module = await world.module()
    world.checker.host_came(7, "local")
    task = asyncio.create_task(world.checker.check(module, 0.5, record=True))
    order = await world.order()
    assert order.record
    failed = recorded(error="lost", game_sha256=None)
    stack = at(module, "Math.random")
    finding = GameFinding(id="contract", severity="error", text="t", fix="f", stack=stack, recorded=failed)
    answer = checked(order.check_id, finding)
    sent = answer.model_copy(update={"first_episode": recorded(), "description": DESCRIPTION})
    world.checker.heard(7, sent)
    view = await task
    assert view.first_episode is not None
    kept = view.findings[0].recorded
    assert kept is not None
    assert kept.error is not None
    assert kept.error.text == "lost"
    assert (kept.error.stack or "").endswith("dice.ts:4:34)"), kept.error.stack
    for episode in (view.first_episode, kept):
        assert episode.game_sha256 == module.reference.sha256
        assert episode.description_sha256 == description_sha256(DESCRIPTION)
        assert datetime.fromisoformat(episode.created_at).tzinfo is not None
    assert kept.actions == failed.actions


async def test_random_play_is_ordered_by_its_episodes_and_parameters(world: World) -> None:
    world.checker.host_came(7, "local")
    parameters = {"size": ParameterDistribution(values=[6.0])}
    task = asyncio.create_task(world.checker.play(await world.module(), 20, 10.0, parameters))
    order = await world.order()
    assert (order.random_episodes, order.budget_seconds, order.parameters) == (20, 10.0, parameters)
    play = random_play(3.0)
    world.checker.heard(7, checked(order.check_id).model_copy(update={"play": play}))
    assert await task == play


async def test_an_answer_of_another_or_to_nothing_is_dropped(world: World) -> None:
    world.checker.host_came(7, "local")
    task = asyncio.create_task(world.checker.check(await world.module(), 0.5))
    order = await world.order()
    world.checker.heard(8, checked(order.check_id))
    world.checker.heard(7, checked(order.check_id + 1))
    assert not task.done()
    world.checker.heard(7, checked(order.check_id))
    assert (await task).findings == []
    world.checker.heard(7, checked(order.check_id))


async def test_a_host_that_goes_away_ends_its_check(world: World) -> None:
    world.checker.host_came(7, "local")
    task = asyncio.create_task(world.checker.check(await world.module(), 0.5))
    await world.order()
    world.checker.gone(7)
    with pytest.raises(AttractError, match="went away"):
        await task


async def test_an_answer_that_is_refused_ends_its_check_with_the_reason(world: World) -> None:
    world.checker.host_came(7, "local")
    task = asyncio.create_task(world.checker.check(await world.module(), 0.5))
    await world.order()
    refusal = ProtocolError("game_checked.description.id: got 7", fix="Input should be a valid string")
    world.checker.refused(8, refusal)
    world.checker.refused(7, refusal)
    world.checker.gone(7)
    expected = "is refused: game_checked.description.id: got 7; Input should be a valid string"
    with pytest.raises(AttractError, match=expected):
        await task


async def test_only_a_page_of_this_machine_is_asked_and_it_is_waited_for(world: World) -> None:
    module = await world.module()
    world.checker.host_came(3, "invited")
    with pytest.raises(AttractError, match=r"no browser came within 0\.01 s"):
        await world.checker.check(module, 0.5, 0.01)
    task = asyncio.create_task(world.checker.check(module, 0.5))
    await asyncio.sleep(0)
    assert world.sent == []
    world.checker.host_came(4, "local")
    order = await world.order()
    assert world.sent[0][0] == 4
    world.checker.heard(4, checked(order.check_id))
    await task


def report(text: str = "boom", **fields: object) -> GameReport:
    return GameReport.model_validate(
        {"kind": "throw", "name": "Error", "text": text, "stack": None, **fields}
    )


METHOD = MethodSource(name="Catch.update", text="update() {}")


def own(stack: str | None, method: MethodSource | None) -> str | None:
    """Stands in for the library: what of a stack is the game's, else the method."""
    if stack is not None and "games/" in stack:
        return stack.replace("games/x.js", "snake.ts")
    return None if method is None else f"    at {method.name}"


def test_stacks_are_mapped_and_a_hang_keeps_none():
    reports = GameReports(own)
    assert reports.add(report(stack="at games/x.js:1:1")).stack == "at snake.ts:1:1"
    assert reports.add(report("hangs", kind="hang")).stack is None


def test_where_the_game_threw_nothing_the_method_stands_in_for_the_stack():
    assert GameReports(own).add(report(kind="nan"), METHOD).stack == "    at Catch.update"
    assert GameReports(own).add(report(stack="at rollout.js:1:1")).stack is None, "ours alone says nothing"


def test_a_crash_of_ours_keeps_its_stack_and_a_finding_the_place_it_has():
    reports = GameReports(own)
    assert reports.add(report("ours", kind="crash", stack="at rollout.js:1:1")).stack == "at rollout.js:1:1"
    found = reports.add(report("found", kind="check", stack="    at snake.ts:3:4"))
    assert found.stack == "    at snake.ts:3:4"


def test_the_same_failure_is_counted_and_keeps_where_it_came_first():
    reports = GameReports(own)
    reports.add(report(slot_id=3, step_values="action 1"))
    assert reports.add(report(slot_id=9, step_values="action 0")).count == 2
    assert reports.add(report(slot_id=9)).count == 3
    kept = [(report.text, report.count, report.slot_id, report.step_values) for report in reports.all()]
    assert kept == [("boom", 3, 3, "action 1")]


def test_texts_that_differ_in_numbers_alone_are_one_failure_of_several_workers():
    reports = GameReports(own)
    reports.add(report("gives 3 at tick 17", host_id="a", worker_index=0))
    reports.add(report("gives -4.5e-3 at tick 18", host_id="a", worker_index=0))
    shown = reports.add(report("gives 5 at tick 19", host_id="b", worker_index=0))
    assert (shown.text, shown.count, shown.num_workers) == ("gives 3 at tick 17", 3, 2)
    assert reports.add(report("gives x3 at tick 17", host_id="c", worker_index=0)).count == 1


def test_one_fault_told_by_check_worker_and_host_is_one_report():
    """A: who gives up tells of the failure once more, in fields; it is not counted again."""
    reports = GameReports(own)
    words = "update() threw: boom"
    checked = reports.add(
        report(f"{words} (tick 5)", kind="check", name="contract", fix="mend it", stack="    at snake.ts:3:4")
    )
    for _ in range(10):
        thrown = report(words, stack="    at games/x.js:3:4", seed="0" * 16, worker_index=0, host_id="a")
        assert reports.add(thrown).fault_id == checked.fault_id
    given_up = thrown.model_copy(update={"repeated": 10, "worker_lost": True})
    shown = reports.add(given_up)
    assert reports.all() == [shown]
    assert (shown.kind, shown.text, shown.place, shown.fix) == ("throw", words, "snake.ts:3:4", "mend it")
    assert (shown.count, shown.num_workers, shown.worker_lost) == (10, 1, True)
    reports.add(report(words, stack="    at games/x.js:9:1"))
    assert [known.count for known in reports.all()] == [10, 1], "another line is another fault"


def test_two_visitors_and_two_lines_are_told_apart():
    reports = GameReports(own)
    for visitor in ("192.0.2.1", "192.0.2.2"):
        assert reports.add(report(f"{visitor} is banned", kind="quarantine")).count == 1
    for line in (1, 2):
        assert reports.add(report(stack=f"    at games/x.js:{line}:1")).count == 1


def test_of_too_many_kinds_the_oldest_go():
    reports = GameReports(own)
    for number in range(MAX_REPORTS + 2):
        reports.add(report(f"boom{number}"))
    assert len(reports.all()) == MAX_REPORTS
    assert reports.all()[0].text == "boom2"


def question(order_id: int, player: str = "outside:bot") -> Ask:
    seen = from_numpy(np.zeros((1, 1), np.float32))
    return Ask(run_id=None, order_id=order_id, policy_id=player, agent=[0], observation={"obs": seen})


async def test_a_host_asks_programs_of_its_own_order_alone(world: World) -> None:
    module = await world.module()
    world.checker.host_came(7, "local")
    order = PlaytestGame(game=module.reference, seed=Seed(low=1, high=0), budget_seconds=5)
    said: list[str] = []
    code = (
        'import sys\nfor n, _ in enumerate(sys.stdin, 1): print(\'{"id": %d, "action": 1}\' % n, flush=True)'
    )
    players = OutsidePlayers({"bot": f"{sys.executable} -c {shlex.quote(code)}"}, 5.0, said.append)
    game = DESCRIPTION.model_copy(
        update={"observation": BoxSpace(shape=[1]), "action": DiscreteSpace(n=2), "action_mask": False}
    )
    asked = [
        asyncio.create_task(world.checker.playtest(module, order, 5.0, outside))
        for outside in ((players, game), None)
    ]
    await asyncio.sleep(0)
    first, second = (message.playtest_id for _, message in world.sent if isinstance(message, PlaytestGame))
    # Of another host, or an order that is over: nobody waits for that.
    world.checker.asked(8, question(first))
    world.checker.asked(7, question(999))
    with pytest.raises(ProtocolError, match="of no program"):
        world.checker.asked(7, question(second))
    with pytest.raises(ProtocolError, match="the game has 1"):
        world.checker.asked(7, question(first).model_copy(update={"agent": [0, 0]}))
    with pytest.raises(ProtocolError, match="outside:other"):
        world.checker.asked(7, question(first, "outside:other"))
    world.checker.asked(7, question(first))
    with pytest.raises(ProtocolError, match="before the last answer"):
        world.checker.asked(7, question(first))
    async with asyncio.timeout(30):
        while not isinstance(world.sent[-1][1], Answer):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    answer = world.sent[-1][1]
    assert isinstance(answer, Answer) and view(answer.action).tolist() == [1] and said == []
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    await players.close()
