import { expect, test, vi } from "vitest";
import { areKeysOn, commandOf, keepKeysOn } from "../../../../web/dashboard/src/state/keys.ts";

test("a key alone is a command, and two in a row are another", () => {
  expect(commandOf(null, { key: "?", atMs: 0 })).toBe("help");
  expect(commandOf(null, { key: "g", atMs: 0 })).toBeNull();
  expect(commandOf({ key: "g", atMs: 0 }, { key: "r", atMs: 1500 })).toBe("runs");
  expect(commandOf({ key: "g", atMs: 0 }, { key: "h", atMs: 10 })).toBe("home");
});

test("the second key of two is none without the first, after another, or too late", () => {
  expect(commandOf(null, { key: "r", atMs: 0 })).toBeNull();
  expect(commandOf({ key: "x", atMs: 0 }, { key: "r", atMs: 10 })).toBeNull();
  expect(commandOf({ key: "g", atMs: 0 }, { key: "r", atMs: 1501 })).toBeNull();
});

test("the keys are on until someone turns them off, which is remembered", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  });
  expect(areKeysOn()).toBe(true);
  keepKeysOn(false);
  expect(areKeysOn()).toBe(false);
  expect(kept.size).toBe(1);
  keepKeysOn(true);
  expect(areKeysOn()).toBe(true);
});

test("where the browser forbids storage they can be turned off until the page is left", () => {
  vi.stubGlobal("localStorage", undefined);
  expect(areKeysOn()).toBe(true);
  keepKeysOn(false);
  expect(areKeysOn()).toBe(false);
  keepKeysOn(true);
  expect(areKeysOn()).toBe(true);
});
