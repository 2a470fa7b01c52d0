/** How numbers, durations and devices are written. */

import { describe, expect, it } from "vitest";
import {
  formatAge,
  formatCount,
  formatDevice,
  formatDuration,
  formatNumber,
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
    [0.5, "0.50"],
    [-12.34, "-12.3"],
    [431.2, "431"],
    [0.0042, "4.2e-3"],
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
