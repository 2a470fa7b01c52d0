"""A crowd plays a module and a page with planted faults in a real browser: twice alike, and from records."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.games.library import GameModule
from attract.run.game_checker import GameChecker
from attract.schema.base import Seed
from attract.schema.game import GameReference
from attract.schema.playtest import GamePlaytested, PlaytestEpisode, PlaytestGame, PlaytestPlays
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from attract_command import run_attract
from zygote import start_learner

pytestmark = pytest.mark.usefixtures("one_browser")

MODULE = """\
import { box, defineGame, discrete } from "attract";
class Walk {
  start({ random }) {
    this.tick = 0;
    this.counts = [0, 0, 0, 0, 0];
    this.luck = random();
    return [0, this.luck];
  }
  update(deltaTime, action) {
    this.tick++;
    const tenth = ++this.counts[action] === 10;
    if (tenth && action === 1) this.room.enter();
    if (tenth && action === 2) this.later();
    if (tenth && action === 3) console.error("odd state", { action });
    if (this.counts[4] === 30) for (;;);
    return { observation: [this.tick / 100, this.luck], reward: action, terminated: this.tick === 40 };
  }
  async later() {
    throw new RangeError("nobody waits");
  }
}
export default defineGame({
  id: "Walk-v1",
  tickSeconds: 0.1,
  observation: box({ low: 0, high: 1, shape: [2] }),
  action: discrete(["stay", "throw", "reject", "write", "hang"]),
  create: () => new Walk(),
});
"""
PAGE = """\
<!doctype html><canvas width="40" height="20"></canvas><script src="game.js"></script>
"""
SCRIPT = """\
let state = { isOver: true };
const held = {};
addEventListener("keydown", ({ code }) => { held[code] = true; });
addEventListener("keyup", ({ code }) => { held[code] = false; });
function begin() { state = { isOver: false, tick: 0, luck: Math.random(), presses: 0 }; }
function frame() {
  requestAnimationFrame(frame);
  if (state.isOver) return;
  state.tick++;
  if (held.Space && ++state.presses === 10) enter();
  if (held.KeyW && ++state.presses === 10) console.error("odd state", { tick: state.tick });
  if (held.KeyF && ++state.presses === 10) fetch("level2.json").catch(() => undefined);
  if (state.tick === 40) state.isOver = true;
}
function enter() { state.room.door = 1; }
requestAnimationFrame(frame);
window.look = () => state;
"""
ADAPTER = """\
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Rooms-v1",
  page: "index.html",
  size: [40, 20],
  ticksPerStep: 2,
  observation: box({ shape: [2] }),
  action: discrete(["stay", "enter", "write", "fetch"]),
  keys: { stay: [], enter: ["Space"], write: ["KeyW"], fetch: ["KeyF"] },
  restart: (w) => w.eval("begin()"),
  observe: (w) => [w.look().tick, w.look().luck],
  score: (w) => w.look().tick,
  over: (w) => w.look().isOver,
});
"""
ANY_GAME = GameReference(name="any", sha256="0" * 64, url="any")


@asynccontextmanager
async def browser(folder: Path, game: str) -> AsyncIterator[tuple[GameChecker, GameModule]]:
    """A headless browser that plays `game` of `folder`."""
    settings = ServerSettings(port=0, project_dir=folder, runs_dir=folder / "runs")
    async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
        url = join_url(gateway.url, gateway.guard.issue("worker"), 0)
        host = await HostProcess.start(url, lambda event: None)
        try:
            module = await gateway.service.games.resolve(str(folder / game))
            yield gateway.service.membership.checker, module
        finally:
            await host.stop()


def order(*plays: tuple[str, int], **fields: Any) -> PlaytestGame:
    entries = [PlaytestPlays(player=player, first=0, count=count) for player, count in plays]
    return PlaytestGame(
        game=ANY_GAME,
        seed=Seed(low=7, high=1),
        plays=entries,
        **{"budget_seconds": 60, **fields},
    )


def of(module: GameModule, crowd: PlaytestGame) -> PlaytestGame:
    """The order for this game."""
    return crowd.model_copy(update={"game": module.reference})


def rows(answer: GamePlaytested) -> list[dict[str, Any]]:
    """All but how long it took, and where in the browser's own code an error passed."""
    found: list[dict[str, Any]] = []
    for episode in answer.episodes:
        row = episode.model_dump(mode="json") | {"play_seconds": 0}
        if episode.recorded is not None and episode.recorded.error is not None:
            row["recorded"]["error"]["stack"] = None
        found.append(row)
    return found


def texts(answer: GamePlaytested, play: int) -> list[list[str]]:
    """Per episode of a play its alarms."""
    return [[alarm.text for alarm in episode.alarms] for episode in answer.episodes if episode.play == play]


def keep(folder: Path, episodes: list[PlaytestEpisode]) -> Path:
    folder.mkdir()
    for number, episode in enumerate(episodes):
        assert episode.recorded is not None
        (folder / f"{number:02}.episode.json").write_text(episode.recorded.model_dump_json())
    return folder


def replayed(folder: Path, game: Path, runs_dir: Path) -> list[bool]:
    """Which of the episodes are equal, as `attract replay` says."""
    result = run_attract("replay", folder, "--game", game, "--json", runs_dir=runs_dir)
    return [row["equal"] for row in json.loads(result.stdout)["episodes"]]


# `make test` plays a page twice alike below.
@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_module_is_played_twice_alike_and_its_faults_are_told_with_their_place(
    tmp_path: Path,
) -> None:
    (tmp_path / "walk.ts").write_text(MODULE)
    players = ("idle", "random", "sticky", "novelty", "hold-1", "hold-2", "hold-3")
    # In 29 steps nobody does 30 times what hangs.
    crowd = order(*((player, 9) for player in players), max_steps=29, record=True)
    async with browser(tmp_path, "walk.ts") as (checker, module):
        answer = await checker.playtest(module, of(module, crowd), 90.0)
        again = await checker.playtest(module, of(module, crowd), 90.0)
        written, thrown = (
            checker.own_place(module, episode.alarms[0].stack, None)[1]
            for name in ("hold-3", "hold-1")
            for episode in answer.episodes
            if players[episode.play] == name and episode.index == 0
        )
    assert answer.problem is None
    assert len(answer.episodes) == 9 * len(players)
    assert rows(answer) == rows(again)
    assert texts(answer, 0) == [[]] * 9
    room = "update() threw: TypeError: Cannot read properties of undefined (reading 'enter')"
    assert texts(answer, players.index("hold-1")) == [[room]] * 9
    assert texts(answer, players.index("hold-2")) == [["unhandled rejection: RangeError: nobody waits"]] * 9
    assert texts(answer, players.index("hold-3")) == [['odd state {"action":3}']] * 9
    assert [(Path(each.file).name, each.line) for each in (written, thrown) if each] == [
        ("walk.ts", 14),
        ("walk.ts", 12),
    ]
    chosen = [episode for episode in answer.episodes if episode.index in (0, 5)]
    folder = keep(tmp_path / "episodes", chosen)
    assert replayed(folder, tmp_path / "walk.ts", tmp_path / "runs") == [True] * len(chosen)


# `make test` has a game that hangs in test_hostile_page.py.
@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_hang_is_given_up_and_what_was_played_before_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "walk.ts").write_text(MODULE)
    async with browser(tmp_path, "walk.ts") as (checker, module):
        answer = await checker.playtest(
            module, of(module, order(("idle", 3), ("hold-4", 3), ("hold-0", 3))), 90.0
        )
    assert [episode.play for episode in answer.episodes] == [0, 0, 0]
    assert answer.problem == (
        "the game did not come back within 10 s, during episode 0 of hold-4: a hang leaves no stack"
    )


@pytest.mark.timeout(300)
async def test_a_page_is_played_twice_alike_and_in_fresh_pages_too(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "game.js").write_text(SCRIPT)
    (tmp_path / "game.page.ts").write_text(ADAPTER)
    players = ("idle", "random", "novelty", "hold-1", "hold-2", "hold-3")
    crowd = order(*((player, 3) for player in players), record=True)
    async with browser(tmp_path, "game.page.ts") as (checker, module):
        answer = await checker.playtest(module, of(module, crowd), 90.0)
        fresh = await checker.playtest(module, of(module, crowd.model_copy(update={"fresh_every": 1})), 90.0)
    assert answer.problem is None
    assert len(answer.episodes) == 3 * len(players)
    assert rows(answer) == rows(fresh)
    assert texts(answer, 0) == [[]] * 3
    door = "TypeError: Cannot set properties of undefined (setting 'door') (game.js:15:36)"
    assert texts(answer, players.index("hold-1")) == [[door]] * 3
    assert texts(answer, players.index("hold-2")) == [['odd state {"tick":11}']] * 3
    missing = "the page asks for /level2.json, which is not there"
    assert texts(answer, players.index("hold-3")) == [[missing]] * 3
    entered = next(episode for episode in answer.episodes if players[episode.play] == "hold-1")
    assert entered.alarms[0].stack is not None
    assert entered.alarms[0].stack.splitlines() == [
        "    at enter (game.js:15:36)",
        "    at frame (game.js:10:45)",
    ]
    # The page goes on after it.
    assert entered.end_reason == "terminated"
    folder = keep(tmp_path / "episodes", [episode for episode in answer.episodes if episode.index == 1])
    assert replayed(folder, tmp_path / "game.page.ts", tmp_path / "runs") == [True] * len(players)
