/** The trusted side of a sandboxed thread: the module goes first, nothing is lost, nothing is heard of what is over. */

import type { GameModule } from "@attract/worker/game/game-module";
import { type SandboxOpener, SandboxThread } from "@attract/worker/game/game-thread";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const MODULE: GameModule = {
  reference: { name: "snake", sha256: "ab".repeat(32), url: "games/snake.js", has_page: false },
  text: "export default 1;",
  url: "http://127.0.0.1/games/snake.js",
};

/** The limit of a wait: the second that is the default is too short on a busy machine. */
const WAIT = { timeout: 20_000 };

class FakeSandbox implements SandboxOpener {
  opened: [number, string][] = [];
  closed: number[] = [];
  heard: unknown[] = [];
  ports: [MessagePort, MessagePort][] = [];

  open(id: number, role: string, ports: [MessagePort, MessagePort]): void {
    this.opened.push([id, role]);
    this.ports.push(ports);
    ports[0].onmessage = (event) => this.heard.push(event.data);
  }

  close(id: number): void {
    this.closed.push(id);
    for (const ports of this.ports) for (const port of ports) port.close();
  }
}

let sandbox: FakeSandbox;
let threads: SandboxThread[];
let heard: unknown[];
let errors: string[];

function open(module: Promise<GameModule>): SandboxThread {
  const thread = new SandboxThread("rollout", MODULE.reference, module, sandbox);
  thread.onmessage = (event) => heard.push(event.data);
  thread.onerror = (event) => errors.push(event.message);
  threads.push(thread);
  return thread;
}

beforeEach(() => {
  sandbox = new FakeSandbox();
  [threads, heard, errors] = [[], [], []];
});

afterEach(() => {
  for (const thread of threads) thread.terminate();
});

test("what is said before the module is there reaches the thread behind it, in order, with its memory", async () => {
  let arrive: (module: GameModule) => void = () => undefined;
  const thread = open(new Promise((resolve) => (arrive = resolve)));
  const bytes = Uint8Array.of(7);
  thread.postMessage("first");
  thread.postMessage({ bytes }, [bytes.buffer]);
  expect(sandbox.opened).toEqual([[expect.any(Number), "rollout"]]);
  arrive(MODULE);
  await vi.waitFor(() => expect(sandbox.heard).toHaveLength(3), WAIT);
  thread.postMessage("last");
  await vi.waitFor(
    () => expect(sandbox.heard).toEqual([MODULE, "first", { bytes: Uint8Array.of(7) }, "last"]),
    WAIT,
  );
  expect(bytes.length).toBe(0);
});

test("what the thread says is heard, and what its frame says is an error", async () => {
  open(Promise.resolve(MODULE));
  sandbox.ports[0][0].postMessage({ type: "described" });
  sandbox.ports[0][1].postMessage("the script could not be parsed");
  await vi.waitFor(
    () => expect([heard, errors]).toEqual([[{ type: "described" }], ["the script could not be parsed"]]),
    WAIT,
  );
});

test("a module that cannot be had fails the thread with the reason", async () => {
  open(Promise.reject(new Error("404 at games/snake.js")));
  await vi.waitFor(() => expect(errors).toEqual(["404 at games/snake.js"]), WAIT);
  expect(sandbox.heard).toEqual([]);
});

test("a thread that is over says and hears nothing, and its sandbox is closed once", async () => {
  const [first, second] = [open(Promise.resolve(MODULE)), open(Promise.reject(new Error("404")))];
  const ids = sandbox.opened.map(([id]) => id);
  expect(ids[0]).not.toBe(ids[1]);
  for (const thread of [first, second, first]) thread.terminate();
  first.postMessage("late");
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(sandbox.closed).toEqual(ids);
  expect([sandbox.heard, heard, errors]).toEqual([[], [], []]);
});
