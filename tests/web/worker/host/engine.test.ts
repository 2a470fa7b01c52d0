import { isLight } from "@attract/worker/host/engine";
import { expect, test } from "vitest";

const PHONE = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36";
const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148";
const LAPTOP =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36";

test("phones begin without the engine, and so does who saves data", () => {
  expect(isLight({ userAgent: PHONE })).toBe(true);
  expect(isLight({ userAgent: IPHONE })).toBe(true);
  expect(isLight({ userAgent: LAPTOP })).toBe(false);
  expect(isLight({ userAgent: LAPTOP, connection: { saveData: true } })).toBe(true);
  expect(isLight({ userAgent: LAPTOP, connection: { saveData: false } })).toBe(false);
});

test("what the browser says outright counts more than its name", () => {
  expect(isLight({ userAgent: LAPTOP, userAgentData: { mobile: true } })).toBe(true);
  expect(isLight({ userAgent: PHONE, userAgentData: { mobile: false } })).toBe(false);
  expect(isLight({ userAgent: PHONE, userAgentData: {} })).toBe(true);
});
