/** How numbers, durations and devices are written. */

import { describe, expect, it } from "vitest";
import {
  formatAge,
  formatCount,
  formatDevice,
  formatDuration,
  formatNumber,
  formatTicks,
  formatTimeTicks,
  formatUntil,
  plural,
} from "../../../../web/dashboard/src/state/format.ts";

describe("formatCount", () => {
  it.each([
    [0, "0"],
    [950.4, "950"],
    [9999, "9,999"],
    [10_000, "10k"],
    [12_345, "12.3k"],
    [491_520, "492k"],
    [1_200_000, "1.2M"],
    [-25_000, "-25k"],
    [3e9, "3B"],
    [Number.NaN, "–"],
    [null, "–"],
  ])("%s", (value, text) => expect(formatCount(value)).toBe(text));
});

describe("formatNumber", () => {
  it.each([
    [8, "8"],
    [0.5, "0.500"],
    [9.996, "10.0"],
    [-12.34, "-12.3"],
    [431.2, "431"],
    [999.7, "1,000"],
    // N10: KL divergences, rates and losses live here.
    [0.0136, "0.0136"],
    [0.0077, "0.00770"],
    [-0.005, "-0.00500"],
    [0.0001, "0.000100"],
    [0.00001234, "1.23e-5"],
    [81_234.5, "81.2k"],
    [undefined, "–"],
  ])("%s", (value, text) => expect(formatNumber(value)).toBe(text));
});

describe("formatDuration", () => {
  it.each([
    [5.9, "5 s"],
    [65, "1:05"],
    [3700, "1:01:40"],
    [-1, "0 s"],
    [null, "–"],
  ])("%s", (value, text) => expect(formatDuration(value)).toBe(text));
});

describe("formatAge", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  it.each([
    ["2026-11-21T11:59:30Z", "just now"],
    ["2026-11-21T11:18:00Z", "42 min ago"],
    ["2026-11-21T02:00:00Z", "10 h ago"],
    ["2026-11-01T02:00:00Z", "2026-11-01"],
    ["soon", "soon"],
  ])("%s", (created, text) => expect(formatAge(created, now)).toBe(text));
});

describe("formatUntil", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  it.each([
    ["2026-11-21T12:40:00Z", "for 40 min more"],
    ["2026-11-21T11:00:00Z", "for 0 min more"],
    ["2026-11-22T00:00:00+00:00", "for 12 h more"],
    ["2026-12-21T00:00:00Z", "until 2026-12-21"],
    ["late", "until late"],
  ])("%s", (expires, text) => expect(formatUntil(expires, now)).toBe(text));
});

describe("formatDevice", () => {
  it.each([
    [
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/156.0 Safari/537.36",
      "Headless Chromium on Linux",
    ],
    ["Mozilla/5.0 (Linux; Android 14) Chrome/150.0 Mobile Safari/537.36", "Chrome on Android"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"],
    ["Mozilla/5.0 (Windows NT 10.0) Chrome/150.0 Safari/537.36 Edg/150.0", "Edge on Windows"],
    ["", "Browser"],
  ])("%s", (agent, text) => expect(formatDevice(agent)).toBe(text));
});

describe("formatTicks", () => {
  it.each([
    [[0, 100, 200], 100, ["0", "100", "200"]],
    [[-0.02, 0, 0.02], 0.02, ["-0.02", "0", "0.02"]],
    // The sign of a loss near nothing is not lost, and neighbours differ.
    [[-0.0007, -0.00065, -0.0006], 0.00005, ["-0.00070", "-0.00065", "-0.00060"]],
    [[0, 2.5, 5], 2.5, ["0", "2.5", "5.0"]],
    [[-1e-7, 0, 1e-7], 1e-7, ["-1e-7", "0", "1e-7"]],
    [[1.5e-6, 2e-6], 5e-7, ["1.5e-6", "2.0e-6"]],
    [[5000, 10_000, 15_000], 5000, ["5k", "10k", "15k"]],
    [[14_500, 15_000], 500, ["14.5k", "15.0k"]],
    [[1_050_000, 1_100_000], 50_000, ["1.05M", "1.10M"]],
    [[8000, 9000], 1000, ["8000", "9000"]],
    [[-2e9, 0, 2e9], 2e9, ["-2B", "0", "2B"]],
    // What adding up steps of a third of a unit leaves.
    [[0.1 + 0.2, 0.4], 0.1, ["0.3", "0.4"]],
    [[5.551115123125783e-17, 0.1], 0.1, ["0", "0.1"]],
  ])("%j, %j apart", (ticks, step, texts) => {
    expect(formatTicks(ticks, step)).toEqual(texts);
  });
});

describe("formatTimeTicks", () => {
  it("tells moments within a second apart", () => {
    expect(formatTimeTicks([0, 0.5, 1], 0.5)).toEqual(["0.0 s", "0.5 s", "1.0 s"]);
    expect(formatTimeTicks([30, 60, 90], 30)).toEqual(["30 s", "1:00", "1:30"]);
  });
});

describe("plural", () => {
  it("has an s for all but one", () => {
    expect([0, 1, 2].map((count) => plural(count, "worker"))).toEqual(["0 workers", "1 worker", "2 workers"]);
  });
});
