"""`attract look`: pages and adapters in a real browser, and pages that try to reach past it."""

import json
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import attract.commands.look as look_module
from attract.commands.json_output import MAX_ANSWER_BYTES
from attract.commands.look import LookOptions, look_at
from attract.errors import GameError
from attract.schema.look import LookGlobal, LookReport
from attract.settings.run import ServerSettings
from attract_command import run_attract
from waiting import slowness

PAGE = """<!doctype html><title>Ship</title><link rel="stylesheet" href="../../styles.css">
<button id="start" onclick="begin()">PLAY</button><canvas width="300" height="100"></canvas>
<img src="nope.png"><script src="gone.js"></script><script>
const game = { score: 0, mode: "title", ship: { x: 100 } }, held = {};
function begin() { game.mode = "play"; console.log("begun", { lives: 3 }); alert("Go!"); }
addEventListener("keydown", ({ code }) => { held[code] = true; });
addEventListener("keyup", ({ code }) => { held[code] = false; });
const context = document.querySelector("canvas").getContext("2d");
(function frame() {
  if (game.mode === "play") game.score += 1;
  if (game.mode === "play" && held.ArrowLeft) game.ship.x -= 2;
  if (game.mode === "play" && held.ArrowRight) game.ship.x += 2;
  if (game.score === 20) setTimeout(() => { throw new TypeError("broken"); });
  context.clearRect(0, 0, 300, 100);
  context.fillStyle = "#00ffff";
  context.fillRect(game.ship.x, 60, 30, 40);
  context.fillText("Score: " + game.score, 10, 20);
  requestAnimationFrame(frame);
})();
</script>"""
COUNTING = """<!doctype html><canvas width="300" height="100"></canvas><script>
let frame = 0;
const context = document.querySelector("canvas").getContext("2d");
new WebSocket("wss://scores.example/live");
try { throw new RangeError("caught"); } catch (error) { console.error("the engine failed", error); }
(function draw() {
  frame += 1;
  context.fillStyle = `rgb(${frame}, 0, 0)`;
  context.fillRect(0, 0, 300, 100);
  requestAnimationFrame(draw);
})();
</script>"""
"""A page whose picture is another one in each frame."""
ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Ship-v1", page: "index.html", size: [400, 300], observation: box({ shape: [1] }), actionMask: true,
  action: discrete(["wait", "left"]), keys: { wait: [], left: ["ArrowLeft"] },
  loaded(w) { w.look = w.eval("() => game"); },
  restart: (w) => w.begin(),
  allowed: (w) => [true, w.look().ship.x > 90],
  observe(w) {
    console.log("seen", w.look().ship.x);
    if (w.look().ship.x < 70) throw new Error("too far");
    return [w.look().ship.x / 100];
  },
  score: (w) => w.look().score,
  over: (w) => OVER,
});
"""
GAMES = {
    "meteors": ("left", r"ship\?\.x", "down"),
    "moles": ("hole 5", None, None),
    "hopper": ("hop", None, None),
    "stars": ("right", r"basket\?\.x", "up"),
    "lanes": ("left", r"cart\?\.position\?\.x", "down"),
    "juggler": ("left", r"paddle\?\.position\?\.x", "down"),
}
"""Bundled page games, each with an action, a global that it moves, and where to."""
SHORT = ("meteors", "moles")
"""A canvas, elements. Of engines `make test` has Phaser by the commands of look.md, and KAPLAY below."""
EACH_GAME = pytest.mark.parametrize(
    "game", [pytest.param(game, marks=[] if game in SHORT else [pytest.mark.long]) for game in GAMES]
)
ESCAPE = "\\u001b]0;owned\\u0007\\u001b[31m\\u009b2J\\u202e"
"""As a script's text has them."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def server(tmp_path: Path, one_browser: None) -> ServerSettings:
    return ServerSettings(runs_dir=tmp_path / "runs", project_dir=tmp_path)


def global_of(report: LookReport, path: str) -> LookGlobal:
    return next(entry for entry in report.globals if entry.path == path)


@pytest.mark.parametrize(
    ("html", "why"),
    [
        (
            '<h1>Game</h1><!-- the engine <script src="game.js"></script>',
            "is it closed where it should be? <!-- the engine",
        ),
        ('<script src="gone.js"></script>', "gone.js did not arrive"),
    ],
    ids=["comment", "missing"],
)
async def test_a_page_that_runs_no_script_says_so(
    html: str, why: str, tmp_path: Path, server: ServerSettings
) -> None:
    (tmp_path / "index.html").write_text(f"<!doctype html><title>Game</title>{html}")
    (tmp_path / "game.js").write_text("let score = 0;")
    (note,) = (await look_at(str(tmp_path), LookOptions(), server)).notes
    assert note.startswith("runs no script, so there is no game: ")
    assert why in note


async def test_loading_and_playing_a_page_take_nothing_of_the_time_to_compare(
    tmp_path: Path, server: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_module, "BUDGET_MS", 1)
    (tmp_path / "index.html").write_text(PAGE)
    report = await look_at(str(tmp_path), LookOptions(hold=["ArrowLeft@30-50"]), server)
    assert [entry.num_moved is not None for entry in report.inputs] == [True]


async def test_a_key_that_freezes_the_page_is_named_with_its_frame(
    tmp_path: Path, server: ServerSettings
) -> None:
    (tmp_path / "index.html").write_text(
        "<!doctype html><script>let sum = 0; onkeydown = () => { for (let i = 0; i < 5e8; i++) sum += i; };"
        "(function frame() { requestAnimationFrame(frame); })();</script>"
    )
    (note,) = (await look_at(str(tmp_path), LookOptions(press=["KeyA@20"]), server)).notes
    assert re.match(r"freezes: it takes \d+\.\d s for frame 20, in each of two plays, and \d", note)


async def test_a_sprite_beyond_its_sheet_is_named(tmp_path: Path, server: ServerSettings) -> None:
    (tmp_path / "index.html").write_text(
        "<!doctype html><canvas width=300 height=100></canvas><script>"
        "const sheet = Object.assign(document.createElement('canvas'), { width: 90, height: 30 });"
        "const context = document.querySelector('canvas').getContext('2d');"
        "onkeydown = () => context.drawImage(sheet, 90, 0, 30, 30, 5, 5, 30, 30);"
        "(function frame() { context.drawImage(sheet, 60, 0, 30, 30, 5, 5, 30, 30);"
        "requestAnimationFrame(frame); })();</script>"
    )
    report = await look_at(str(tmp_path), LookOptions(press=["KeyA@20"]), server)
    assert report.notes == [
        "draws nothing where drawImage() takes 30 x 30 pixels at 90,0 of canvas, which is 90 x 30"
    ]


async def test_a_page_is_seen_with_what_its_keys_move(tmp_path: Path, server: ServerSettings) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    options = LookOptions(
        hold=["ArrowLeft@30-50", "ArrowRight@60-65"],
        click=["#start@5", "#nowhere@6", "a >> b@6"],
        expression="[game.mode, w.innerWidth]",
        png=tmp_path / "page.png",
    )
    report = await look_at(str(tmp_path), options, server)
    ship = global_of(report, "game?.ship?.x")
    assert (ship.first, ship.value, ship.low, ship.high, ship.direction) == (100, 70, 60, 100, "both")
    assert ship.moved_by == {"ArrowLeft": "down", "ArrowRight": "up", "#start": "down"}
    assert list(ship.moved_by)[-1] == "#start"
    assert global_of(report, "game?.score").moved_by == {"#start": "up"}
    assert {entry.name: entry.problem for entry in report.inputs} == {
        "#start": None,
        "ArrowLeft": None,
        "ArrowRight": None,
        "#nowhere": "no element matches at that frame",
        "a >> b": "this is no CSS selector",
    }
    assert {"PLAY", f"Score: {global_of(report, 'game?.score').value:g}"} == {
        entry.text for entry in report.texts
    }
    (button,) = report.buttons
    (thing,) = report.things
    assert (button.selector, button.text, button.count) == ("#start", "PLAY", 1)
    assert thing.look == "rect #00ffff 30x40" and thing.x == pytest.approx((70 + 15) / 300, abs=1e-5)
    assert [(entry.by, entry.level, entry.text) for entry in report.console] == [
        ("page", "log", 'begun {"lives":3}')
    ]
    assert report.alerts == ["Go!"]
    assert report.errors == ["TypeError: broken (index.html:13:51)"]
    assert {entry.address for entry in report.missing} == {"/styles.css", "/nope.png", "/gone.js"}
    assert report.eval is not None and report.eval.value == ["play", 800]
    # A PNG's size stands in its header.
    assert struct.unpack(">II", (tmp_path / "page.png").read_bytes()[16:24]) == (800, 600)


async def test_a_picture_is_of_the_last_frame_however_slowly_it_is_drawn(
    tmp_path: Path, server: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.html").write_text(COUNTING)
    pictures: list[bytes] = []
    seen: list[object] = []
    for budget, drawn in [(60_000, 60), (0, 8)]:
        monkeypatch.setattr(look_module, "BUDGET_MS", budget)
        png = tmp_path / "page.png"
        options = LookOptions(hold=["Space@0-5"], frames=60, expression="frame", png=png)
        report = await look_at(str(tmp_path), options, server)
        pictures.append((tmp_path / "page.png").read_bytes())
        seen.append(report.eval)
        cut = [note for note in report.notes if "ms a frame to draw here" in note]
        assert [note.partition("last ")[2] for note in cut] == (
            ["8 of its 60 frames drew"] if drawn == 8 else []
        )
        # What a page sends to a server is noted, and what it caught and wrote is an error.
        assert "talks to a server, which is not there" in report.notes
        assert report.errors == ["RangeError: caught (index.html:5:13)"]
    assert pictures[0] == pictures[1] and seen[0] == seen[1]


# Fourteen seconds of drawing; the sheet of a finding is written in `make test`.
@pytest.mark.long
async def test_a_sheet_has_twelve_moments_however_slowly_they_are_drawn(
    tmp_path: Path, server: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A page may ask for pictures, too, and gets none.
    (tmp_path / "index.html").write_text(
        COUNTING.replace("frame += 1;", "frame += 1; parent.attractTake?.(frame);")
    )
    sheet, sheets = tmp_path / "sheet.png", list[bytes]()
    for budget, frames in [(60_000, 60), (0, 60), (60_000, 3)]:
        monkeypatch.setattr(look_module, "BUDGET_MS", budget)
        report = await look_at(str(tmp_path), LookOptions(frames=frames, sheet=sheet), server)
        assert (report.png, Path(report.sheet or "").name) == (None, "sheet.png")
        sheets.append(sheet.read_bytes())
        if budget == 0:
            assert any(note.endswith("the 2 frames before each moment drew") for note in report.notes)
    sizes = [struct.unpack(">II", each[16:24]) for each in sheets]
    assert sheets[0] == sheets[1] and [width for width, _ in sizes] == [1280] * 3
    # Three rows of four pictures of 800 x 600; frames 0 to 3 are one row.
    assert sizes[0][1] > 3 * 226 > 2 * sizes[2][1]


async def test_a_form_is_sent_to_its_page_and_goes_nowhere(tmp_path: Path, server: ServerSettings) -> None:
    (tmp_path / "index.html").write_text(
        """<form id="f" action="/elsewhere"><input id="t"><button id="go">Go</button></form><script>
        let sent = 0; f.onsubmit = (event) => { sent++; if (sent < 3) event.preventDefault(); };
        t.focus();</script>"""
    )
    options = LookOptions(
        click=["#go@5", "#t@10"],
        press=["KeyA@12", "Enter@15", "Enter@25"],
        frames=40,
        expression="[sent, t.value]",
    )
    report = await look_at(str(tmp_path), options, server)
    assert report.eval is not None and report.eval.value == [3, "a"]


async def test_a_page_for_fingers_is_touched(tmp_path: Path, server: ServerSettings) -> None:
    (tmp_path / "index.html").write_text(
        """<p>tap</p><script>
        const isCoarse = matchMedia("(pointer: coarse)").matches;
        const said = [navigator.maxTouchPoints, isCoarse, "ontouchstart" in window];
        const hear = (name) => addEventListener(name, ({ touches }) => said.push(name + touches.length));
        hear("touchstart"); hear("touchend");</script>"""
    )
    options = LookOptions(click=["100,50@5"], expression="said")
    finger = await look_at(str(tmp_path), replace(options, touch=True), server)
    assert finger.eval is not None and finger.eval.value == [5, True, True, "touchstart1", "touchend0"]
    mouse = await look_at(str(tmp_path), options, server)
    assert mouse.eval is not None and mouse.eval.value == [0, False, False]
    assert "listens to touch alone: --touch makes the pointer a finger" in mouse.notes


async def test_a_build_with_threads_shares_its_memory(tmp_path: Path, server: ServerSettings) -> None:
    (tmp_path / "worker.js").write_text("onmessage = ({ data }) => { new Int32Array(data)[0] = 7; };")
    (tmp_path / "index.html").write_text(
        """<canvas></canvas><script>const seen = [crossOriginIsolated];
        const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true });
        new Worker("worker.js").postMessage(memory.buffer); const cell = new Int32Array(memory.buffer);
        setInterval(() => { if (cell[0] && seen.length < 2) seen.push(cell[0]); }, 16);</script>"""
    )
    report = await look_at(str(tmp_path), LookOptions(frames=200, expression="seen"), server)
    assert report.eval is not None and report.eval.value[0] is True
    assert any("web worker, which reads real time" in note for note in report.notes)


async def test_a_page_is_laid_out_for_the_phone_that_it_is_on_and_when_that_is_turned(
    tmp_path: Path, server: ServerSettings
) -> None:
    (tmp_path / "index.html").write_text(
        """<style>h1 { width: 100px; height: 50px; background: red; margin: 0 }
        body { margin: 0 } @media (max-width: 500px) and (hover: none) { h1 { width: 200px } }</style>
        <h1></h1>
        <script>const said = []; addEventListener("resize", () => said.push(innerWidth));</script>"""
    )
    options = LookOptions(
        frames=10,
        png=tmp_path / "page.png",
        expression="[innerWidth, document.querySelector('h1').offsetWidth, devicePixelRatio, said]",
    )
    phone = server.model_copy(update={"page_device": "phone"})
    report = await look_at(str(tmp_path), options, phone)
    assert report.eval is not None and report.eval.value == [412, 200, 2.625, []]
    assert struct.unpack(">II", (tmp_path / "page.png").read_bytes()[16:24]) == (1082, 2202)
    turned = await look_at(str(tmp_path), replace(options, rotate=[5]), phone)
    assert turned.eval is not None and turned.eval.value == [839, 100, 2.625, [839]]
    assert turned.size == (839, 412)


async def test_an_adapter_says_what_it_sees_in_each_step(tmp_path: Path, server: ServerSettings) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    adapter = tmp_path / "ship.page.ts"
    adapter.write_text(ADAPTER.replace("OVER", "w.look().ship.x < 85"))
    left = LookOptions(action=["left@0-40"])
    report = await look_at(str(adapter), left, server)
    episode = report.episode
    assert episode is not None and episode.actions == ["wait", "left"]
    # A step is four frames of 2 pixels each.
    assert [entry.observation for entry in episode.steps[:3]] == [[1.0], [0.92], None]
    assert [entry.mask for entry in episode.steps] == [[True, True], [True, True], None]
    assert [entry.over for entry in episode.steps] == [False, False, True]
    assert episode.steps[1].score - episode.steps[0].score == 4
    assert report.ended == "the adapter says that it is over in step 2"
    assert ("adapter", "seen 92") in {(entry.by, entry.text) for entry in report.console}
    adapter.write_text(ADAPTER.replace("OVER", "false"))
    thrown = await look_at(str(adapter), left, server)
    assert thrown.ended == "it threw: too far" and "Error: too far" in thrown.errors
    assert thrown.episode is not None and len(thrown.episode.steps) == 4
    adapter.write_text("export default 1;")
    with pytest.raises(GameError, match="this module is no adapter") as caught:
        await look_at(str(adapter), LookOptions(), server)
    assert caught.value.exit_code == 2


@EACH_GAME
async def test_a_bundled_page_game_is_seen(game: str, server: ServerSettings) -> None:
    action, path, direction = GAMES[game]
    report = await look_at(game, LookOptions(action=[f"{action}@0-16"], frames=30), server)
    assert report.title.lower() == game
    assert report.errors == [] and report.missing == []
    assert report.inputs[0].problem is None
    assert report.episode is not None and len(report.episode.steps) > 2
    if path is not None:
        moved = [entry for entry in report.globals if re.search(f"{path}$", entry.path)]
        assert [entry.moved_by for entry in moved] == [{action: direction}]


async def test_texts_of_kaplay_are_seen_where_they_stand(server: ServerSettings) -> None:
    (text,) = (await look_at("hopper", LookOptions(frames=1), server)).texts
    # Two or more of its figures are as wide as they are high, from (12, 12).
    assert text.text == "0" and text.on == "canvas"
    assert 12 < text.x < 40 and 12 < text.y < 50


@pytest.mark.alone
# `make test` looks at the one with the most to draw.
@pytest.mark.parametrize(
    "game", ["juggler", *(pytest.param(game, marks=pytest.mark.long) for game in GAMES if game != "juggler")]
)
def test_a_look_takes_at_most_three_seconds(game: str, tmp_path: Path) -> None:
    words = ("look", game, "--action", f"{GAMES[game][0]}@0-16", "--hold", "ArrowRight@30-50", "--json")
    result = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path, is_forked=False)
    assert result.code == 0, result.stderr
    assert len(result.stdout.encode()) <= MAX_ANSWER_BYTES + 1
    limit = 3 * slowness()
    assert result.seconds < limit, f"{result.seconds:.2f} s, {result.json['seconds']} of them in the browser"


def test_no_escape_code_of_a_page_reaches_the_terminal(tmp_path: Path) -> None:
    script = f"""const told = "{ESCAPE}";
      document.title = told; console.log(told, {{ [told]: told }}); alert(told);
      const button = document.createElement("button");
      document.body.append(Object.assign(button, {{ id: told, textContent: told }}));
      window[told] = told; document.createElement("canvas").getContext("2d").fillText(told, 1, 1);
      setTimeout(() => {{ throw new Error(told); }}); fetch("/" + told + "\\n.json");"""
    (tmp_path / "index.html").write_text(f"<!doctype html><body><script>{script}</script>")
    for more in (("--json", "--eval", f'throwing("{ESCAPE}")'), ("--full", "--eval", f'"{ESCAPE}"')):
        result = run_attract("look", ".", *more, runs_dir=tmp_path / "runs", folder=tmp_path)
        assert result.code == 0, result.stderr
        assert "owned" in result.stdout
        assert CONTROL.search(result.stdout + result.stderr) is None


@pytest.mark.parametrize(
    ("mischief", "said", "seconds"),
    [
        ("window.number = 1; parent.Object.fromEntries = () => ({ a: 5 });", "cannot be read", 8),
        ("parent.Math.ceil = parent.Set = () => { throw parent.Error(ESCAPE); };", "not be looked at", 8),
        # `make test` has a page that hangs in test_probe.py, and one that does not answer below.
        pytest.param("for (;;);", "did not answer", 3, marks=pytest.mark.long),
        ("location.href = 'https://elsewhere.example/';", "went to another address", 8),
        ("parent.document.body.remove();", "did not (answer|load)", 3),
        ("parent.location.reload();", "went to another address", 8),
    ],
)
async def test_a_hostile_page_is_refused_by_name(
    mischief: str,
    said: str,
    seconds: float,
    tmp_path: Path,
    server: ServerSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(look_module, "LOOK_SECONDS", seconds)
    script = f"const ESCAPE = '{ESCAPE}'; {mischief}"
    (tmp_path / "index.html").write_text(f"<!doctype html><body><script>{script}</script>")
    with pytest.raises(GameError, match=said) as caught:
        await look_at(str(tmp_path), LookOptions(), server)
    assert caught.value.exit_code == 2
    assert CONTROL.search(str(caught.value)) is None


@pytest.mark.parametrize(
    "mischief",
    [
        "document.body.remove();",
        *(
            pytest.param(code, marks=pytest.mark.long)
            for code in ("window.eval = 1;", "document.write('');", "close();")
        ),
        "document.querySelector = 1; window.Phaser = { VERSION: '9'.repeat(500) };",
    ],
)
async def test_a_page_without_its_usual_parts_is_looked_at_all_the_same(
    mischief: str, tmp_path: Path, server: ServerSettings
) -> None:
    (tmp_path / "index.html").write_text(f"<!doctype html><body><script>{mischief}</script>")
    report = await look_at(str(tmp_path), LookOptions(), server)
    assert report.frames == 60


async def test_a_page_of_thousands_of_everything_is_bounded(tmp_path: Path) -> None:
    script = """for (let i = 0; i < 3000; i++) {
      if (i < 1000) window["number" + i] = { x: i, words: "w".repeat(10000) };
      console.log("line " + i + "x".repeat(1000)); if (i < 100) alert("y".repeat(100000));
      document.body.append(Object.assign(document.createElement("button"), { textContent: "b" + i }));
    }
    const ring = {}; ring.ring = ring; ring.deep = { deep: { deep: { deep: { deep: 1 } } } };
    ring.bad = { get x() { throw new Error("no"); } };
    Object.assign(ring, { big: new Float32Array(1e6), body: document.body });"""
    (tmp_path / "index.html").write_text(f"<!doctype html><body><script>{script}</script>")
    words = ("look", str(tmp_path), "--eval", "ring", "--frames", "5")
    result = run_attract(*words, "--json", runs_dir=tmp_path / "runs", folder=tmp_path)
    assert result.code == 0, result.stderr
    assert len(result.stdout.encode()) <= MAX_ANSWER_BYTES + 1
    answer: dict[str, Any] = json.loads(result.stdout)
    assert {"globals", "buttons", "console"} <= answer["left_out"].keys()
    value = answer["eval"]["value"]
    assert value["ring"] == "[circular]" and value["body"] == "[body]" and len(value["big"]) == 100
    assert value["bad"] == "[threw no]"
