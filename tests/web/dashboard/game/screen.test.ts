/** The screen of a game: the policy that is watched, one version at a time; the clock of a replay; what stands beside it for every kind of action. */

import { describe, expect, it, test } from "vitest";
import { touchKeys } from "../../../../web/dashboard/src/game/actions.ts";
import { choicesOf, MAX_CHOICES } from "../../../../web/dashboard/src/game/choices.ts";
import { FrameWait } from "../../../../web/dashboard/src/game/frame-wait.ts";
import { steering, Transport } from "../../../../web/dashboard/src/game/transport.ts";
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

/** Ten seconds in steps of 0.25. */
const clock = (at = 0) => new Transport(10, 0.25, at);

describe("where a replay begins", () => {
  test.each([
    [0, 0],
    [4.5, 4.5],
    [99, 10],
    [-2, 8],
    [-99, 0],
  ])("at %d: second %d", (at, seconds) => expect(clock(at).seconds).toBe(seconds));
});

describe("while a replay plays", () => {
  test("goes on by the time of a frame, times its speed", () => {
    const transport = clock();
    transport.frame(50);
    expect(transport.seconds).toBe(0);
    transport.toggle();
    transport.frame(50);
    expect(transport.seconds).toBeCloseTo(0.05);
    transport.speed = 16;
    transport.frame(50);
    expect(transport.seconds).toBeCloseTo(0.85);
    // A frame stands for a tenth of a second at most: 0.85 + 0.1 * 16.
    transport.frame(60_000);
    expect(transport.seconds).toBeCloseTo(2.45);
  });

  test("stops at the end, and begins again from there", () => {
    const transport = clock(9.95);
    transport.toggle();
    transport.frame(100);
    expect([transport.seconds, transport.isPlaying, transport.isAtEnd]).toEqual([10, false, true]);
    transport.toggle();
    expect([transport.seconds, transport.isPlaying]).toEqual([0, true]);
    transport.toggle();
    expect(transport.isPlaying).toBe(false);
  });

  test("goes on after a seek, but not from the end", () => {
    const transport = clock();
    transport.toggle();
    transport.seek(3);
    expect([transport.seconds, transport.isPlaying]).toEqual([3, true]);
    transport.seek(11);
    expect([transport.seconds, transport.isPlaying]).toEqual([10, false]);
  });
});

describe("a replay step by step", () => {
  test("it stands at the beginning of a step", () => {
    const transport = clock(1);
    transport.toggle();
    transport.stepBy(1);
    expect([transport.seconds, transport.step, transport.isPlaying]).toEqual([1.25, 5, false]);
    transport.stepBy(-2);
    expect(transport.seconds).toBe(0.75);
  });

  test("amid a step, one back is its beginning and one on is its end", () => {
    const back = clock(1.1);
    back.stepBy(-1);
    expect(back.seconds).toBe(1);
    const on = clock(1.1);
    on.stepBy(1);
    expect(on.seconds).toBe(1.25);
  });

  test("it counts every step, whatever the last bits of their sum are", () => {
    const transport = new Transport(60, 0.1);
    for (let step = 1; step <= 600; step++) {
      transport.stepBy(1);
      expect(transport.step).toBe(step);
    }
    expect(transport.isAtEnd).toBe(true);
    for (let step = 599; step >= 0; step--) {
      transport.stepBy(-1);
      expect(transport.step).toBe(step);
    }
  });
});

describe("keys of a replay", () => {
  /** A press of `key` while an element of the page has the focus that matches `focused`, of the selectors that are asked for. */
  function press(key: string, focused = "", held: Partial<KeyboardEvent> = {}): KeyboardEvent {
    const target = {
      closest: (selectors: string) => (selectors.split(", ").includes(focused) ? target : null),
    };
    return {
      key,
      target,
      ctrlKey: false,
      metaKey: false,
      altKey: false,
      ...held,
    } as unknown as KeyboardEvent;
  }

  test.each([
    ["ArrowLeft", 4],
    ["ArrowRight", 6],
    [",", 4.75],
    [".", 5.25],
    ["Home", 0],
    ["End", 10],
  ])("%s goes to second %d", (key, seconds) => {
    const transport = clock(5);
    steering(press(key))?.(transport);
    expect(transport.seconds).toBe(seconds);
  });

  test("space plays, but where it presses a button", () => {
    const transport = clock();
    steering(press(" "))?.(transport);
    expect(transport.isPlaying).toBe(true);
    expect(steering(press(" ", "button"))).toBeNull();
    expect(steering(press("End", "button"))).not.toBeNull();
  });

  test("what others take is left to them", () => {
    expect(steering(press("End", "select"))).toBeNull();
    expect(steering(press("End", "", { ctrlKey: true }))).toBeNull();
    expect(steering(press("toString"))).toBeNull();
  });
});

const NONE = new Float64Array(0);

function of(action: unknown, taken: number | number[], probabilities: number[], keys = {}) {
  const decision = { action: taken, probabilities: Float64Array.from(probabilities) };
  return choicesOf({ action, keys } as never, decision);
}

describe("choicesOf", () => {
  test("one choice: its label, its keys, how likely it was, and whether it is held", () => {
    const space = { kind: "discrete", n: 3, labels: ["run", "jump", "duck"] };
    const keys = { Space: 1, ArrowUp: 1, ArrowDown: 2 };
    expect(of(space, 1, [0.25, 0.5, 0.25], keys)).toEqual([
      { label: "run", keys: [], probability: 0.25, isTaken: false },
      { label: "jump", keys: ["Space", "↑"], probability: 0.5, isTaken: true },
      { label: "duck", keys: ["↓"], probability: 0.25, isTaken: false },
    ]);
  });

  test("a person's choice has no probabilities, an unnamed one its number", () => {
    const choices = choicesOf(
      { action: { kind: "discrete", n: 2, labels: null }, keys: {} },
      {
        action: 0,
        probabilities: NONE,
      },
    );
    expect(choices.map(({ label, probability, isTaken }) => [label, probability, isTaken])).toEqual([
      ["0", null, true],
      ["1", null, false],
    ]);
  });

  test("several choices at once, and switches", () => {
    const several = of({ kind: "multi_discrete", nvec: [2, 3] }, [1, 2], [0.1, 0.9, 0.2, 0.3, 0.5]);
    expect(several.map(({ label, isTaken }) => [label, isTaken])).toEqual([
      ["1: 0", false],
      ["1: 1", true],
      ["2: 0", false],
      ["2: 1", false],
      ["2: 2", true],
    ]);
    const switches = of({ kind: "multi_binary", n: 3 }, [0, 1, 1], [0.2, 0.8, 0.7]);
    expect(switches.map(({ isTaken }) => isTaken)).toEqual([false, true, true]);
    expect(of({ kind: "box", shape: [2], low: -1, high: 1 }, [0.1, 0.2], [])).toEqual([]);
  });

  test("of many choices the likeliest are shown, and the one that is held, in the game's order", () => {
    const probabilities = Array.from({ length: 100 }, (_, i) => i / 4950);
    const shown = of({ kind: "discrete", n: 100, labels: null }, 0, probabilities);
    expect(shown.map(({ label }) => Number(label))).toEqual([
      0,
      ...Array.from({ length: MAX_CHOICES - 1 }, (_, i) => 100 - MAX_CHOICES + 1 + i),
    ]);
  });
});

const KEYS = { ArrowLeft: 0, ArrowRight: 1, KeyA: 0 };

describe("touchKeys", () => {
  it("has one button per action, arrows in their places", () => {
    const action = { kind: "discrete", n: 3, labels: ["left", "right", "fire"] } as const;
    const buttons = touchKeys({ keys: { ...KEYS, Space: 2 }, action } as never);
    expect(buttons).toEqual([
      { action: 0, label: "←", codes: ["ArrowLeft", "KeyA"], place: "left" },
      { action: 1, label: "→", codes: ["ArrowRight"], place: "right" },
      { action: 2, label: "fire", codes: ["Space"], place: null },
    ]);
  });
});

test("a game is waited for as long as the page draws", () => {
  const wait = new FrameWait();
  expect(wait.frame(1_000)).toBeNull();
  wait.asked();
  expect(wait.frame(1_016)).toBe(16);
  expect(wait.frame(1_032)).toBe(32);
  wait.answered();
  expect(wait.frame(1_048)).toBeNull();
});

test("a page that is hidden, or starved on a busy machine, does not count the time as the game's", () => {
  const wait = new FrameWait();
  wait.frame(0);
  wait.asked();
  expect(wait.frame(60_000)).toBe(100);
  expect(wait.frame(64_900)).toBe(200);
});
