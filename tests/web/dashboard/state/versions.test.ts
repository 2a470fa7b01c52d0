/** The slider of versions: places along the curve, keys, words. */

import type { VersionView } from "@attract/schema";
import { describe, expect, it } from "vitest";
import {
  domainOf,
  placedVersions,
  placeIn,
  placeOn,
  shareOf,
  standingAt,
  versionAt,
  versionByKey,
  versionText,
} from "../../../../web/dashboard/src/state/versions.ts";

function version(policy_version: number, changes: Partial<VersionView> = {}): VersionView {
  return {
    policy_version,
    update: policy_version,
    agent_steps: 100 * policy_version,
    // Slower and slower: another place on the axis of time.
    seconds: policy_version ** 2,
    return_mean: policy_version,
    evaluations: [],
    best: false,
    exported: false,
    newest: false,
    ...changes,
  };
}

const VERSIONS = [0, 1, 2, 4, 8, 9, 10].map((number) => version(number));
/** The curve begins at version 1: at 0 no episode had ended. */
const CURVE = {
  name: "r",
  steps: [100, 500, 1000],
  updates: [1, 5, 10],
  episodes: [10, 20, 40],
  seconds: [1, 25, 100],
  clock: [1001, 1025, 1100],
  values: [1, 2, 3],
  low: null,
  high: null,
};
const DOMAIN = { min: 100, max: 1000 };

describe("the domain", () => {
  it("is the chart's, on either axis", () => {
    expect(domainOf(VERSIONS, CURVE, "steps")).toEqual(DOMAIN);
    expect(domainOf(VERSIONS, CURVE, "time")).toEqual({ min: 1, max: 100 });
  });

  it("is the versions' own without a curve", () => {
    expect(domainOf(VERSIONS, undefined, "steps")).toEqual({ min: 0, max: 1000 });
    expect(domainOf(VERSIONS, CURVE, "steps", [300, 400])).toEqual({ min: 300, max: 400 });
    expect(domainOf([], undefined, "steps")).toEqual({ min: 0, max: 0 });
  });

  it("holds versions beyond its ends at them", () => {
    expect(placeIn(DOMAIN, version(0), "steps")).toBe(100);
    expect(placeIn(DOMAIN, version(50), "steps")).toBe(1000);
    expect(shareOf(DOMAIN, version(0), "steps")).toBe(0);
    // (550 - 100) / 900
    expect(shareOf(DOMAIN, version(5.5), "steps")).toBe(0.5);
    expect(shareOf({ min: 3, max: 3 }, version(0), "steps")).toBe(1);
  });
});

describe("dragging", () => {
  it.each([
    [100, 0],
    [101, 1],
    [149, 1],
    [151, 2],
    [590, 4],
    [610, 8],
    [949, 9],
    [951, null],
    [1000, null],
  ])("at %d steps it is version %j", (place, expected) => {
    expect(versionAt(VERSIONS, DOMAIN, place, "steps")).toBe(expected);
  });

  it("has a version on every axis: those that the server does not know by the curve", () => {
    // Version 9 is at 900 of 500 to 1000 steps: 0.8 of the way from 20 to 40 episodes, and from 1025 to 1100.
    const [placed] = placedVersions([version(9)], CURVE);
    const axes = ["steps", "updates", "episodes", "time", "clock"] as const;
    expect(axes.map((axis) => placeOn(placed, axis))).toEqual([900, 9, 36, 81, 1085]);
    expect(placeOn(placedVersions([version(9)], undefined)[0], "clock")).toBe(0);
  });

  it("goes by the axis that is shown", () => {
    // 40 s lies between version 4 (16 s) and 8 (64 s); 41 is nearer to 8.
    expect(versionAt(VERSIONS, { min: 1, max: 100 }, 39, "time")).toBe(4);
    expect(versionAt(VERSIONS, { min: 1, max: 100 }, 41, "time")).toBe(8);
  });

  it("reaches every version, whatever their number", () => {
    const many = Array.from({ length: 60 }, (_, i) => version(i));
    const domain = { min: 100, max: 5900 };
    const reached = new Set<number | null>();
    for (let place = 100; place <= 5900; place += 1) reached.add(versionAt(many, domain, place, "steps"));
    expect(reached).toEqual(new Set([...Array.from({ length: 59 }, (_, i) => i), null]));
  });
});

describe("keys", () => {
  it.each<[string, number | null, number | null | undefined]>([
    ["ArrowLeft", null, 9],
    ["ArrowLeft", 9, 8],
    ["ArrowDown", 8, 4],
    ["ArrowLeft", 0, 0],
    ["ArrowRight", 4, 8],
    ["ArrowUp", 9, null],
    ["ArrowRight", null, null],
    ["PageDown", null, 1],
    ["PageUp", 0, 9],
    ["PageUp", 4, null],
    ["Home", null, 0],
    ["End", 0, null],
    ["a", 4, undefined],
    ["Tab", 4, undefined],
  ])("%s from %j moves to %j", (key, from, to) => {
    expect(versionByKey(VERSIONS, from, key)).toBe(to);
  });

  it("go on from where a version was that is gone", () => {
    expect(versionByKey(VERSIONS, 6, "ArrowLeft")).toBe(4);
    expect(versionByKey(VERSIONS, 6, "ArrowRight")).toBe(8);
    expect(standingAt(VERSIONS, 6)?.policy_version).toBe(4);
  });

  it("do nothing without versions", () => {
    expect(versionByKey([], null, "ArrowLeft")).toBeUndefined();
  });
});

describe("words", () => {
  it("say version, steps and return then", () => {
    expect(versionText(VERSIONS, 8)).toBe("Version 8, 800 steps, return 8");
    expect(versionText(VERSIONS, null)).toBe("Newest version 10, 1,000 steps, return 10");
    expect(versionText([version(3, { return_mean: null })], null)).toBe("Newest version 3, 300 steps");
  });

  it("N22: say of the newest, while the run goes on, what the page's other numbers say", () => {
    const run = { policy_version: 20, agent_steps: 2000, episode_return_mean: 5.28 };
    expect(versionText(VERSIONS, null, run)).toBe("Newest version 20, 2,000 steps, return 5.28");
    expect(versionText(VERSIONS, 8, run)).toBe("Version 8, 800 steps, return 8");
  });

  it("say evaluations and marks", () => {
    const evaluations = [
      { deterministic: true, return_mean: 9.5, return_std: 1 },
      { deterministic: false, return_mean: 7, return_std: null },
    ];
    const known = [version(3, { best: true, exported: true, evaluations }), version(4)];
    expect(versionText(known, 3)).toBe(
      "Version 3, 300 steps, return 3, evaluated 9.50, evaluated with sampled actions 7, best, exported",
    );
  });

  it("say of a version that it is gone", () => {
    expect(versionText(VERSIONS, 6)).toBe("Version 6, which is not there any more");
  });

  it("name the newest as it grows", () => {
    expect(standingAt([...VERSIONS, version(11)], null)?.policy_version).toBe(11);
  });
});
