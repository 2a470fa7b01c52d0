/** What a page makes by a library's class or function and keeps to itself. */

import { expect, test } from "vitest";
import { made } from "../../../../web/sdk/src/page/made.ts";

class Game {
  constructor(readonly name: string) {}
}

test("what a class makes is noted, also of a library that comes later and of a class of its own", () => {
  const page: Record<string, unknown> = {};
  expect(made(page, "Engine.Game")).toEqual([]);
  page.Engine = { Game };
  const engine = page.Engine as { Game: typeof Game };
  const first = new engine.Game("first");
  class Own extends engine.Game {}
  const second = new Own("second");
  expect(made(page, "Engine.Game")).toEqual([first, second]);
  expect(first).toBeInstanceOf(Game);
  expect(second).toBeInstanceOf(Own);
  expect(second.name).toBe("second");
});

test("what a function gives is noted, of a library that was there before", () => {
  const page: Record<string, unknown> = { start: (name: string) => ({ name }) };
  made(page, "start");
  const given = (page.start as (name: string) => object)("only");
  expect(made(page, "start")).toEqual([given]);
});

test("another library in its place is followed as well; one that is sealed, or of another kind, is left as it is", () => {
  const page: Record<string, unknown> = {};
  made(page, "Engine.Game");
  page.Engine = Object.freeze({ Game });
  expect(page.Engine).toEqual({ Game });
  page.Engine = 5;
  expect(page.Engine).toBe(5);
  page.Engine = { Game };
  const game = new (page.Engine as { Game: typeof Game }).Game("last");
  expect(made(page, "Engine.Game")).toEqual([game]);
});
