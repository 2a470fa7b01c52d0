/** Plays one test page as the trainer plays a game: a `PageFrame` of the worker, tick after tick. */

import type { PageAdapter } from "attract/page-adapter";
import { PageFrame } from "../../web/worker/src/page/page-frame.ts";

/** What a test asks of its driver, in `testdriver-vendor.js`. */
interface Command {
  t: string;
  x: number;
  y: number;
  b: number;
  code: string;
  ms: number;
}

interface Job {
  commands: Command[];
  done(): void;
  fail(error: unknown): void;
}

const jobs: Job[] = [];
const adapter = {
  size: [800, 600],
  css: true,
  turns: true,
  hidden: false,
  reset: "reload",
  keys: [],
  pointers: {},
  observe: () => [],
  over: () => false,
} as unknown as PageAdapter;
// A tick is 17, 17 or 16 ms.
const TICK_MS = 17;

async function attractPlay(page: string, maxTicks: number, maxMs: number): Promise<unknown> {
  const address = new URL(page, location.origin).href;
  const options = { draws: true, webGl: "real", isSeen: true, seed: 1, dateSeed: 1 } as const;
  const frame = await PageFrame.load({ ...adapter, page } as PageAdapter, address, options);
  const result = () => (frame.window as { __wpt?: { done: boolean } }).__wpt;
  const end = performance.now() + maxMs;
  const keys = new Set<string>();
  let [x, y, isDown, waits] = [0, 0, false, 0];
  let job: Job | undefined;
  const act = ({ t, ...given }: Command): void => {
    if (t === "move") [x, y] = [given.x, given.y];
    else if (t === "keydown") keys.add(given.code);
    else if (t === "keyup") keys.delete(given.code);
    else if (t === "pause") waits = Math.ceil(given.ms / TICK_MS);
    else if (given.b === 0) isDown = t === "down";
    else throw new Error("the clock's pointer has one button");
  };
  for (let tick = 0; tick < maxTicks && performance.now() < end && !result()?.done; tick++) {
    job ??= jobs.shift();
    if (waits > 0) waits--;
    else if (job !== undefined) {
      try {
        const command = job.commands.shift();
        if (command !== undefined) act(command);
        else {
          job.done();
          job = undefined;
        }
      } catch (error) {
        job.fail(error);
        job = undefined;
      }
    }
    try {
      frame.hold([...keys]);
      frame.point(x, y, isDown);
      frame.tick();
      await frame.giveTurn();
    } catch (error) {
      // What a test throws is its own matter, unless the page is gone.
      if (String(error).includes("another address")) break;
    }
  }
  return result() ?? null;
}

Object.assign(window, {
  attractPlay,
  __td: (text: string) =>
    new Promise<void>((done, fail) => jobs.push({ commands: JSON.parse(text), done, fail })),
});
