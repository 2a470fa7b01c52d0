/** What a worker says of a game that fails. */

import { describe, expect, test } from "vitest";
import { admit, news, policy, trainLease, until, useAdmittedWorkers } from "../../support/admitted-worker.ts";
import { SEED } from "../../support/counting-game.ts";

useAdmittedWorkers();

describe("a broken game", () => {
  test("is reported with slot, episode, tick, seed, text and stack, and the others play on", async () => {
    const socket = await admit(
      "if (n === 7 && !globalThis.thrown) { globalThis.thrown = 1; throw new RangeError('lost the ball'); }",
    );
    socket.hears(policy(1));
    socket.hears(trainLease(4, 1));
    await until(() => socket.of("rollout_close").length === 1, "close");
    const [report] = socket.of("game_failed");
    expect(report).toMatchObject({
      kind: "throw",
      name: "RangeError",
      worker_index: 0,
      lease_id: 4,
      slot_id: 32,
      instance_id: 32,
      episode: 0,
      tick: 7,
      seed: SEED,
    });
    expect(report.text).toContain("lost the ball");
    expect(report.stack).toContain("update");
    expect(socket.of("game_failed")).toHaveLength(1);
  });

  test("that fails all the time ends the worker after ten reports", async () => {
    const socket = await admit("throw new Error('always');");
    socket.hears(policy(1));
    socket.hears(trainLease(4, 1));
    await until(() => news.some(({ type }) => type === "crashed"), "crashed");
    expect(socket.of("game_failed")).toHaveLength(10);
    expect(news.at(-1)).toMatchObject({
      type: "crashed",
      report: {
        kind: "throw",
        text: expect.stringContaining("always"),
        repeated: 10,
        instance_id: expect.any(Number),
      },
    });
    expect(socket.readyState).toBe(3);
  });

  test("whose module does not load is reported as such", async () => {
    const socket = await admit("syntax error here");
    await until(() => news.some(({ type }) => type === "ended"), "ended");
    expect(socket.of("game_failed")).toMatchObject([{ kind: "load", name: "SyntaxError" }]);
  });
});
