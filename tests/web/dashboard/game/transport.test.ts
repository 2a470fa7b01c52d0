/** The clock of a replay. */

import { describe, expect, test } from "vitest";
import { steering, Transport } from "../../../../web/dashboard/src/game/transport.ts";

/** Ten seconds in steps of 0.25. */
const clock = (at = 0) => new Transport(10, 0.25, at);

describe("where it begins", () => {
  test.each([
    [0, 0],
    [4.5, 4.5],
    [99, 10],
    [-2, 8],
    [-99, 0],
  ])("at %d: second %d", (at, seconds) => expect(clock(at).seconds).toBe(seconds));
});

describe("while it plays", () => {
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

describe("step by step", () => {
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

describe("keys", () => {
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
