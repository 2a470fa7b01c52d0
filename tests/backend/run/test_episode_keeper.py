"""Episodes of the active run: the build that was played, written off the event loop, listed once kept."""

import asyncio
import hashlib
import logging
from pathlib import Path

import pytest

from attract.curriculum.controller import CurriculumController
from attract.games.kept_builds import kept_page
from attract.games.library import GameModule
from attract.run import effects
from attract.run.background import BackgroundTasks, WorkInOrder
from attract.run.episode_keeper import EpisodeKeeper
from attract.run.events import EventHub
from attract.run.notifications import Notifications
from attract.run.progress import RunProgress
from attract.run.record import RunRecord
from attract.runs.archive import RunArchive
from attract.runs.directory import RunDirectory
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import FOLDER, EpisodeStore
from attract.schema.api import FleetView, GameReport
from attract.schema.base import WireModel
from attract.schema.game import GameDescription, description_sha256
from attract.settings.run import RecordingSettings, RunSettings
from fake_worker import SHA256, counting_description, counting_game
from recorded_episodes import recorded
from waiting import WAIT_SECONDS

FLEET = FleetView(hosts=[], steps_per_second=7.0, leases_open=0, leases_lapsed=0, blocks_refused=0)


class World:
    """A keeper over a run's folder, and what pages heard."""

    def __init__(self, folder: Path) -> None:
        self.directory = RunDirectory.create(folder / "runs", "run-1")
        self.directory.write_config("counting", {})
        self.record = RunRecord(self.directory, EventHub(), track=False)
        self.heard: list[tuple[str, WireModel]] = []
        self.broken: list[BaseException] = []
        settings = RunSettings()
        progress = RunProgress("run-1", "now", settings, counting_game(), CurriculumController(settings), 0.0)
        self.notifications = Notifications(
            progress,
            self.record,
            lambda stack, _method: stack,
            lambda: FLEET,
            lambda kind, body: self.heard.append((kind, body)),
            lambda: 0.0,
            keep=True,
        )
        self.work = WorkInOrder(BackgroundTasks(self.broken.append), self.broken.append)
        self.description: GameDescription = counting_description()

    def keeper(self, adapter_folder: Path | None = None, *, keep: bool = True) -> EpisodeKeeper:
        return EpisodeKeeper(
            self.directory,
            RecordingSettings(),
            GameModule(counting_game(), b"", None),
            self.notifications,
            self.work,
            lambda: self.description,
            adapter_folder=adapter_folder,
            keep=keep,
        )

    @property
    def store(self) -> EpisodeStore:
        return EpisodeStore(self.directory.path, EpisodeLimits(1 << 20, 10))

    async def idle(self) -> None:
        await asyncio.wait_for(self.work.idle.wait(), WAIT_SECONDS)


@pytest.fixture
async def world(tmp_path: Path):
    one = World(tmp_path)
    yield one
    await one.record.close()
    one.directory.close()
    assert one.broken == []


async def test_an_episode_has_the_run_and_the_build_that_was_played(world: World):
    lied = recorded(run_id="another", created_at="yesterday", game_sha256="00" * 32)
    world.keeper().keep(effects.KeepEpisodes("evaluation", [("best", lied)], 640))
    assert world.heard == [], "the event loop does not wait for the disk"
    await world.idle()
    ((kind, entry),) = world.heard
    (kept,) = world.store.entries()
    assert (kind, entry) == ("episode", kept)
    episode = world.store.get(kept.id)
    assert (episode.run_id, episode.game_sha256, episode.page_sha256) == ("run-1", SHA256, None)
    assert episode.description_sha256 == description_sha256(counting_description())
    assert episode.created_at[:2] == "20"


def test_the_descriptions_hash_is_of_its_canonical_json():
    description = counting_description()
    data = description.model_dump_json()
    text = description_sha256(GameDescription.model_validate_json(data))
    assert text == description_sha256(description)
    assert text != description_sha256(description.model_copy(update={"tick_seconds": 0.2}))


async def test_a_page_is_known_by_its_files_once_a_session(world: World, tmp_path: Path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<script src=main.js></script>")
    (site / "main.js").write_text("play()")
    world.description = counting_description().model_copy(update={"page": "index.html"})
    keeper = world.keeper(site)
    (first,) = await keeper.filled([recorded()])
    assert first.page_sha256 is not None
    listing = kept_page(world.directory, first.page_sha256)
    assert listing is not None
    assert listing.files["main.js"].sha256 == hashlib.sha256(b"play()").hexdigest()
    (site / "main.js").write_text("play_otherwise()")
    (second,) = await keeper.filled([recorded()])
    assert second.page_sha256 == first.page_sha256
    (third,) = await world.keeper(site, keep=False).filled([recorded()])
    assert third.page_sha256 not in (None, first.page_sha256)
    assert kept_page(world.directory, str(third.page_sha256)) is None, "a past run is left as it is"


async def test_a_failure_has_the_stack_of_its_report_and_its_report_the_episode(world: World):
    raw = GameReport(kind="throw", name="TypeError", text="boom", stack="at tick (game.ts:3:1)")
    shown = world.notifications.report(raw)
    world.keeper().keep_failure(shown, recorded(error="boom"))
    await world.idle()
    assert [kind for kind, _ in world.heard] == ["report", "episode"], "nothing is printed twice"
    (entry,) = world.store.entries()
    published = shown.model_copy(update={"episode_id": entry.id})
    events = RunArchive(world.directory.path.parent).events_after("run-1", 0)
    assert [event.kind for event in events] == ["report", "episode", "report"]
    assert GameReport.model_validate_json(events[-1].data) == published
    assert world.notifications.view().reports == [published]
    error = world.store.get(entry.id).error
    assert error is not None and error.stack == "at tick (game.ts:3:1)"


async def test_a_disk_that_refuses_does_not_end_the_run(world: World, caplog: pytest.LogCaptureFixture):
    (world.directory.path / FOLDER).write_bytes(b"no folder")
    with caplog.at_level(logging.WARNING):
        world.keeper().keep(effects.KeepEpisodes("evaluation", [("best", recorded())], 0))
        await world.idle()
    assert "1 episodes were not kept" in caplog.text
    assert world.heard == []
