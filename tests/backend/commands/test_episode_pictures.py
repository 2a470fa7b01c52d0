"""Pictures of a page's episodes are of the right seconds, and play in the report without a server."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from attract.commands.episode_pictures import picture_episodes
from attract.games.library import GameLibrary
from attract.playtest.findings import Build
from attract.playtest.report import Finding
from attract.playtest.report_page import ShownGame, report_page
from attract.settings.run import ServerSettings
from dashboard_page import check_accessible, chromium, open_page
from playtest_reports import failed, found
from recorded_episodes import recorded
from socket_fleet import DESCRIPTION

pytestmark = pytest.mark.usefixtures("one_browser")

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


def happens(step: int, returns: float | list[float] = 1.0) -> Finding:
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


async def test_pictures_are_of_the_seconds_around_the_moment(folder: Path) -> None:
    server = ServerSettings(project_dir=folder, runs_dir=folder / "runs")
    games = GameLibrary(folder, runs_dir=server.runs_dir)
    module = await games.resolve(str(folder / "game.page.ts"))
    files = games.page_files(module.reference.sha256[:32])
    assert files is not None
    build = Build(module, DESCRIPTION.model_copy(update={"page": "index.html"}))
    # The second has no episode, and that of the third is of two agents, which the game has not.
    findings = [happens(75), found(None, id="slow", oracle="slow"), happens(10, [1.0, 2.0])]
    taken = await picture_episodes(files, build, findings, server)
    assert list(taken) == [0]
    pictures = taken[0]
    assert (pictures.moment, pictures.seconds[0], pictures.seconds[-1]) == pytest.approx((2.5, 0.5, 100 / 30))
    assert 2.5 in pictures.seconds and len(pictures.seconds) == len(pictures.jpegs) <= 40

    report = folder / "report.html"
    report.write_text(report_page(failed(*findings), ShownGame("Dusk", None, taken)))
    async with chromium() as browser, open_page(browser, report.as_uri(), moves=True) as (page, _):
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
