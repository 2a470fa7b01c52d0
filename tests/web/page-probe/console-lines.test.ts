/** Lines of a console: which are noted, and that they are written all the same. */

import { expect, test } from "vitest";
import { noteConsole } from "../../../web/page-probe/src/console-lines.ts";
import type { LookLine } from "../../../web/schema/src/api.gen.ts";

function silent(): { console: Console; written: unknown[][] } {
  const written: unknown[][] = [];
  const write = (...given: unknown[]): number => written.push(given);
  const levels = { log: write, info: write, warn: write, error: write, debug: write };
  return { console: levels as unknown as Console, written };
}

test("what is written is noted with its level, objects as JSON", () => {
  const { console, written } = silent();
  const lines: LookLine[] = [];
  noteConsole(console, "page", lines);
  console.log("score", { now: 40 }, [1, 2], null, undefined);
  console.error(new TypeError("no\u001b[31m"));
  expect(lines).toEqual([
    { by: "page", level: "log", text: 'score {"now":40} [1,2] null undefined', times: 1 },
    { by: "page", level: "error", text: "TypeError: no [31m", times: 1 },
  ]);
  expect(written).toHaveLength(2);
});

test("what cannot be read is written all the same", () => {
  const { console, written } = silent();
  const lines: LookLine[] = [];
  noteConsole(console, "page", lines);
  const foreign = {
    get message(): string {
      throw new Error("of another origin");
    },
  };
  console.log("frame", foreign);
  expect(lines.map(({ text }) => text)).toEqual(["frame [unreadable]"]);
  expect(written).toEqual([["frame", foreign]]);
});

test("a line that comes again is counted, and the first 200 are noted", () => {
  const { console } = silent();
  const lines: LookLine[] = [];
  const end = noteConsole(console, "adapter", lines);
  for (let i = 0; i < 3; i++) console.log("same");
  for (let i = 0; i < 300; i++) console.log(`line ${i}`);
  expect(lines[0]).toMatchObject({ by: "adapter", text: "same", times: 3 });
  expect(lines).toHaveLength(200);
  lines.length = 0;
  end();
  console.log("later");
  expect(lines).toEqual([]);
});
