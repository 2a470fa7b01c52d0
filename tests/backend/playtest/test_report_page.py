"""The HTML report: cards of findings, whose episodes play in it, in one file without a server."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from attract.playtest.report_page import WEB, EpisodePictures, ShownGame, report_page
from attract.schema.recorded_episode import RecordedEpisode
from dashboard_page import check_accessible, open_page, photograph_all
from node_driver import bundle_driver
from recorded_episodes import failed, found, report

PICTURES = Path(__file__).resolve().parents[3] / "test-results" / "report-page"


@pytest.fixture(scope="module")
def pole(tmp_path_factory: pytest.TempPathFactory) -> RecordedEpisode:
    """An episode of CartPole: 40 steps of 0.02 s, then the pole has fallen."""
    record = bundle_driver("episode-driver.ts", tmp_path_factory.mktemp("driver"), aliases={})
    order: dict[str, Any] = {"game": "cartpole", "actions": [0, 1], "num_steps": 600, "episode": 0}
    (episode,) = record([{**order, "parameters": {}}])
    return RecordedEpisode.model_validate(episode)


async def test_the_episode_of_a_finding_plays_in_its_card(
    pole: RecordedEpisode, tmp_path: Path, browser: Browser
) -> None:
    # Slow enough that two seconds before its end is amid it.
    slow = pole.model_copy(update={"seconds_per_step": 0.1})
    error = found(slow, seconds=3.0, step=30)
    slow_finding = found(id="slow", oracle="slow", text="a tick takes 30 ms", stack=None, player=None,
                         episode_file=None, test_file=None)  # fmt: skip
    known = found(id="dead-key", oracle="dead-key", text="action 3 does nothing")
    run = failed(error, slow_finding, known=[known], game="</script><b>cartpole")
    code = (WEB / "games" / "cartpole.js").read_bytes()
    page_text = report_page(run, ShownGame("CartPole", code), "playtest")
    file = tmp_path / "report.html"
    file.write_text(page_text)
    for scheme in ("light", "dark"):
        async with (
            open_page(browser, file.as_uri(), scheme=scheme, moves=True) as (page, said),
        ):
            await expect(page.get_by_role("heading", name="error")).to_be_visible()
            await expect(page.locator(".verdict")).to_have_text("2 findings: error, slow")
            await expect(page.locator("#finding-1-error")).to_contain_text(
                "cannot read <b>x</b> of undefined"
            )
            await expect(page.locator("iframe")).to_have_count(1)
            player = page.frame_locator("iframe")
            await expect(player.locator("#step")).not_to_have_text("")
            await expect(player.locator("#status")).to_contain_text("It played as it was recorded.")
            await check_accessible(page, "the report")
            said.expected += ["Content Security Policy", "CSP: frame-src"]
            # The game cannot have its frame show another page, which would have no policy.
            async with page.expect_console_message(lambda line: "Content Security Policy" in line.text):
                await page.frames[1].evaluate("location.href = 'http://127.0.0.1:9/away'")
            await photograph_all(page, PICTURES, f"report-{scheme}")


def test_a_card_shows_the_picture_of_the_moment_without_scripts(pole: RecordedEpisode) -> None:
    run = failed(found(pole), found(pole, id="nan", oracle="nan"))
    pictures = EpisodePictures([0.0, 0.1, 0.3], [b"before", b"then", b"after"], 0.1)
    text = report_page(run, ShownGame("Stars", None, {1: pictures})).partition("<script")[0]
    assert text.count("<figure>") == 1 and "<iframe" not in text
    card = text.partition('id="finding-2-nan"')[2]
    then = base64.b64encode(b"then").decode()
    assert f'<img alt="The game when nan happens" src="data:image/jpeg;base64,{then}">' in card


def test_what_a_game_says_is_text(pole: RecordedEpisode) -> None:
    evil = "</script><script>alert(1)</script>{{data}}"
    run = failed(found(pole, text=evil, stack=evil, player=evil, file=evil), game=evil)
    text = report_page(run, ShownGame(evil, b"export default 1; // </script><script>"))
    assert "<script>alert" not in text
    assert text.count("<script") == 2
    data = text.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["game"] == "export default 1; // </script><script>"


def test_a_clean_run_says_so_without_any_card() -> None:
    text = report_page(report(), ShownGame("CartPole", b""))
    assert "plays: no finding" in text and "<article" not in text
