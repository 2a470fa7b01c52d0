"""The mistakes of beginners, each checked in a real browser: what is said, with the line it is about."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.check import check_lines
from attract.errors import GameError
from attract.run.service import RunService
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from attract_command import run_attract
from zygote import start_learner

GAME = """\
import { box, defineGame, discrete } from "attract";
let shared = 0;
class Catch {
  start({ random }) {
    this.random = random;
    this.ball = { x: random.int(7), y: 0 };
    this.basket = 3;
    return this.observe();
  }
  update(deltaTime, action) {
    this.basket = Math.min(6, Math.max(0, this.basket + action - 1));
    this.ball.y += 1;
    const landed = this.ball.y === 9;
    const caught = landed && this.ball.x === this.basket;
    return { observation: this.observe(), reward: landed ? (caught ? 1 : -1) : 0, terminated: landed };
  }
  observe() {
    return [this.ball.x / 6, this.ball.y / 9, this.basket / 6];
  }
  draw(context, width, height) {
    context.fillRect((this.ball.x * width) / 7, (this.ball.y * height) / 10, width / 7, height / 10);
  }
}
export default defineGame({
  id: "Catch-v1",
  tickSeconds: 0.1,
  secondsPerStep: 0.1,
  observation: box({ low: 0, high: 1, shape: [3] }),
  action: discrete(["left", "stay", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  create: () => new Catch(),
});
"""
MOVE = "    this.basket = Math.min(6, Math.max(0, this.basket + action - 1));\n"
RETURN = "    return { observation: this.observe(), reward:"
LABELS = (
    '    if (action === "left") this.basket = Math.max(0, this.basket - 1);\n'
    '    if (action === "right") this.basket = Math.min(6, this.basket + 1);\n'
)
NO_PAGE = "games run in a web worker, without a page: there is no"

MISTAKES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "update is missing": (
        "  update(deltaTime, action)",
        "  tick(deltaTime, action)",
        ("create() must return an object with start() and update(); update is missing in Catch [contract]",),
    ),
    "an observation that is too short": (
        "    return [this.ball.x / 6, this.ball.y / 9, this.basket / 6];",
        "    return [this.ball.x / 6, this.ball.y / 9];",
        (
            "g.ts:4:3: error: start() returned observation with 2 numbers, expected 3 numbers (shape [3])",
            "    at Catch.start (",
        ),
    ),
    "a reward that is NaN": (
        "landed ? (caught ? 1 : -1) : 0",
        "landed ? this.points / 2 : 0",
        (
            "g.ts:15:43: error: update() returned reward = NaN, expected a finite number",
            "; action ",
            ", observation [",
            "    at Catch.update (",
        ),
    ),
    "an observation that is NaN": (
        "this.basket / 6]",
        "this.baskt / 6]",
        ("g.ts:4:3: error: start() returned observation[2] = NaN, expected a finite number [contract]",),
    ),
    "start returns nothing": (
        "    this.basket = 3;\n    return this.observe();",
        "    this.basket = 3;",
        ("start() left observation[0] = NaN, expected a finite number; return an observation or fill all",),
    ),
    "an observation outside its box": (
        "this.basket / 6]",
        "this.basket * 3]",
        (
            "g.ts:4:3: error: observation[2] was 9 at the start of episode 0, outside its box of 0 to 1",
            "widen the box's low and high",
        ),
    ),
    "a game that never ends": (
        ", terminated: landed",
        "",
        ("error: no episode ended within 10000 steps of random play, and there is no time limit [endless]",),
    ),
    "Math.random": (
        "random.int(7)",
        "Math.floor(Math.random() * 7)",
        ("g.ts:6:38: error: the game calls Math.random() (", "remove Math.random, the probable cause"),
    ),
    "Date.now": (
        MOVE,
        f"{MOVE}    this.now = Date.now();\n",
        ("g.ts:12:21: error: the game calls Date.now() (", "add up deltaTime"),
    ),
    "performance.now at the top of the module": (
        "let shared = 0;",
        "let shared = performance.now() * 0;",
        ("g.ts:2:26: error: the game calls performance.now() (once in all) [clock]",),
    ),
    "state in a module variable": (
        "this.basket = 3;",
        "this.basket = shared++ % 7;",
        (
            "error: the same seed and actions played differently in a new game: at the start of episode 0",
            "keep all state in the game object",
        ),
    ),
    "state that survives start": (
        "    this.basket = 3;",
        "    this.basket ??= 3;",
        (
            "error: a game that has played before plays differently from a new one: ",
            "reset every field in start()",
        ),
    ),
    "fetch": (
        MOVE,
        f'{MOVE}    fetch("level.json").catch(() => 0);\n',
        ("g.ts:12:5: error: the game calls fetch() (", "import data into the module instead"),
    ),
    "setTimeout": (
        MOVE,
        f"{MOVE}    setTimeout(() => 0, 10);\n",
        ("g.ts:12:5: error: the game calls setTimeout() (", "count ticks in update()"),
    ),
    "requestAnimationFrame": (
        MOVE,
        f"{MOVE}    requestAnimationFrame(() => 0);\n",
        ("g.ts:12:5: error: the game calls requestAnimationFrame() (",),
    ),
    "a typo in the label of a key": (
        'ArrowLeft: "left"',
        'ArrowLeft: "lefft"',
        (
            'keys.ArrowLeft: "lefft" is no action; legal: "left", "stay", "right" [load]',
            "g.ts:24:16: error",
        ),
    ),
    "an unknown option": (
        "  tickSeconds: 0.1,",
        "  tickSeconds: 0.1, maxSteps: 100,",
        ("maxSteps: unknown option; did you mean maxSeconds? known: id, tickSeconds",),
    ),
    "secondsPerStep that is no whole number of ticks": (
        "secondsPerStep: 0.1",
        "secondsPerStep: 0.25",
        ("secondsPerStep: 0.25 is 2.5 ticks of 0.1", "The nearest that work: secondsPerStep 0.2 (2 ticks)"),
    ),
    "window in start": (
        "    this.basket = 3;",
        "    this.basket = window.innerWidth;",
        (
            "g.ts:7:19: error: start() threw: ReferenceError: window is not defined; "
            + NO_PAGE
            + " window. Use",
            "    at Catch.start (",
        ),
    ),
    "document at the top of the module": (
        "let shared = 0;",
        'const canvas = document.createElement("canvas");',
        ("g.ts:2:16: error: document is not defined; " + NO_PAGE + " document. Paint in draw(",),
    ),
    "localStorage": (
        "    this.basket = 3;",
        '    this.basket = Number(localStorage.getItem("x") ?? 3);',
        ("ReferenceError: localStorage is not defined; " + NO_PAGE + " localStorage. Keep state",),
    ),
    "an async update": (
        "  update(deltaTime, action)",
        "  async update(deltaTime, action)",
        ("update() returned a promise; ", "remove async", "at Catch.update ("),
    ),
    "update returns nothing": (
        RETURN,
        RETURN.replace("return ", "const result = "),
        ("g.ts:10:3: error: update() returned undefined, expected an object such as { reward: 1, term",),
    ),
    "a reward that is a text": (
        "(caught ? 1 : -1) : 0",
        '(caught ? 1 : -1) : "0"',
        ('g.ts:15:43: error: update() returned reward = "0", expected a number (tick 1 of episode 0);',),
    ),
    "an exception in update": (
        "this.ball.x === this.basket;",
        "this.ball.x === this.baskets.x;",
        (
            "g.ts:14:",
            "error: update() threw: TypeError: Cannot read properties of undefined (reading 'x') (tick 9 of",
            "    at Catch.update (",
        ),
    ),
    "create without new": (
        "create: () => new Catch()",
        "create: Catch",
        ("cannot be invoked without 'new'; write create: () => new Catch() [contract]",),
    ),
    "a class as the default export": (
        "export default defineGame({",
        "export default Catch;\nexport const game = defineGame({",
        (
            "g.ts: default export: must be defineGame({...}), got the class Catch; "
            "write export default defineGame({ ..., create: () => new Catch() }) [load]",
        ),
    ),
    "no default export": (
        "export default defineGame({",
        "export const game = defineGame({",
        ("g.ts: default export: must be defineGame({...}), got undefined; write export default defineGame",),
    ),
    "a mask of zeros": (
        "this.ball.y += 1;",
        "this.ball.y += 1;\n    arguments[2].actionMask.fill(0);",
        ("update() allows no action at all, expected at least one 1 in actionMask",),
    ),
    "labels used as actions": (
        MOVE,
        LABELS,
        (
            "g.ts:11:9: error: no action changes anything: ",
            '; the game compares with the label "left", "right" [ignored-actions]',
            'an action is the number of its label: write action === 0 for "left"',
        ),
    ),
    "labels used as actions, and Math.random": (
        MOVE,
        LABELS + "    this.luck = Math.random();\n",
        (
            'the game compares with the label "left", "right" [ignored-actions]',
            "g.ts:13:22: error: the game calls",
        ),
    ),
    "one action that nothing handles": (
        "this.basket + action - 1",
        "this.basket + (action === 0 ? -1 : 0)",
        ('warning: action 1 "stay" and action 2 "right" had the same effect at all ',),
    ),
    "an entry that is never set": (
        "this.basket / 6]",
        "0]",
        ("warning: never changed in 10000 steps of random play, 1111 episodes: observation[2] (0)",),
    ),
    "a package that is not there": (
        "let shared = 0;",
        'import lodash from "lodash-of-nowhere";\nlet shared = lodash;',
        (
            'Could not resolve "lodash-of-nowhere"',
            "g.ts:2:",
            "Install it beside the game: npm install lodash-of-nowhere",
        ),
    ),
    "a picture that is imported": (
        "let shared = 0;",
        'import ball from "./ball.png";\nlet shared = ball;',
        ('No loader is configured for ".png" files',),
    ),
    "a syntax error": ("    this.basket = 3;", "    this.basket = ;", ("g.ts:7:18:", 'Unexpected ";"')),
    "a slow constructor": (
        "class Catch {",
        "class Catch {\n  table = slow();",
        ("warning: create() and the first start() take ", "a worker of 64 copies needs "),
    ),
    "a slow update": (
        MOVE,
        f"{MOVE}    slow(3);\n",
        ("warning: a step takes ", " steps a second, 100,000 steps take "),
    ),
    "draw throws": (
        "    context.fillRect(",
        "    context.drawImage(this.picture.image, 0, 0);\n    context.fillRect(",
        ("g.ts:21:36: error: draw() threw: TypeError: Cannot read properties of undefined (reading",),
    ),
    "draw draws nothing": (
        "    context.fillRect(",
        "    void (",
        ("g.ts:20:3: error: draw() drew nothing: neither fill, stroke, text nor image",),
    ),
}
SLOW = """
function slow(milliseconds = 60) {
  let sum = 0;
  // About a million roots a millisecond at most: never faster than asked for on any machine.
  for (let i = 0; i < milliseconds * 1_000_000; i++) sum += Math.sqrt(i);
  return sum;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("games")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(folder: Path) -> AsyncIterator[RunService]:
    """Checks games of `folder` in one headless browser."""
    settings = ServerSettings(port=0, project_dir=folder, runs_dir=folder / "runs")
    async with running_gateway(settings, port_is_fixed=False, start_learner=start_learner) as gateway:
        url = join_url(gateway.url, gateway.guard.issue("worker"), 1)
        host = await HostProcess.start(url, lambda event: None)
        try:
            yield gateway.service
        finally:
            await host.stop()


async def said(service: RunService, path: Path) -> list[str]:
    """The lines of a check of the game that stands there now."""
    try:
        view = await service.check_game(str(path), budget_seconds=2.0, wait_seconds=60.0)
    except GameError as error:
        return str(error).splitlines()
    assert view.seconds < 10.0
    return check_lines(view)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.timeout(300)
async def test_every_mistake_is_told_with_its_line_and_what_to_do(folder: Path, service: RunService) -> None:
    wrong: list[str] = []
    game = folder / "g.ts"
    (folder / "ball.png").touch()
    game.write_text(GAME)
    assert (await said(service, game))[2:-1] == [""], "the game itself is sound"
    for name, (old, new, expected) in MISTAKES.items():
        assert GAME.count(old) >= 1, name
        source = GAME.replace(old, new, 1) + (SLOW if "slow" in new else "")
        if "actionMask" in new:
            source = source.replace("  action: ", "  actionMask: true,\n  action: ")
        game.write_text(source)
        text = "\n".join(await said(service, game))
        missing = [sentence for sentence in expected if sentence not in text]
        if missing:
            wrong.append(f"--- {name}: missing {missing} in\n{text}")
        if "/assets/" in text or "rollout-" in text or "check-worker" in text or "as external" in text:
            wrong.append(f"--- {name}: tells of our own code\n{text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_package_s_call_is_told_where_the_author_calls_the_package(
    folder: Path, service: RunService
) -> None:
    package = folder / "node_modules" / "dice"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "dice", "type": "module", "main": "index.js"}')
    (package / "index.js").write_text("export const roll = (n) => Math.floor(Math.random() * n);\n")
    source = GAME.replace("let shared = 0;", 'import { roll } from "dice";').replace(
        "random.int(7)", "roll(7)"
    )
    (folder / "g.ts").write_text(source)
    view = await service.check_game(str(folder / "g.ts"), budget_seconds=2.0, wait_seconds=60.0)
    found = {finding.id: finding for finding in view.findings}
    assert (found["random"].line, (found["random"].file or "").split("/")[-1]) == (6, "g.ts")
    assert "node_modules/dice/index.js:1:" in (found["random"].stack or "")


@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_is_found_in_the_bundled_games(service: RunService) -> None:
    for name in ("cartpole", "snake", "lander", "pendulum", "harvest", "memory", "foragers"):
        view = await service.check_game(name, budget_seconds=10.0, wait_seconds=60.0)
        assert view.findings == [], name
        assert view.play is not None
        assert view.play.episodes > 10, name
    # Whose rewards random play never finds: what it is bundled for.
    view = await service.check_game("keydoor", budget_seconds=10.0, wait_seconds=60.0)
    assert [finding.id for finding in view.findings] in (["constant-reward"], [])


def test_the_command_prints_json_and_fails_on_errors(tmp_path: Path) -> None:
    game = tmp_path / "g.ts"
    game.write_text(GAME.replace("random.int(7)", "Math.floor(Math.random() * 7)"))
    outcome = run_attract("check", str(game), "--json", runs_dir=tmp_path / "runs")
    assert outcome.code == 1, outcome.stderr
    found = {finding["id"]: finding for finding in outcome.json["findings"]}
    assert set(found) == {"not-reproducible", "random"}
    assert (found["random"]["line"], found["random"]["column"]) == (6, 38)
    assert outcome.json["ok"] is False
    assert "2 errors, 0 warnings" in outcome.stderr
    assert not (tmp_path / "runs").exists(), "a check leaves nothing behind"
    assert run_attract("check", "nowhere.ts", runs_dir=tmp_path / "runs").code == 2


def test_the_episode_of_a_finding_is_saved_and_fails_again(tmp_path: Path) -> None:
    game = tmp_path / "g.ts"
    game.write_text(
        GAME.replace(
            "    const landed", '    if (this.ball.x === 6) throw new Error("off");\n    const landed'
        )
    )
    saved = tmp_path / "saved"
    outcome = run_attract("check", str(game), "--save", str(saved), "--json", runs_dir=tmp_path / "runs")
    assert outcome.code == 1, outcome.stderr
    failed = outcome.json["findings"][0]["episode"]
    assert f"attract replay {failed} --game {game}" in outcome.stderr
    again = run_attract("replay", failed, "--game", str(game), "--json", runs_dir=tmp_path / "runs")
    assert (again.code, again.json["episodes"][0]["end_reason"]) == (0, "failed"), again.stderr


# `make test` plays the saved episode of a finding again above, and those of a page in test_crowd.py.
@pytest.mark.long
# The first is a page with its own restart.
@pytest.mark.parametrize(("name", "game_id"), [("hopper", "Hopper-v1"), ("foragers", "Foragers-v1")])
def test_a_saved_episode_plays_again(name: str, game_id: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    assert run_attract("check", name, "--save", str(saved), runs_dir=tmp_path / "runs").code == 0
    first = saved / f"{game_id}-check-first.episode.json"
    again = run_attract("replay", str(first), "--json", runs_dir=tmp_path / "runs")
    assert again.code == 0, again.stderr
    assert again.json["episodes"][0]["num_steps"] > 10


@pytest.mark.long
def test_training_tells_what_the_check_found_and_what_the_game_writes(tmp_path: Path) -> None:
    game = tmp_path / "g.ts"
    noisy = f'{MOVE}    console.log("basket", this.basket);\n    console.warn("odd \\x1b[31m");\n'
    game.write_text(GAME.replace(MOVE, noisy).replace("random.int(7)", "Math.floor(Math.random() * 7)"))
    outcome = run_attract(
        "train", str(game), "--headless", "--workers", "2", "--total-steps", "30000", "--json",
        runs_dir=tmp_path / "runs",
    )  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    said = outcome.stderr
    assert "check: the game calls Math.random() (" in said
    assert "    at Catch.start (" in said
    assert "g.ts:6:38" in said
    # The first copy of one worker, however many play: its basket moves by one at most from line to line.
    assert "game: basket 3" in said or "game: basket 2" in said or "game: basket 4" in said
    assert "game (warn): odd \\x1b[31m" in said
    assert "lines left out)" in said
    assert "\x1b[31m" not in said
    assert outcome.json["agent_steps"] >= 30_000
    chance = {finding["id"]: finding for finding in outcome.json["check"]}["random"]
    assert (chance["severity"], chance["line"]) == ("error", 6)
    # Also in a run that goes on: what is found decides whether guests can be told from forgers.
    resumed = run_attract(
        "train", "--resume", "--run-id", outcome.json["run_id"], "--headless", "--workers", "2",
        "--total-steps", "60000", "--json", runs_dir=tmp_path / "runs",
    )  # fmt: skip
    assert resumed.code == 0, resumed.stderr
    assert "random" in {finding["id"] for finding in resumed.json["check"]}


def test_a_game_that_cannot_be_played_ends_its_training_at_once_with_one_stack(tmp_path: Path) -> None:
    game = tmp_path / "g.ts"
    game.write_text(GAME.replace("landed ? (caught ? 1 : -1) : 0", "landed ? this.points / 2 : 0"))
    outcome = run_attract(
        "train", str(game), "--headless", "--workers", "1", "--total-steps", "10000000",
        runs_dir=tmp_path / "runs",
    )  # fmt: skip
    said = outcome.stdout + outcome.stderr
    assert outcome.code == 1, said
    assert said.count("at Catch.update (") == 1, said
    assert "g.ts:15:43" in said
    assert "error: the game cannot be played: update() returned reward = NaN" in said
