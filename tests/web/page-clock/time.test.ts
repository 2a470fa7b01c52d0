import { expect, test } from "vitest";
import { VirtualTime } from "../../../web/page-clock/src/time.ts";

function timed(): { time: VirtualTime; said: string[]; errors: unknown[] } {
  const errors: unknown[] = [];
  const time = new VirtualTime({ report: (error) => errors.push(error), evaluate: () => undefined });
  return { time, said: [], errors };
}

test("ticks are 17, 17 and 16 ms: three of them are 50 ms exactly", () => {
  const { time } = timed();
  const seen = Array.from({ length: 6 }, () => {
    time.tick();
    return time.now;
  });
  expect(seen).toEqual([17, 34, 50, 67, 84, 100]);
});

test("timers run in the order in which they fall due, those of one moment as they were set, each at its own time", () => {
  const { time, said } = timed();
  const say = (word: string) => () => said.push(`${word}@${time.now}`);
  time.add(say("late"), 12);
  time.add(say("first"), 3);
  time.add(say("second"), 3);
  time.add(say("next tick"), 18);
  time.addFrame(() => said.push(`frame@${time.now}`));
  time.tick();
  expect(said).toEqual(["first@3", "second@3", "late@12", "frame@17"]);
});

test("what is removed does not run, be it a timer of the same moment or a frame of the same tick", () => {
  const { time, said } = timed();
  const gone = time.add(() => said.push("never"), 5);
  time.add(() => time.remove(gone), 4);
  const frame = time.addFrame(() => time.removeFrame(other));
  const other = time.addFrame(() => said.push("never"));
  time.tick();
  expect(frame).not.toBe(other);
  expect(said).toEqual([]);
});

test("a frame asked for within a frame is the next tick's", () => {
  const { time, said } = timed();
  const loop = (): void => {
    said.push(String(time.now));
    time.addFrame(loop);
  };
  time.addFrame(loop);
  time.tick();
  time.tick();
  expect(said).toEqual(["17", "34"]);
});

test("an interval goes on until it is removed, and every nested timer waits for 4 ms after five of them", () => {
  const { time, said } = timed();
  const id = time.add(() => said.push(String(time.now)), 5, [], true);
  time.tick();
  time.remove(id);
  time.tick();
  expect(said).toEqual(["5", "10", "15"]);
  const nested = timed();
  const again = (): void => {
    nested.said.push(String(nested.time.now));
    nested.time.add(again, 0);
  };
  nested.time.add(again, 0);
  nested.time.tick();
  // Five at once, then one each 4 ms.
  expect(nested.said).toEqual(["0", "0", "0", "0", "0", "4", "8", "12", "16"]);
});

test("a callback that waits for the clock gets its time, slowly; what one throws is told, and the others run", () => {
  const { time, said, errors } = timed();
  time.addFrame(() => {
    const end = time.look() + 2;
    while (time.look() < end);
    said.push("waited");
  });
  time.addFrame(() => {
    throw new Error("broken");
  });
  time.addFrame(() => said.push("after"));
  time.tick();
  expect(said).toEqual(["waited", "after"]);
  expect(time.spins).toBe(2);
  expect(errors.map(String)).toEqual(["Error: broken"]);
});

test("a page that sets timers without end is left for the next tick", () => {
  const { time, said } = timed();
  const again = (): void => {
    said.push("x");
    time.add(again, 0, [], false, false);
  };
  time.add(again, 0, [], false, false);
  time.tick();
  expect(said).toHaveLength(10_000);
  expect(time.overran).toBe(true);
  expect(time.now).toBe(17);
});

test("an episode begins a frame after a whole second, in a new page too", () => {
  const { time } = timed();
  time.align();
  expect(time.now).toBe(17.5);
  time.tick();
  time.tick();
  time.align();
  expect(time.now).toBe(1017.5);
  time.tick();
  expect(time.now).toBe(1034.5);
});

test("a tick pauses between two calls of the page, and what is cancelled meanwhile is not called", () => {
  const { time, said } = timed();
  for (const name of ["one", "two"]) time.add(() => said.push(name), 1);
  time.addFrame(() => said.push("frame"));
  const cancelled = time.addFrame(() => said.push("never"));
  time.addFrame(() => said.push("last"));
  for (const _ of time.ticking()) {
    said.push("|");
    if (said.includes("frame")) time.removeFrame(cancelled);
  }
  expect(said).toEqual(["one", "|", "two", "|", "frame", "|", "|", "last"]);
});

test("a tick that is left at a pause loses nothing: the next one, or what follows it, plays it to its end first", () => {
  const { time, said } = timed();
  time.add(() => said.push("timer"), 5);
  time.addFrame(() => said.push(`frame@${time.now}`));
  time.ticking().next();
  expect(said).toEqual(["timer"]);
  time.align();
  expect([said, time.now]).toEqual([["timer", "frame@17"], 17.5]);
});
