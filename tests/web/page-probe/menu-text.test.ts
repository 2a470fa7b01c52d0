/** How the adapter of a page begins its game, as the menu and the end of it ask for. */

import { expect, test } from "vitest";
import { adapterText } from "../../../web/page-probe/src/adapter-text.ts";
import type { PageWindow } from "../../../web/sdk/src/page-adapter.ts";
import { defined, FOUND, HANDS, PAGE, place } from "./found-adapter.ts";

test("without a restart the menu is pressed through in a fresh page", async () => {
  const startAction = { kind: "key", code: "Space", ticks: 40 } as const;
  const found = { ...FOUND, restart: null, inputs: { ...FOUND.inputs, startAction } };
  const { page } = await defined(adapterText(found));
  expect(page?.reset).toBe("reload");
  const window: Record<string, unknown> = {};
  const held: unknown[] = [];
  const hands = { ...HANDS, ticks: 16, hold: (keys: readonly string[]) => held.push(keys), point: () => 0 };
  page?.menu?.(window, hands);
  expect(page?.playing?.(window)).toBe(false);
  page?.menu?.(window, { ...hands, ticks: 40 });
  expect(page?.playing?.(window)).toBe(true);
  // What was not pressed when it was tried is not pressed in training either.
  expect(held).toEqual([["Space"], []]);
});

test("a game that its menu restarts takes a fresh page only if it has to", async () => {
  const startAction = { kind: "key", code: "Space", ticks: 40 } as const;
  const found = { ...FOUND, restart: null, again: startAction, inputs: { ...FOUND.inputs, startAction } };
  const { page } = await defined(adapterText(found));
  expect(page?.reset).toBe("over");
  const window: Record<string, unknown> = { ...PAGE };
  const held: unknown[] = [];
  const hands = { ...HANDS, ticks: 0, hold: (keys: readonly string[]) => held.push(keys), point: () => 0 };
  const press = (ticks: number, state: string): unknown => {
    Object.assign(window, { lookInside: () => ({ state }) });
    page?.menu?.(window, { ...hands, ticks });
    return page?.playing?.(window);
  };
  // As long as it is over it is pressed, also when a fresh page would have begun.
  expect([press(0, "over"), press(40, "over"), press(40, "playing")]).toEqual([false, false, true]);
  expect(held).toEqual([["Space"], ["Space"], []]);
});

test("a key that begins a game and a button that begins it again are pressed by one menu, the key where there is no button", async () => {
  const startAction = { kind: "key", code: "Space", ticks: 10 } as const;
  const again = {
    ...startAction,
    further: [{ kind: "element", selector: ".again", text: "Again" }],
  } as const;
  const found = { ...FOUND, restart: null, again, inputs: { ...FOUND.inputs, startAction } };
  const { page } = await defined(adapterText(found));
  const box = { x: 10, y: 20, width: 40, height: 20 };
  let isOver = false;
  const button = {
    checkVisibility: () => isOver,
    scrollIntoView: () => 0,
    getBoundingClientRect: () => box,
  };
  const presses: unknown[] = [];
  const hands = {
    ...HANDS,
    hold: (keys: readonly string[]) => presses.push(...keys),
    point: (...where: unknown[]) => presses.push(where),
  };
  for (isOver of [false, true]) {
    const window = {
      lookInside: () => ({ state: isOver ? "over" : "title" }),
      document: { querySelector: () => button },
    };
    page?.menu?.(window, hands);
    expect(page?.playing?.(window)).toBe(false);
  }
  expect(presses).toEqual(["Space", [30, 30, true]]);
});

test("one that begins by itself is pressed only once it is over, a button only where it is to be seen", async () => {
  const again = { kind: "element", selector: ".again", text: "Again", ticks: 40 } as const;
  const found = { ...FOUND, restart: null, again };
  const { page } = await defined(adapterText(found));
  const presses: unknown[] = [];
  const hands = { ...HANDS, ticks: 0, hold: () => 0, point: (...where: unknown[]) => presses.push(where) };
  const box = { x: 10, y: 20, width: 40, height: 20 };
  const button = { checkVisibility: () => true, scrollIntoView: () => 0, getBoundingClientRect: () => box };
  const document = { querySelector: () => button };
  for (const state of ["over", "playing"]) {
    const window = { ...PAGE, lookInside: () => ({ state }), document };
    page?.menu?.(window, hands);
    expect(page?.playing?.(window)).toBe(state === "playing");
  }
  expect(presses).toEqual([
    [30, 30, true],
    [30, 30, false],
  ]);
  const startAction = { ...again, selector: ".begin" } as const;
  const both = { ...startAction, further: [again] };
  const text = adapterText({ ...found, again: both, inputs: { ...FOUND.inputs, startAction } });
  expect(text).toContain('const buttons = [".again",".begin"]');
});

test("what is shown at the end may be shown until the game begins", async () => {
  const text = adapterText({ ...FOUND, restart: null, playing: "!(w.isOver)" });
  const { page } = await defined(text);
  expect([true, false].map((isOver) => page?.playing?.({ isOver }))).toEqual([false, true]);
});

test("a drawn button is pressed until it is gone, and another restarts the game", async () => {
  const startAction = { kind: "spot", name: "START", ticks: 10 } as const;
  const text = adapterText({
    ...FOUND,
    variables: [],
    early: [],
    playing: null,
    inputs: { ...FOUND.inputs, startAction },
    again: { ...startAction, further: [{ kind: "spot", name: "PLAY AGAIN" }] },
    reading: {
      ...FOUND.reading,
      end: { place: place("w.lost"), text: "w.lost", why: "it came", isOver: Boolean },
    },
  });
  const { page } = await defined(text);
  let written: { name: string; place: [number, number] }[] = [];
  const window = { attractDrawn: { written: () => written, pictures: () => [] }, lost: false } as PageWindow;
  const pressed: unknown[] = [];
  const hands = {
    ticks: 0,
    stepTick: 0,
    parameters: {},
    point: (...given: unknown[]) => pressed.push(given),
    rotate: () => undefined,
    lift: () => pressed.push("lift"),
  };
  const menu = (): unknown => {
    page?.menu?.(window, hands as never);
    return pressed.at(-1);
  };
  // It is not there yet: nothing has begun.
  expect(menu()).toBe("lift");
  expect(page?.playing?.(window)).toBe(false);
  written = [{ name: "START", place: [30, 40] }];
  expect(menu()).toEqual([30, 40, true]);
  expect(page?.playing?.(window)).toBe(false);
  written = [];
  expect(page?.playing?.(window)).toBe(true);
  window.lost = true;
  written = [{ name: "PLAY AGAIN", place: [50, 60] }];
  expect(menu()).toEqual([50, 60, true]);
  expect(page?.playing?.(window)).toBe(false);
});
