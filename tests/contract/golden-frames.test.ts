import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeFromBrowser, decodeToBrowser, encodeMessage } from "@attract/schema";
import { describe, expect, it } from "vitest";

// The golden frames as JavaScript reads and rewrites them; `test_golden_frames.py` does the same in Python.
const golden = join(import.meta.dirname, "../../shared_schema/golden");
const stems = readdirSync(golden)
  .filter((name) => name.endsWith(".json"))
  .map((name) => name.slice(0, -".json".length));

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("hex") };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  }
  return value;
}

describe.each(stems)("golden frame %s", (stem) => {
  const decode = stem.startsWith("to_browser.") ? decodeToBrowser : decodeFromBrowser;

  it.each(["server", "browser"])("written by the %s reads as the same and is rewritten", (writer) => {
    const message = decode(new Uint8Array(readFileSync(join(golden, writer, `${stem}.bin`))));
    expect(plain(message)).toEqual(JSON.parse(readFileSync(join(golden, `${stem}.json`), "utf8")));
    const expected = readFileSync(join(golden, "browser", `${stem}.bin`));
    expect(Buffer.from(encodeMessage(message)).equals(expected)).toBe(true);
  });

  it("cut short anywhere is refused", () => {
    const whole = new Uint8Array(readFileSync(join(golden, "server", `${stem}.bin`)));
    const step = Math.max(1, Math.floor(whole.length / 40));
    for (let length = 0; length < whole.length; length += step) {
      expect(() => decode(whole.subarray(0, length))).toThrow();
    }
  });
});

it("there are frames to read", () => {
  expect(stems.length).toBeGreaterThanOrEqual(19);
});
