"""`attract imitate`: what is refused before anything is fitted, and what a small fit leaves."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from attract.commands.crowd_play import crowd_gateway, find_build, play
from attract.commands.imitate import ImitateOptions
from attract.commands.imitating import imitate_game
from attract.commands.output import CommandConsole
from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory
from attract.runs.episodes import written
from attract.schema.base import Seed
from attract.schema.playtest import PlaytestGame, PlaytestPlays
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import RunSettings, ServerSettings
from demonstration_recorder import keydoor_player, record, write_demonstrations

OPTIONS = ImitateOptions(run_id="cloned", epochs=3, json_output=True)


async def test_without_recorded_episodes_it_says_where_it_looked_and_leaves_no_run(tmp_path: Path):
    server = ServerSettings(runs_dir=tmp_path / "runs")
    with pytest.raises(ConfigurationError, match=r"no folder .*demonstrations/Keydoor-v1") as refused:
        await imitate_game("keydoor", RunSettings(), OPTIONS, server)
    assert refused.value.exit_code == 2 and not (tmp_path / "runs" / "cloned").exists()


async def test_D1_what_it_leaves_is_a_run_with_a_version_a_row_and_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = write_demonstrations(tmp_path / "played", record("keydoor", keydoor_player, episodes=6))
    server = ServerSettings(runs_dir=tmp_path / "runs")
    settings = RunSettings.from_mapping({"policy": {"recurrent": "gru", "recurrent_size": 8}})
    code = await imitate_game("keydoor", settings, dataclasses.replace(OPTIONS, source=str(source)), server)
    report = json.loads(capsys.readouterr().out)
    directory = RunDirectory.view(server.runs_dir, "cloned")
    assert code == 0 and report["demonstrations"] == 6 and directory.marked("latest") == 0
    assert report["metrics"]["train/cloning_epochs"] == 3
    assert (directory.export / "policy.onnx").is_file() and directory.read_game()[1] is not None


PAGE = """<canvas id="c" width="80" height="80"></canvas><script>
  let x = 40, ticks = 0;
  const held = new Set(), context = c.getContext("2d");
  addEventListener("keydown", (event) => held.add(event.code));
  addEventListener("keyup", (event) => held.delete(event.code));
  requestAnimationFrame(function frame() {
    x += held.has("ArrowRight") ? 1 : 0;
    window.game = { x, over: ++ticks > 150 };
    context.clearRect(0, 0, 80, 80);
    context.fillRect(x, 40, 10, 10);
    requestAnimationFrame(frame);
  });
</script>
"""
PIXELS = """
import { definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Pixels-v1", page: "index.html", action: discrete(["stay", "right"]),
  keys: { stay: [], right: ["ArrowRight"] }, pixels: {},
  score: (w) => w.game.x, over: (w) => w.game.over, ready: (w) => w.game !== undefined,
});
"""


async def recorded_of_page(server: ServerSettings, game: str, count: int) -> list[RecordedEpisode]:
    async with crowd_gateway(server, None, CommandConsole(stderr=True)) as gateway:
        build = await find_build(gateway, game)
        order = PlaytestGame(
            game=build.module.reference,
            seed=Seed(low=3, high=0),
            plays=[PlaytestPlays(player="random", first=0, count=count)],
            fresh_every=1,
            max_steps=40,
            record=True,
            budget_seconds=20.0,
        )
        answer = await play(gateway, build, order)
    return [episode.recorded for episode in answer.episodes if episode.recorded is not None]


async def test_C5_demonstrations_of_a_page_are_played_again_in_a_browser(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    server = ServerSettings(runs_dir=tmp_path / "runs")
    episodes = await recorded_of_page(server, "lanes", 2)
    source = write_episodes(tmp_path / "played", episodes)
    options = dataclasses.replace(OPTIONS, source=str(source))
    assert await imitate_game("lanes", RunSettings(), options, server) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["demonstrations"] == 2
    assert report["steps"] == sum(episode.num_steps for episode in episodes)
    assert RunDirectory.view(server.runs_dir, "cloned").export.joinpath("policy.onnx").is_file()

    # One that the game does not play so is named.
    other = episodes[1].model_copy(update={"returns": [episodes[1].returns[0] + 1]})
    write_episodes(source, [episodes[0], other])
    options = dataclasses.replace(options, run_id="other")
    with pytest.raises(ConfigurationError, match="has changed since it was recorded: the return") as refused:
        await imitate_game("lanes", RunSettings(), options, server)
    assert refused.value.setting == str(source / "1.json")
    assert not (tmp_path / "runs" / "other").exists()


async def test_stacks_of_pictures_of_a_page_are_imitated_too(tmp_path: Path):
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "game.page.ts").write_text(PIXELS)
    server = ServerSettings(runs_dir=tmp_path / "runs", project_dir=tmp_path)
    game = str(tmp_path / "game.page.ts")
    source = write_episodes(tmp_path / "played", await recorded_of_page(server, game, 1))
    options = dataclasses.replace(OPTIONS, source=str(source))
    assert await imitate_game(game, RunSettings(), options, server) == 0


BOT = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "action": 1}), flush=True)
"""


@pytest.mark.parametrize("missing", [False, True])
async def test_a_program_plays_each_episode_of_a_page_in_a_new_one_or_it_is_said_why_not(
    missing: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    # A restart leaves the square where it is, and faster: only a new page begins as the first did.
    page = PAGE.replace("let x", "function restart() { ticks = 0; } let x").replace("? 1 : 0", "? x / 40 : 0")
    page = page.replace("{ x,", "{ x, ticks,")
    (tmp_path / "index.html").write_text(
        page.replace("<script>", '<script src="gone.js"></script>') if missing else page
    )
    adapter = PIXELS.replace("score:", "restart: (w) => w.restart(), score:")
    adapter = adapter.replace(
        "pixels: {}", "observation: box({ shape: [1], low: 0, high: 80 }), observe: (w) => [w.game.ticks]"
    )
    adapter = adapter.replace("discrete }", "box, discrete }")
    ready = "w.made" if missing else "w.game"
    (tmp_path / "game.page.ts").write_text(adapter.replace("w.game !== undefined", f"{ready} !== undefined"))
    (tmp_path / "bot.py").write_text(BOT)
    server = ServerSettings(
        runs_dir=tmp_path / "runs",
        project_dir=tmp_path,
        outside={"bot": f"{sys.executable} {tmp_path}/bot.py"},
    )
    options = dataclasses.replace(OPTIONS, source="outside:bot", episodes=2)
    fitting = imitate_game(str(tmp_path / "game.page.ts"), RunSettings(), options, server)
    if missing:
        with pytest.raises(ConfigurationError, match=r"outside:bot could not play: .*asks for /gone\.js"):
            await fitting
    else:
        assert await fitting == 0
        assert json.loads(capsys.readouterr().out)["demonstrations"] == 2


def write_episodes(folder: Path, episodes: list[RecordedEpisode]) -> Path:
    folder.mkdir(exist_ok=True)
    for number, episode in enumerate(episodes):
        (folder / f"{number}.json").write_bytes(written(episode))
    return folder
