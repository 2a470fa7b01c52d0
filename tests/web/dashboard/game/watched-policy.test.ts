/** The policy that is watched: one version at a time, the one that was asked for last. */

import { describe, expect, it } from "vitest";
import { WatchedPolicy } from "../../../../web/dashboard/src/game/watched-policy.ts";

/** A server whose newest version is 7, and a stage; both answer when `go` is called. */
function world(seats: string[] = []) {
  const asked: string[] = [];
  const played: [version: number, models: string[], seats: readonly number[]][] = [];
  const waiting: (() => void)[] = [];
  let isHeld = false;
  const fetch = async (path: string) => {
    asked.push(path);
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    if (path.includes("/404.")) throw new Error("version 404 is not there any more");
    const version = path.includes("latest") ? 7 : Number(/policy\/(\d+)/.exec(path)?.[1]);
    return { version, onnx: new TextEncoder().encode(path.split("/").pop()) };
  };
  const stage = {
    setPolicy: async (version: number, models: Uint8Array[], places: readonly number[]) => {
      played.push([version, models.map((model) => new TextDecoder().decode(model)), places]);
    },
  };
  const policy = new WatchedPolicy("a", stage, seats, fetch);
  return {
    policy,
    asked,
    played,
    hold: () => {
      isHeld = true;
    },
    go: () => {
      isHeld = false;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

describe("the watched policy", () => {
  it("is the newest by name, and nothing is fetched while that plays", async () => {
    const { policy, asked, played } = world();
    expect(policy.version).toBe(-1);
    expect(await policy.play(null, 6)).toBe(true);
    expect(asked).toEqual(["api/runs/a/policy/latest.onnx"]);
    expect(policy.version).toBe(7);
    expect(await policy.play(null, 7)).toBe(false);
    expect(played).toEqual([[7, ["latest.onnx"], [0]]]);
  });

  it("is a chosen version until another is asked for", async () => {
    const { policy, asked } = world();
    expect(await policy.play(3, 7)).toBe(true);
    expect(await policy.play(3, 8)).toBe(false);
    expect(policy.version).toBe(3);
    expect(await policy.play(null, 8)).toBe(true);
    expect(policy.version).toBe(7);
    expect(asked).toEqual(["api/runs/a/policy/3.onnx", "api/runs/a/policy/latest.onnx"]);
  });

  it("has all policies of one version", async () => {
    const { policy, played } = world(["left", "right", "left"]);
    await policy.play(3, 7);
    expect(played).toEqual([[3, ["3.onnx?policy=left", "3.onnx?policy=right"], [0, 1, 0]]]);
  });

  it("leaves out what was asked for in between", async () => {
    const { policy, asked, played, hold, go } = world();
    hold();
    const first = policy.play(1, 7);
    await expect.poll(() => asked).toHaveLength(1);
    const answers = [first, ...[2, 3, 4].map((version) => policy.play(version, 7))];
    go();
    expect(await Promise.all(answers)).toEqual([true, false, false, true]);
    expect(asked).toEqual(["api/runs/a/policy/1.onnx", "api/runs/a/policy/4.onnx"]);
    expect(played.map(([version]) => version)).toEqual([1, 4]);
    expect(policy.version).toBe(4);
  });

  it("goes on after a version that cannot be had", async () => {
    const { policy } = world();
    await policy.play(3, 7);
    await expect(policy.play(404, 7)).rejects.toThrow("not there");
    expect(policy.version).toBe(3);
    expect(await policy.play(5, 7)).toBe(true);
  });
});
