"""What is told of a run: to pages that listen, and to whoever runs it."""

from pathlib import Path
from typing import Any

import pytest

from attract.collection.effects import GameLogged, Note
from attract.curriculum.controller import CurriculumController
from attract.run.events import EventHub
from attract.run.life import Phase
from attract.run.notifications import (
    HANDOVER_SECONDS,
    SHOWN_NOTES,
    GameLogFilter,
    Notifications,
)
from attract.run.progress import RunProgress
from attract.run.record import RunRecord
from attract.runs.directory import RunDirectory
from attract.runs.log_entries import read_entries
from attract.schema.api import FleetView, GameReport, LogLine
from attract.schema.base import WireModel
from attract.settings.run import RunSettings
from fake_worker import counting_game

FLEET = FleetView(hosts=[], steps_per_second=7.0, leases_open=0, leases_lapsed=0, blocks_refused=0)


class World:
    """Notifications over a record of their own, and what the listener heard."""

    def __init__(self, folder: Path, *, keep: bool = True, track: bool = False) -> None:
        self.directory = RunDirectory.create(folder, "run-1")
        self.record = RunRecord(self.directory, EventHub(), track=track)
        self.heard: list[tuple[str, WireModel]] = []
        settings = RunSettings()
        controller = CurriculumController(settings)
        self.progress = RunProgress("run-1", "now", settings, counting_game(), controller, 0.0)
        self.one = Notifications(
            self.progress,
            self.record,
            lambda stack, _method: stack,
            lambda: FLEET,
            lambda kind, body: self.heard.append((kind, body)),
            lambda: 0.0,
            keep=keep,
        )

    async def close(self) -> None:
        await self.record.close()
        self.directory.close()


@pytest.fixture
async def world(tmp_path: Path):
    one = World(tmp_path)
    yield one
    await one.close()


def report(**changes: Any) -> GameReport:
    return GameReport.model_validate(
        {"kind": "throw", "name": "Error", "text": "x", "stack": "at tick", **changes}
    )


async def test_a_view_has_the_fleet_and_the_reports_as_they_stand(world: World):
    world.progress.life.phase = Phase.TRAINING
    shown = world.one.report(report())
    view = world.one.view()
    assert (view.run_id, view.state, view.steps_per_second) == ("run-1", "running", 7.0)
    assert view.reports == [shown]


async def test_a_change_is_kept_and_told(world: World):
    world.progress.life.phase = Phase.TRAINING
    await world.one.changed(world.one.view())
    assert world.heard == [("status", world.one.view())]


async def test_the_same_report_is_told_again_with_its_count(world: World):
    assert world.one.report(report()).count == 1
    assert world.one.report(report()).count == 2
    assert [(kind, body.count) for kind, body in world.heard if isinstance(body, GameReport)] == [
        ("report", 1),
        ("report", 2),
    ]


async def test_lines_of_the_worker_that_is_listened_to_are_told(world: World):
    first, other = LogLine(level="log", text="one"), LogLine(level="log", text="two")
    world.one.logged(GameLogged(4, first))
    world.one.logged(GameLogged(5, other))
    assert world.heard == [("log", first)]


async def test_what_the_game_writes_is_kept_with_the_run(tmp_path: Path):
    world = World(tmp_path, track=True)
    world.one.logged(GameLogged(4, LogLine(level="error", text="the ball left", dropped=3)))
    await world.close()
    (entry,) = read_entries(world.directory.logs, ("game",))
    assert (entry.level, entry.text) == ("error", "(3 lines left out) the ball left")


@pytest.mark.parametrize("kind", SHOWN_NOTES)
async def test_a_note_for_people_becomes_a_report(world: World, kind: str):
    world.one.note(Note(kind, "it happened", rollback_to=3))
    [(event, body)] = world.heard
    assert event == "report"
    assert isinstance(body, GameReport)
    assert (body.kind, body.name, body.text, body.rollback_to) == (kind, kind.capitalize(), "it happened", 3)
    assert body.stack is None


async def test_other_notes_are_told_in_other_ways(world: World):
    world.one.note(Note("dropped", "an update"))
    assert world.heard == []


def test_one_worker_is_listened_to_until_it_is_quiet() -> None:
    now = 0.0
    heard = GameLogFilter(lambda: now)
    assert heard.accepts(4)
    assert not heard.accepts(5)
    now = HANDOVER_SECONDS
    assert heard.accepts(5)
    assert not heard.accepts(4)
