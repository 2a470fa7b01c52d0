/** What the instance costs beside the bare game: garbage and time, measured in a Node of its own. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const REPOSITORY = resolve(import.meta.dirname, "../../..");
const MIB = 1024 * 1024;

interface Measured {
  /** After a collection before and after. */
  heapGrowthBytes: number;
  /** Without any collection: what the steps left lying about. */
  garbageBytesPerStep: number;
  instanceNanoseconds: number;
  bareNanoseconds: number;
}

let measured: Measured;
const folder = mkdtempSync(join(tmpdir(), "attract-speed-"));

beforeAll(() => {
  const outfile = join(folder, "measure.mjs");
  buildSync({
    entryPoints: [join(import.meta.dirname, "measure-instance.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
    alias: { attract: join(REPOSITORY, "web/sdk/src/index.ts") },
  });
  // Without --expose-gc the growth would be garbage that is merely not collected yet.
  measured = JSON.parse(execFileSync("node", ["--expose-gc", outfile], { encoding: "utf8" })) as Measured;
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true }));

test("10^6 agent steps grow the heap by less than 1 MiB", () => {
  expect(measured.heapGrowthBytes).toBeLessThan(MIB);
});

test("10^6 agent steps leave less garbage than one small object each", () => {
  expect(measured.garbageBytesPerStep).toBeLessThan(4);
});

test("a step through the instance takes less than three times the bare tick", () => {
  // Both in the same process, interleaved, so that a busy machine slows both alike.
  expect(measured.instanceNanoseconds / measured.bareNanoseconds).toBeLessThan(3);
});
