/** A game that is loaded to be described: exactly one answer, unless it is given up before. */

import type { GameDescription, GameReference } from "@attract/schema";
import type { FailureReport } from "@attract/worker/game/failures";
import { GameDescriber, LOAD_MS } from "@attract/worker/host/game-describer";
import { beforeEach, expect, test } from "vitest";
import { FakeThread } from "../support/fake-thread.ts";

const GAME: GameReference = {
  name: "snake",
  sha256: "ab".repeat(32),
  url: "games/snake.js",
  has_page: false,
};
const DESCRIPTION = { id: "Snake-v1" } as GameDescription;
const REPORT = { kind: "load", name: "TypeError", text: "x is undefined" } as FailureReport;

let threads: FakeThread<unknown, unknown>[];
let described: GameDescription[];
let failed: FailureReport[];
let describer: GameDescriber;

function begin(now: number): FakeThread<unknown, unknown> {
  describer.begin(GAME, now, {
    described: (one) => described.push(one),
    failed: (one) => failed.push(one),
  });
  return threads.at(-1)!;
}

beforeEach(() => {
  threads = [];
  described = [];
  failed = [];
  describer = new GameDescriber(() => {
    threads.push(new FakeThread());
    return threads.at(-1)!;
  });
});

test("a game is asked what it is, and its thread ends with the answer", () => {
  const thread = begin(0);
  expect(thread.posted).toEqual([{ type: "describe" }]);
  thread.says({ type: "line" });
  expect(thread.isTerminated).toBe(false);
  thread.says({ type: "described", description: DESCRIPTION });
  expect([described, failed, thread.isTerminated]).toEqual([[DESCRIPTION], [], true]);
  describer.check(LOAD_MS * 2);
  expect(failed).toEqual([]);
});

test("a module that fails is reported as it said", () => {
  const thread = begin(0);
  thread.says({ type: "describe_failed", report: REPORT });
  expect([described, failed, thread.isTerminated]).toEqual([[], [REPORT], true]);
});

test("a thread that cannot run is a module that could not be loaded", () => {
  const thread = begin(0);
  thread.onerror?.({ message: "404 at games/snake.js" });
  expect(failed).toMatchObject([{ kind: "load", text: "404 at games/snake.js", stack: null }]);
  expect(thread.isTerminated).toBe(true);
});

test("a module that does not finish loading is given up after its time, once", () => {
  const thread = begin(1000);
  describer.check(1000 + LOAD_MS);
  expect(failed).toEqual([]);
  describer.check(1001 + LOAD_MS);
  describer.check(9000 + LOAD_MS);
  expect(failed).toMatchObject([{ kind: "load", name: "Hang" }]);
  expect(failed[0].text).toContain("did not load within 15 s");
  expect(thread.isTerminated).toBe(true);
});

test("another game drops the one that was being loaded, and has all its time", () => {
  const first = begin(0);
  begin(LOAD_MS);
  expect(first.isTerminated).toBe(true);
  describer.check(LOAD_MS + 1);
  expect(failed).toEqual([]);
  threads[1].says({ type: "described", description: DESCRIPTION });
  expect(described).toEqual([DESCRIPTION]);
});

test("one that was ended answers nothing", () => {
  const thread = begin(0);
  describer.end();
  expect(thread.isTerminated).toBe(true);
  describer.check(LOAD_MS * 2);
  expect([described, failed]).toEqual([[], []]);
});
