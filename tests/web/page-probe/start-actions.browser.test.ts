/** How a page says that it is loading, and what it might be begun by. */

import { expect, test } from "vitest";
import {
  BUTTONS,
  isLoading,
  pressesIn,
  pressesOf,
  type StartAction,
  shownButtons,
  startActionsAfter,
  startActionsOf,
} from "../../../web/page-probe/src/start-actions.ts";
import { drawn } from "../../../web/sdk/src/page/drawn.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { blankPage } from "../../support/blank-page.ts";

function opened(html: string): PageWindow {
  const page = blankPage();
  drawn(page);
  page.document.body.innerHTML = html;
  return page;
}

test("a page is loading while it says so; a share of something is no word of it", () => {
  expect(isLoading(opened("<p>Loading...</p>"))).toBe(true);
  expect(isLoading(opened("<p hidden>Loading</p><p>98%</p>"))).toBe(false);
});

test("words that are drawn and begin something are buttons, scores and prompts are none", () => {
  const page = opened('<canvas width="200" height="100"></canvas>');
  const context = page.document.querySelector("canvas").getContext("2d");
  for (const [i, text] of ["START GAME", "Score: 3", "Options", "Press N to start"].entries())
    context.fillText(text, 10, 20 * i + 15);
  const names = startActionsOf(page, { size: [300, 150] }).flatMap((one) =>
    one.kind === "spot" ? [one.name] : [],
  );
  expect([...new Set(names)]).toEqual(["START GAME"]);
});

test("where no button says that it begins something, levels do, but not what serves the page", () => {
  const buttons = (html: string): string[] => {
    const found = startActionsOf(opened(html), { size: [300, 150] });
    return [...new Set(found.flatMap((one) => (one.kind === "element" ? [one.text] : [])))];
  };
  const levels =
    '<button id="e" class="menu">Easy</button><input type="button" value="Hard"><button>Mute</button>';
  expect(buttons(levels)).toEqual(["Easy", "Hard"]);
  expect(buttons(`${levels}<div><button>Play</button></div>`)).toEqual(["Play"]);
  expect(buttons(`<input type="button" value="Start"><a>New</a>`)).toEqual(["Start", "New"]);
});

test("what shows a number is no play button by its name, and crowds out none", () => {
  const shown = ["score", "lives", "level"].map((name) => `<b id="${name}Display">0</b>`).join("");
  const page = opened(`${shown}<i id="playerName">Ada</i><b id="startLink">Los!</b>
    <button class="btn btn-start" onclick="go()">Neues Spiel</button>`);
  const found = startActionsOf(page, { size: [300, 150] }).flatMap((one) =>
    one.kind === "element" ? [one.text] : [],
  );
  expect([...new Set(found)]).toEqual(["Neues Spiel", "Los!"]);
  expect(shownButtons(page, BUTTONS).map(({ button }) => button.text)).toEqual(["Neues Spiel", "Los!"]);
});

test("a button without a name of its own is reached by its place", () => {
  const page = opened("<div><button>Start</button><button>Help</button></div>");
  const [start] = startActionsOf(page, { size: [300, 150] }).filter(({ kind }) => kind === "element");
  expect(start).toMatchObject({ text: "Start" });
  expect(page.document.querySelector((start as { selector: string }).selector).textContent).toBe("Start");
});

test("pictures whose files ask for a press are buttons, players are none", () => {
  const page = opened('<canvas width="200" height="100"></canvas>');
  for (const name of ["btn-start.png", "player.png", "startbtn.webp", "playground.png", "new.png"]) {
    const picture = page.document.createElement("canvas");
    Object.defineProperty(picture, "src", { value: `https://example.org/${name}` });
    page.document.querySelector("canvas").getContext("2d").drawImage(picture, 0, 0, 20, 20);
  }
  const names = startActionsOf(page, { size: [300, 150] }).flatMap((one) =>
    one.kind === "spot" ? [one.name] : [],
  );
  expect([...new Set(names)]).toEqual(["btn-start.png", "startbtn.webp"]);
});

test("a menu behind a menu asks by its buttons and its new prompts, and four of them are the most", () => {
  const page = opened("<button id='ok'>OK</button><p>Press Enter to continue</p><p>Press Space to start</p>");
  const presses = pressesIn(page, { size: [300, 150] }, ["Press Space to start"]);
  expect(presses).toEqual([
    { kind: "element", selector: "#ok", text: "OK" },
    { kind: "key", code: "Enter" },
  ]);
  const first: StartAction = { kind: "element", selector: "#start", text: "Start", ticks: 10 };
  const [second, ...others] = startActionsAfter(first, presses);
  expect(second).toEqual({ ...first, further: [presses[0]], ticks: 20 });
  expect(others.map(({ ticks }) => ticks)).toEqual([20, 80, 80]);
  // What was pressed already is not asked for again.
  expect(startActionsAfter(second, presses)).toHaveLength(2);
  const [third] = startActionsAfter(second, [presses[1]]);
  const [fourth] = startActionsAfter(third, [{ kind: "spot", name: "GO" }]);
  expect(pressesOf(fourth)).toHaveLength(4);
  expect(startActionsAfter(fourth, [{ kind: "spot", name: "PLAY" }])).toEqual([]);
  expect(startActionsAfter({ kind: "none", ticks: 0 }, presses)).toEqual([]);
});

test("on a phone no key starts a game", () => {
  const page = opened("<p>Press Space to start</p><button>Play</button>");
  const kinds = (touch: boolean) =>
    new Set(startActionsOf(page, { size: [300, 150], touch }).map(({ kind }) => kind));
  expect([kinds(false).has("key"), kinds(true).has("key"), kinds(true).has("element")]).toEqual([
    true,
    false,
    true,
  ]);
  expect(pressesIn(page, { size: [300, 150], touch: true }, []).map(({ kind }) => kind)).toEqual(["element"]);
});
