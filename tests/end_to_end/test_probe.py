"""`attract probe` and `attract train PAGE`: pages that nobody wrote an adapter for."""

import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from attract.commands.probe import SIZE, found_in_time
from attract.games.page_places import page_place
from attract.playtest.unadapted import MAX_SECONDS, unprobed
from attract.settings.run import ServerSettings
from attract_command import run_attract

STATE = """
const game = { player: { x: 200 }, stone: { x: 100, y: 0 }, score: 0, mode: "title" };
const held = {};
addEventListener("keydown", (event) => {
  held[event.code] = true;
  if (event.code === "Enter" && game.mode !== "playing") begin();
});
addEventListener("keyup", (event) => { held[event.code] = false; });
function begin() {
  Object.assign(game.stone, { x: 400 * Math.random(), y: 0 });
  Object.assign(game, { player: { x: 200 }, score: 0, mode: "playing" });
}
function update() {
  if (game.mode !== "playing") return;
  const step = (held.ArrowRight ? 6 : 0) - (held.ArrowLeft ? 6 : 0);
  game.player.x = Math.max(0, Math.min(400, game.player.x + step));
  game.stone.y += 8;
  if (game.stone.y < 300) return;
  if (Math.abs(game.stone.x - game.player.x) < 60) {
    game.score += 1;
    Object.assign(game.stone, { x: 400 * Math.random(), y: 0 });
  } else game.mode = "gameover";
}
"""
LOOP = "(function frame() { update(); requestAnimationFrame(frame); })();"
PAGES = {
    # Everything is a variable of the script; there is no canvas.
    "variables": f"<title>Stones</title><script>{STATE}{LOOP}</script>",
    # A module's state is nobody's: the page says it as text, and moves only when it is told to.
    "contract": f"""<title>Stones</title><script type="module">{STATE}
      window.render_game_to_text = () => JSON.stringify(game);
      window.advanceTime = (ms) => {{ for (let i = 0; i < Math.round(ms / (1000 / 60)); i++) update(); }};
    </script>""",
    # It says it as text, and moves by itself too: what is told then is not needed.
    "text": f"""<title>Stones</title><script type="module">{STATE}{LOOP}
      window.render_game_to_text = () => JSON.stringify(game);
      window.advanceTime = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    </script>""",
    # A module's state is nobody's, and the page says nothing: it is seen by what is drawn.
    "drawn": f"""<title>Stones</title><canvas width="400" height="300"></canvas><script type="module">{STATE}
      const context = document.querySelector("canvas").getContext("2d");
      function draw() {{
        context.clearRect(0, 0, 400, 300);
        if (game.mode === "title") return context.fillText("Press Enter to start", 150, 150);
        context.fillStyle = "teal";
        context.fillRect(game.player.x - 60, 290, 120, 10);
        context.fillStyle = "maroon";
        context.beginPath();
        context.arc(game.stone.x, game.stone.y, 6, 0, 2 * Math.PI);
        context.fill();
        context.fillText("Stones: " + game.score, 10, 10);
        if (game.mode === "gameover") context.fillText("Game over", 150, 150);
      }}
      (function frame() {{ update(); draw(); requestAnimationFrame(frame); }})();
    </script>""",
    "environment": """<title>Stones</title><script>
      window.env = {
        actionSpace: { n: 3 }, x: 0, ticks: 0,
        reset() { this.x = 5 * Math.random(); this.ticks = 0; return { observation: [this.x, 0] }; },
        step(action) {
          this.x += action - 1;
          this.ticks += 1;
          const done = this.ticks >= 50;
          return { observation: [this.x, this.ticks / 50], reward: -Math.abs(this.x) / 10, done };
        },
      };
    </script>""",
}
FOUND = {
    "variables": ("w.lookInside().game?.score", 'w.lookInside().game?.mode === "gameover"'),
    "contract": ("state(w)?.score", 'state(w)?.mode === "gameover"'),
    "text": ("state(w)?.score", 'state(w)?.mode === "gameover"'),
    "drawn": ('drawn(w).number("Stones: #")', 'Boolean(drawn(w).says("Game over"))'),
    "environment": ("w.env.step(action).reward", "w.env.step(action).done"),
}

MAZE = """<!doctype html><title>Document</title><h1>Maze</h1>
<p>Moves left: <b id="left">40</b></p><div id="board"></div>
<form id="again" hidden><button>Play again</button></form>
<style>
  #board { display: grid; grid-template-columns: repeat(6, 20px) }
  #board i { width: 20px; height: 20px }
</style>
<script type="module">
  const board = document.getElementById("board"), left = document.getElementById("left");
  let place = 0;
  const cells = Array.from({ length: 36 }, (_, i) => {
    const cell = document.createElement("i");
    board.append(cell);
    if (i > 1 && i !== 6 && i < 35 && Math.random() < 0.2) cell.className = "wall";
    return cell;
  });
  cells[35].className = "goal";
  cells[0].classList.add("me");
  addEventListener("keydown", ({ code }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -6, ArrowDown: 6 }[code];
    const to = place + step;
    const isOut = (step === 1 && to % 6 === 0) || (step === -1 && place % 6 === 0) || !cells[to];
    if (!step || isOut || cells[to].classList.contains("wall")) return;
    cells[place].classList.remove("me");
    cells[(place = to)].classList.add("me");
    left.textContent -= 1;
    const word = place === 35 ? "You win!" : left.textContent === "0" ? "Game over" : null;
    if (word === null) return;
    alert(word);
    document.getElementById("again").submit();
  });
</script>"""

ROOT = Path(__file__).parents[2]
PHASER = ROOT / "node_modules" / "phaser" / "dist" / "phaser.min.js"
SCENES = """<title>Stones</title><div id="app"></div><script src="phaser.min.js"></script>
<script type="module">
  class Menu extends Phaser.Scene {
    constructor() { super("Menu"); }
    create() {
      this.add.text(240, 80, "STONES").setOrigin(0.5);
      const start = this.add.text(240, 220, "Start game").setOrigin(0.5).setInteractive();
      start.on("pointerdown", () => this.scene.start("Play"));
    }
  }
  class Play extends Phaser.Scene {
    constructor() { super("Play"); }
    create() {
      this.score = 0;
      this.lives = 3;
      this.player = this.add.rectangle(240, 290, 80, 16, 0xffffff);
      this.stone = this.add.circle(100, 0, 10, 0xff0000);
      this.label = this.add.text(10, 10, "Score: 0");
      this.cursors = this.input.keyboard.createCursorKeys();
      this.input.keyboard.on("keydown-P", () => { this.isPaused = !this.isPaused; });
    }
    update() {
      if (this.isPaused) return;
      const { left, right } = this.cursors;
      const to = this.player.x + 8 * (Number(right.isDown) - Number(left.isDown));
      this.player.x = Phaser.Math.Clamp(to, 40, 440);
      this.stone.y += 6;
      if (this.stone.y < 285) return;
      if (Math.abs(this.stone.x - this.player.x) < 50) this.label.setText(`Score: ${++this.score}`);
      else this.lives -= 1;
      this.stone.setPosition(40 + 400 * Math.random(), 0);
      if (this.lives === 0) this.scene.start("Over", { score: this.score });
    }
  }
  class Over extends Phaser.Scene {
    constructor() { super("Over"); }
    create({ score }) {
      this.add.text(240, 80, `Score: ${score}`).setOrigin(0.5);
      const again = this.add.text(240, 220, "Play again").setOrigin(0.5).setInteractive();
      again.on("pointerdown", () => this.scene.start("Play"));
    }
  }
  new Phaser.Game({ type: Phaser.AUTO, width: 480, height: 320, parent: "app", scene: [Menu, Play, Over] });
</script>"""

LONG = ("contract", "drawn", "text", "variables")
"""What they go by is found in the unit tests of the probe as well; a minute and more each."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] if kind in LONG else []) for kind in PAGES]
)
def test_what_a_page_says_or_keeps_is_found_and_the_adapter_trains(kind: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGES[kind])
    probed = run_attract("probe", ".", "--json", runs_dir=tmp_path / "runs", folder=tmp_path)
    assert probed.code == 0, probed.stderr
    found = probed.json
    assert (found["score"], found["end"]) == FOUND[kind]
    assert found["unfinished"] == []
    text = (tmp_path / "game.page.ts").read_text()
    # Only where nothing moves by itself.
    assert ("advanceTime" in text) == (kind == "contract")
    if kind != "environment":
        assert {"left", "right"} <= set(found["moves"])
    words = ("train", ".", "--headless", "--total-steps", "2000", "--json")
    trained = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path)
    assert trained.code == 0, trained.stderr
    assert "is played with the adapter game.page.ts" in trained.stderr
    if kind == "drawn":
        assert found["starter"]["code"] == "Enter"
        assert [look.split("#")[0] for look in found["seen"]] == [
            'drawn(w).things("rect ',
            'drawn(w).things("shape ',
        ]


@pytest.mark.usefixtures("one_browser")
async def test_a_probe_that_has_no_time_left_looks_no_further(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGES["variables"])
    place = page_place(str(tmp_path), tmp_path / "runs")
    found = await found_in_time(place, ServerSettings(), SIZE, 0.01, 60.0)
    assert found is not None
    assert found["moves"] == []
    assert {"controls", "a restart"} <= set(found["cut"])
    assert found["restart"] is None
    assert "page: " in found["adapter"] and "keys" in found["unfinished"]
    # As that of a page of which nothing is found in time.
    for adapter in (found["adapter"], unprobed(place.page, SIZE)["adapter"]):
        assert f"  maxSeconds: {MAX_SECONDS},\n" in adapter


@pytest.mark.usefixtures("one_browser")
async def test_a_probe_that_hangs_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<script>for (;;);</script>")
    place = page_place(str(tmp_path), tmp_path / "runs")
    assert await found_in_time(place, ServerSettings(), SIZE, 1.0, 4.0) is None


# Boards, alerts and pages that reload are probed in tests/web/page-probe/ as well.
@pytest.mark.long
def test_a_page_that_moves_only_when_it_is_played_and_calls_its_window_by_no_name(tmp_path: Path) -> None:
    """As tutorials have it: a board of elements, an alert, and a form that loads the page anew."""
    (tmp_path / "index.html").write_text(MAZE)
    probed = run_attract("probe", ".", "--json", runs_dir=tmp_path / "runs", folder=tmp_path)
    assert probed.code == 0, probed.stderr
    found = probed.json
    # Its title is what editors call every page.
    assert found["title"] == "Maze"
    # Two of them lead into walls at first.
    assert sorted(found["moves"]) == ["down", "left", "right", "up"]
    assert found["taps"]
    assert 'marked(w, "#board > *", ".me")' in found["seen"]
    assert (found["score"], found["end"]) == ('says(w, ["You win!"])', 'says(w, ["Game over","You win!"])')


def write_with_engine(folder: Path) -> None:
    """Its engine is a script of its own, and no global leads to what it makes."""
    (folder / "index.html").write_text(SCENES)
    shutil.copy(PHASER, folder)


def write_bundle(folder: Path) -> None:
    """As Vite writes it: the engine's ES modules within, and no global of it either."""
    head, _, rest = SCENES.partition('<script src="phaser.min.js"></script>')
    script = rest.partition('<script type="module">')[2].removesuffix("</script>")
    (folder / "game.js").write_text(f'import * as Phaser from "phaser";\n{script}')
    (folder / "index.html").write_text(f'{head}<script type="module" src="bundle.js"></script>')
    bundler = ROOT / "node_modules" / ".bin" / "esbuild"
    subprocess.run(
        [
            bundler,
            "game.js",
            "--bundle",
            "--minify",
            "--format=esm",
            "--outfile=bundle.js",
            "--log-level=error",
        ],
        cwd=folder,
        env={**os.environ, "NODE_PATH": str(ROOT / "node_modules")},
        check=True,
    )
    (folder / "game.js").unlink()


@pytest.mark.long
@pytest.mark.alone  # Beside other tests it has taken more than the five minutes of a test.
@pytest.mark.parametrize("write", [write_with_engine, write_bundle])
def test_scenes_of_phaser_in_a_module_are_found_and_begun_by_a_button_that_is_drawn(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    write(tmp_path)
    probed = run_attract("probe", ".", "--json", runs_dir=tmp_path / "runs", folder=tmp_path)
    assert probed.code == 0, probed.stderr
    found = probed.json
    # P pauses it, and is no move.
    assert sorted(found["moves"]) == ["left", "right"]
    scene = 'phaserGame(w)?.scene.getScene("Play")?.'
    assert found["score"] == f"{scene}score"
    assert {f"{scene}player?.x", f"{scene}stone?.y"} <= set(found["seen"])
    assert found["restart"] is not None
    words = ("train", ".", "--headless", "--total-steps", "60000", "--no-check", "--json")
    trained = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path)
    assert trained.code == 0, trained.stderr
    # Random play catches about one.
    assert trained.json["episode_return_mean"] > 5


@pytest.mark.long
def test_a_build_is_trained_by_its_folder_alone(tmp_path: Path) -> None:
    """As bundlers write it: files named from the root of a host."""
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text(
        '<title>Stones</title><script type="module" src="/assets/main.js"></script>'
    )
    (dist / "assets" / "main.js").write_text(f"{STATE}{LOOP}\nwindow.game = game; window.newGame = begin;")
    words = ("train", "./dist", "--headless", "--total-steps", "150000", "--no-check", "--json")
    trained = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path)
    assert trained.code == 0, trained.stderr
    adapter = (tmp_path / "game.page.ts").read_text()
    assert 'page: "dist/index.html"' in adapter
    assert "restart: (w) => w.newGame()" in adapter
    # Random play catches less than one.
    assert trained.json["episode_return_mean"] > 2


# `make test` has a whole probe below, and what each sample lacks in tests/web/page-probe.
@pytest.mark.long
def test_a_page_without_a_game_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>News</title><p>Nothing to play here.</p>")
    trained = run_attract("train", ".", "--headless", runs_dir=tmp_path / "runs", folder=tmp_path)
    assert trained.code == 2
    said = " ".join(trained.stderr.split())
    assert "what it may press, what an agent sees, the score" in said
    # Named by its file it is not trained either.
    for command, code in (("check", 1), ("train", 2)):
        named = run_attract(command, "game.page.ts", runs_dir=tmp_path / "runs", folder=tmp_path)
        assert named.code == code
        assert "unfinished: this adapter lacks keys, observe, score" in named.stdout + named.stderr


@pytest.mark.long
def test_a_server_of_this_machine_is_trained_by_its_address(tmp_path: Path) -> None:
    """As a bundler's development server: files by path, and nothing of them in the adapter's folder."""
    site, project = tmp_path / "site", tmp_path / "project"
    for folder in (site, project):
        folder.mkdir()
    (site / "index.html").write_text(
        '<title>Stones</title><script type="module" src="/main.js?t=1"></script>'
    )
    (site / "main.js").write_text(f"{STATE}{LOOP}\nwindow.game = game;")
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://localhost:{server.server_address[1]}/"
        words = ("train", address, "--headless", "--total-steps", "2000", "--json")
        trained = run_attract(*words, runs_dir=tmp_path / "runs", folder=project)
        server.shutdown()
    assert trained.code == 0, trained.stderr
    assert f'page: "{address}"' in (project / "game.page.ts").read_text()
    assert trained.json["agent_steps"] >= 2000
