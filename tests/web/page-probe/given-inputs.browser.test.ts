/** Keys, clicks and actions in their frames. */

import { afterEach, expect, test } from "vitest";
import { type GivenInput, GivenInputs } from "../../../web/page-probe/src/given-inputs.ts";
import { box, definePageGame, discrete } from "../../../web/sdk/src/page/index.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import type { PageFrame } from "../../../web/worker/src/page/page-frame.ts";

const frames: HTMLIFrameElement[] = [];

afterEach(() => {
  for (const frame of frames.splice(0)) frame.remove();
});

function opened(html: string): PageWindow {
  const frame = document.createElement("iframe");
  frame.width = "300";
  frame.height = "150";
  document.body.append(frame);
  frames.push(frame);
  const page = frame.contentWindow as PageWindow;
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
  const given = new GivenInputs([{ name: ".b", kind: "element", from: 0, to: 2 }], null, 1);
  const hands = handsOf(new Hands());
  expect(given.press(0, page, hands)).toEqual({ keys: [], pointer: [50, 25, true] });
  page.document.querySelector("button").style.left = "100px";
  expect(given.press(1, page, hands)).toEqual({ keys: [], pointer: [50, 25, true] });
  expect(given.press(2, page, hands)).toEqual({ keys: [] });
  expect(given.problems.size).toBe(0);
});

test("a longer page is scrolled to the element", () => {
  const page = opened(`<div style="height: 2000px"></div><button id="low">low</button>`);
  const given = new GivenInputs([{ name: "#low", kind: "element", from: 0, to: 1 }], null, 1);
  const [, y] = given.press(0, page, handsOf(new Hands()))?.pointer ?? [];
  expect(y).toBeGreaterThan(0);
  expect(y).toBeLessThan(150);
});

test("what cannot be clicked is named", () => {
  const page = opened(`<p hidden id="hidden">1</p>`);
  const inputs = ["#gone", "#hidden", "a >> b"].map(
    (name): GivenInput => ({ name, kind: "element", from: 0, to: 1 }),
  );
  const given = new GivenInputs(inputs, null, 1);
  expect(given.press(0, page, handsOf(new Hands()))).toEqual({ keys: [] });
  expect(inputs.map((input) => given.problems.get(input))).toEqual([
    "no element matches at that frame",
    "the element is not visible at that frame",
    "this is no CSS selector",
  ]);
});

test("an action presses what the adapter has for it, in each frame of its steps", () => {
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
