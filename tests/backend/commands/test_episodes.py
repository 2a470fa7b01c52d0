"""Recorded episodes: how one is named, played again, and pictured; no browser is started."""

import base64
import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from attract.commands import replay as module
from attract.commands.episode_pictures import MAX_PICTURES, picture_episodes
from attract.commands.episodes import Chosen, Recorded, find_build, find_recorded, run_of
from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.playtest.findings import Build
from attract.playtest.report import BuildFinding
from attract.playtest.report_page import ShownGame, report_page
from attract.runs.episodes import written
from attract.schema.recorded_episode import EpisodeDifference, EpisodeReplay, RecordedEpisode
from attract.settings.run import ServerSettings
from dashboard_page import check_accessible, open_page
from recorded_episodes import EPISODE, failed, found, recorded
from socket_fleet import DESCRIPTION

CHOICES: tuple[Chosen, ...] = ("best", "worst", "failed")


def one(**changed: object) -> RecordedEpisode:
    return RecordedEpisode.model_validate({**EPISODE, **changed})


def run_with(runs: Path, **episodes: RecordedEpisode) -> ServerSettings:
    """A run that keeps these episodes."""
    folder = runs / "run-1" / "episodes"
    folder.mkdir(parents=True)
    for name, episode in episodes.items():
        (folder / f"{name}.json").write_bytes(written(episode))
    (runs / "run-1" / "config.yaml").write_text("game: cartpole\nsettings: {}\n")
    return ServerSettings.from_mapping({"runs_dir": runs})


@pytest.mark.parametrize(
    ("episode", "chosen", "text"),
    [
        ("gone.episode.json", None, r"gone\.episode\.json: cannot be read|no such file"),
        ("empty", None, r"no file in it ends in \.episode\.json"),
        ("run-1", None, "which episode of the run"),
        ("run-1:z", None, "run-1 keeps no episode z\n  its newest ones: "),
        ("run-1:../../secret", None, "keeps no episode"),
        ("run-1", "failed", "--failed: run-1 keeps no such episode"),
        ("run-9:a", None, "run-9"),
    ],
)
def test_an_episode_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, episode: str, chosen: Chosen | None, text: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    server = run_with(tmp_path / "runs", a=one(), b=one(returns=[1.0]))
    with pytest.raises(ConfigurationError, match=text):
        find_recorded(episode, chosen, server)


async def test_the_build_is_asked_for_where_nothing_here_is_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    server = ServerSettings.from_mapping({"runs_dir": tmp_path / "runs", "project_dir": tmp_path, "port": 0})
    recorded = Recorded("one.json", one())
    directory, server = run_of(None, recorded, None, server)
    with pytest.raises(ConfigurationError, match=r"(?s)Counting-v1, is not known here.*--game PATH"):
        await find_build(GameLibrary(tmp_path), None, directory, recorded, server)


def test_best_and_worst_are_those_of_the_returns_and_a_failure_is_neither(tmp_path: Path):
    failed = one(
        returns=[-9.0],
        end_reason="failed",
        error={"kind": "throw", "name": "TypeError", "text": "x", "tick": 3},
    )
    server = run_with(tmp_path, a=one(returns=[2.0]), b=one(returns=[5.0]), c=failed)
    chosen = {name: find_recorded("run-1", name, server)[1][0].name for name in CHOICES}
    assert chosen == {"best": "run-1:b", "worst": "run-1:a", "failed": "run-1:c"}


async def test_an_episode_is_played_again_on_its_device_whatever_the_adapter_says_now(tmp_path: Path):
    (tmp_path / "game.page.js").write_text("export default 1;")
    (tmp_path / "game.js").write_text("export default 1;")
    games = GameLibrary(tmp_path)
    server = ServerSettings.from_mapping({"project_dir": tmp_path})
    phone = await games.resolve("game.page.js", "phone")
    own = await games.resolve("game.page.js")

    async def build(game: str, **changed: object) -> bytes:
        return (await find_build(games, game, None, Recorded("one", one(**changed)), server)).code

    assert await build("game.page.js", device="phone") == phone.code
    assert await build("game.page.js", device="phone", game_sha256=own.reference.sha256) == own.code
    # An old one says nothing.
    assert (await build("game.page.js")).startswith(b'globalThis.attractDevice="desktop";')
    assert b"attractDevice" not in await build("game.js", device="phone")


async def test_a_device_is_for_games_in_pages(tmp_path: Path):
    (tmp_path / "game.js").write_text("export default 1;")
    with pytest.raises(ConfigurationError, match=r"page_device: game\.js lives in no page"):
        await GameLibrary(tmp_path, page_device="phone").resolve("game.js")


def test_many_episodes_are_ordered_in_parts_that_a_message_holds(monkeypatch: pytest.MonkeyPatch):
    recorded = [Recorded(str(n), one()) for n in range(40)]
    parts = list(module.in_orders(recorded))
    assert [len(part) for part in parts] == [16, 16, 8]
    assert [single.name for part in parts for single in part] == [str(n) for n in range(40)]
    monkeypatch.setattr(module, "ORDER_BYTES", 10)
    assert [len(part) for part in module.in_orders(recorded[:5])] == [2, 2, 1]


def test_a_difference_is_said_with_its_second_and_its_step():
    replay = EpisodeReplay(
        equal=False,
        difference=EpisodeDifference(step=184, seconds=12.27, text="the agent sees something else"),
        returns=[1.0],
        num_steps=184,
        num_ticks=184,
        end_reason="stopped",
        play_seconds=0.1,
    )
    recorded = Recorded("one", one())
    assert module.replay_text(recorded, replay) == (
        "differs at 12.3 s (step 184): the agent sees something else"
    )
    equal = replay.model_copy(update={"equal": True, "difference": None, "num_steps": 3, "returns": [3.0]})
    assert module.replay_text(recorded, equal) == "equal: 3 steps (0.1 s), return 3, time_limit"
    assert json.dumps(replay.model_dump(mode="json"))


PAGE = """\
<!doctype html><title>Dusk</title><body style="margin:0">
<script>
let tick = 0;
function frame() {
  requestAnimationFrame(frame);
  tick++;
  document.body.style.background = `rgb(${tick}, ${tick}, ${tick})`;
}
requestAnimationFrame(frame);
window.look = () => tick;
</script>
"""
ADAPTER = """\
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Dusk-v1", page: "index.html", size: [60, 40], ticksPerStep: 2,
  observation: box({ shape: [1] }), action: discrete(["a", "b", "c"]),
  keys: { a: [], b: ["KeyB"], c: ["KeyC"] },
  restart: (w) => w.eval("tick = 0"), observe: (w) => [w.look()], score: (w) => w.look(), over: () => false,
});
"""
STEP_SECONDS = 1 / 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dusk")
    (folder / "index.html").write_text(PAGE)
    (folder / "game.page.ts").write_text(ADAPTER)
    return folder


def happens(step: int, returns: float | list[float] = 1.0) -> BuildFinding:
    """An error in an episode of 100 steps."""
    episode = recorded(returns, steps=100, seconds_per_step=STEP_SECONDS, game_id="Dusk-v1")
    return found(episode, step=step, seconds=None)


async def gray(page: Page) -> int:
    """Brightness in the middle of the shown picture, 0 to 255."""
    return await page.evaluate(
        """async () => {
          const image = document.querySelector("figure img");
          await image.decode();
          const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          return context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[0];
        }"""
    )


async def outlined(page: Page) -> int:
    """Brightness in the middle of the one picture of a sheet that has a red outline, 0 to 255."""
    return await page.evaluate(
        """async () => {
          const image = document.querySelector("figure img");
          await image.decode();
          const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const { data, width, height } = context.getImageData(0, 0, canvas.width, canvas.height);
          const red = [];
          for (let at = 0; at < width * height; at++)
            if (data[4 * at] > 200 && data[4 * at + 1] < 40) red.push([at % width, Math.floor(at / width)]);
          const middle = (axis) => Math.round(red.reduce((sum, place) => sum + place[axis], 0) / red.length);
          return data[4 * ((middle(1) - 10) * width + middle(0))];
        }"""
    )


@pytest.mark.usefixtures("one_browser")
async def test_pictures_are_of_the_seconds_around_the_moment(folder: Path, browser: Browser) -> None:
    server = ServerSettings(project_dir=folder, runs_dir=folder / "runs")
    games = GameLibrary(folder, runs_dir=server.runs_dir)
    module = await games.resolve(str(folder / "game.page.ts"))
    files = games.page_files(module.reference.sha256[:32])
    assert files is not None
    build = Build(module, DESCRIPTION.model_copy(update={"page": "index.html"}))
    # The second has no episode, and that of the third is of two agents, which the game has not.
    findings = [happens(75), found(None, id="slow", oracle="slow"), happens(10, [1.0, 2.0])]
    assert await picture_episodes(files, build, findings, server, seconds=-1) == {}, "there is no time"
    few = (await picture_episodes(files, build, findings[:1], server))[0]
    assert 2.5 in few.seconds and len(few.jpegs) <= 12
    async with open_page(browser, "about:blank", moves=True) as (page, _):
        encoded = base64.b64encode(few.sheet).decode()
        await page.set_content(f'<figure><img src="data:image/png;base64,{encoded}"></figure>')
        assert await outlined(page) == pytest.approx(2 * 75, abs=6)
    taken = await picture_episodes(files, build, findings, server, max_pictures=MAX_PICTURES)
    assert list(taken) == [0]
    pictures = taken[0]
    assert (pictures.moment, pictures.seconds[0], pictures.seconds[-1]) == pytest.approx((2.5, 0.5, 100 / 30))
    assert 2.5 in pictures.seconds and len(pictures.seconds) == len(pictures.jpegs) <= 40

    report = folder / "report.html"
    report.write_text(report_page(failed(*findings), ShownGame("Dusk", None, taken)))
    async with open_page(browser, report.as_uri(), moves=True) as (page, _):
        card = page.locator("#finding-1-error")
        await expect(card.locator("output")).to_have_text("when it happens")
        # Two ticks a step, a shade a tick.
        assert await gray(page) == pytest.approx(2 * 75, abs=4)
        await card.locator("input").fill("0")
        await expect(card.locator("output")).to_have_text("2.0 s before")
        assert await gray(page) == pytest.approx(2 * 15, abs=4)
        await card.get_by_role("button", name="Play").click()
        await expect(card.get_by_role("button", name="Pause")).to_be_visible()
        await expect(card.locator("output")).to_have_text("0.8 s after")
        await expect(card.get_by_role("button", name="Play")).to_be_visible()
        await check_accessible(page, "the report with pictures")
