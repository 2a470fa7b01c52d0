/** Keys, clicks and actions in their frames. */

import { expect, test } from "vitest";
import { type GivenInput, GivenInputs } from "../../../web/page-probe/src/given-inputs.ts";
import { box, definePageGame, discrete } from "../../../web/sdk/src/page/index.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import type { PageFrame } from "../../../web/worker/src/page/page-frame.ts";
import { blankPage } from "../../support/blank-page.ts";

function opened(html: string): PageWindow {
  const page = blankPage();
  page.document.body.style.margin = "0";
  page.document.body.innerHTML = html;
  return page;
}

class Hands {
  held: readonly string[] = [];
  pointed: readonly unknown[] | null = null;
  stepTick = -1;
  hold(codes: readonly string[]): void {
    this.held = codes;
  }
  point(...place: unknown[]): void {
    this.pointed = place;
  }
  lift(): void {
    this.pointed = null;
  }
}

function handsOf(hands: Hands): PageFrame {
  return hands as unknown as PageFrame;
}

const KEY: GivenInput = { name: "Enter", kind: "key", from: 2, to: 4 };

test("a key is down from its first frame until before its last", () => {
  const given = new GivenInputs([KEY, { ...KEY, name: "Space", from: 3, to: 5 }], null, 1);
  const page = opened("");
  const keys = [1, 2, 3, 4, 5].map((tick) => given.press(tick, page, handsOf(new Hands()))?.keys);
  expect(keys).toEqual([[], ["Enter"], ["Enter", "Space"], ["Space"], []]);
});

test("a click is in the middle of the first visible element, where that is when it begins", () => {
  const page = opened(`<p class="b" hidden>1</p><button class="b" style="position: absolute; left: 40px;
    top: 20px; width: 20px; height: 10px; border: 0; padding: 0">2</button>`);
  const given = new GivenInputs(
    [{ name: ".b", kind: "pointer", how: "press", targets: [".b"], from: 0, to: 2 }],
    null,
    1,
  );
  const hands = handsOf(new Hands());
  expect(given.press(0, page, hands)).toMatchObject({ keys: [], pointer: [50, 25, "press"], progress: 0 });
  page.document.querySelector("button").style.left = "100px";
  expect(given.press(1, page, hands)).toMatchObject({ pointer: [50, 25, "press"], progress: 0.5 });
  expect(given.press(2, page, hands)).toEqual({ keys: [] });
  expect(given.problems.size).toBe(0);
});

test("a longer page is scrolled to the element", () => {
  const page = opened(`<div style="height: 2000px"></div><button id="low">low</button>`);
  const given = new GivenInputs(
    [{ name: "#low", kind: "pointer", how: "press", targets: ["#low"], from: 0, to: 1 }],
    null,
    1,
  );
  const [, y] = given.press(0, page, handsOf(new Hands()))?.pointer ?? [];
  expect(y).toBeGreaterThan(0);
  expect(y).toBeLessThan(150);
});

test("what cannot be clicked is named", () => {
  const page = opened(`<p hidden id="hidden">1</p>`);
  const inputs = ["#gone", "#hidden", "a >> b"].map(
    (name): GivenInput => ({ name, kind: "pointer", how: "press", targets: [name], from: 0, to: 1 }),
  );
  const given = new GivenInputs(inputs, null, 1);
  expect(given.press(0, page, handsOf(new Hands()))).toEqual({ keys: [] });
  expect(inputs.map((input) => given.problems.get(input))).toEqual([
    "no element matches at that frame",
    "the element is not visible at that frame",
    "this is no CSS selector",
  ]);
});

test("a click outside of the window is no click", () => {
  const page = opened(`<i id="far" style="position: absolute; left: 900px; top: 5px">far</i>`);
  const inputs: GivenInput[] = [
    { name: "300,20", kind: "pointer", how: "press", targets: [[300, 20]], from: 0, to: 1 },
    { name: "#far", kind: "pointer", how: "press", targets: ["#far"], from: 0, to: 1 },
  ];
  const given = new GivenInputs(inputs, null, 1);
  expect(given.press(0, page, handsOf(new Hands()))).toEqual({ keys: [] });
  const problem = "it is outside of the page's window of 300 x 150";
  expect(inputs.map((input) => given.problems.get(input))).toEqual([problem, problem]);
});

const { page: adapter } = definePageGame({
  id: "Two-v1",
  page: "index.html",
  observation: box({ shape: [1] }),
  action: discrete(["wait", "left"]),
  keys: { wait: [], left: ["ArrowLeft"] },
  taps: true,
  observe: () => [0],
  score: () => 0,
  over: () => false,
});

test("what another input leaves no room for in any frame has that as its problem", () => {
  const [first, second]: GivenInput[] = [
    { name: "10,20", kind: "pointer", how: "press", targets: [[10, 20]], from: 0, to: 4 },
    { name: "30,40", kind: "pointer", how: "press", targets: [[30, 40]], from: 0, to: 2 },
  ];
  const page = opened("");
  const hands = handsOf(new Hands());
  const clicks = new GivenInputs([first, second], null, 1);
  expect(clicks.press(0, page, hands)?.pointer).toMatchObject([30, 40, "press"]);
  expect(clicks.problems.get(first)).toBe("another click is made in the same frames");
  expect(clicks.press(2, page, hands)?.pointer).toMatchObject([10, 20, "press"]);
  expect(clicks.problems.size).toBe(0);
  const left: GivenInput = { name: "left", kind: "action", from: 0, to: 4 };
  const wait: GivenInput = { ...left, name: "wait", to: 3 };
  const unknown: GivenInput = { ...left, name: "up" };
  const given = new GivenInputs([wait, first, left, { ...KEY, from: 0 }, unknown], adapter ?? null, 4);
  for (const tick of [0, 1, 2, 3]) given.press(tick, page, hands);
  const problem = "an action is taken in the same frames";
  expect(Object.fromEntries([...given.problems].map(([{ name }, text]) => [name, text]))).toEqual({
    wait: problem,
    "10,20": problem,
    Enter: problem,
    up: "there is no such action: wait, left",
  });
});

test("an action presses what the adapter has for it, in each frame of its steps", () => {
  const left: GivenInput = { name: "left", kind: "action", from: 0, to: 4 };
  const given = new GivenInputs([left, { ...left, name: "up" }], adapter ?? null, 4);
  const hands = new Hands();
  const held = [0, 1, 2, 3].map((tick) => {
    const input = new GivenInputs([left], adapter ?? null, 4).press(tick, opened(""), handsOf(hands));
    expect(input).toBeNull();
    expect(hands.stepTick).toBe(tick);
    return hands.held;
  });
  expect(held).toEqual([["ArrowLeft"], ["ArrowLeft"], [], []]);
  given.press(0, opened(""), handsOf(hands));
  expect([...given.problems.values()]).toEqual(["there is no such action: wait, left"]);
  const plain = new GivenInputs([left], null, 1);
  expect(plain.press(0, opened(""), handsOf(hands))).toEqual({ keys: [] });
  expect([...plain.problems.values()]).toEqual(["a page without an adapter has no actions"]);
});

test("the pointer does what it is to, from one place to another, also in a shadow root", () => {
  const page = opened(`<p id="host" style="position: absolute; left: 40px; top: 20px; margin: 0"></p>`);
  page.document.querySelector("#host").attachShadow({
    mode: "open",
  }).innerHTML = `<b class="card" style="position: absolute; width: 20px; height: 10px"></b>`;
  const drag: GivenInput = {
    ...{ name: "drag", kind: "pointer", how: "drag", from: 0, to: 4 },
    targets: ["#host >>> .card", [120, 80]],
  };
  const given = new GivenInputs([drag], null, 1);
  const hands = handsOf(new Hands());
  expect(given.press(2, page, hands)).toEqual({
    keys: [],
    pointer: [50, 25, "drag", [120, 80]],
    progress: 0.5,
  });
});
