/** Every module of these pages of the guide is whole: it passes the strict type check, is bundled, and plays without an error. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkGame } from "../../web/check/src/check.ts";
import type { GameDefinition } from "../../web/sdk/src/contract.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SDK = path.join(ROOT, "web/sdk/src/index.ts");
/** A block whose first line names a file. */
const FILE = /^```\w+\n\/\/ ([\w.-]+)\n(.*?)^```$/gms;
const TSC_MS = 60_000;

const pages = ["docs/games.md", "docs/several-agents.md", "docs/opponents.md"];
const text = pages.map((page) => readFileSync(path.join(ROOT, page), "utf8")).join("\n");
const files = new Map(Array.from(text.matchAll(FILE), ([, name, body]) => [name, body]));
const games = [...files.keys()].filter((name) => name.endsWith(".ts"));
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "attract-docs-"));
  for (const [name, body] of files) writeFileSync(path.join(folder, name), body);
});

afterAll(() => rmSync(folder, { recursive: true }));

test("the pages show a module for each part of the contract", () => {
  expect(games).toHaveLength(text.match(/^```ts$/gm)!.length);
  expect(games.length).toBeGreaterThanOrEqual(8);
});

test(
  "all of them pass the type check under the page's own tsconfig",
  () => {
    const config = JSON.parse(files.get("tsconfig.json")!) as {
      compilerOptions: { strict: boolean; paths: Record<string, string[]> };
    };
    expect(config.compilerOptions.strict).toBe(true);
    expect(config.compilerOptions.paths.attract.map((file) => path.join(ROOT, file))).toEqual([SDK]);
    config.compilerOptions.paths.attract = [SDK];
    writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
    expect(() => typeCheck(folder)).not.toThrow();
    // The check is one: a wrong type is found.
    writeFileSync(
      path.join(folder, "wrong.ts"),
      files.get("catch.ts")!.replace("tickSeconds: 0.1", 'tickSeconds: "0.1"'),
    );
    expect(() => typeCheck(folder)).toThrow(/wrong\.ts.*not assignable/s);
  },
  TSC_MS,
);

describe.each(games)("%s", (name) => {
  test("plays without an error", async () => {
    const out = path.join(folder, name.replace(".ts", ".mjs"));
    await esbuild.build({
      entryPoints: [path.join(folder, name)],
      bundle: true,
      format: "esm",
      alias: { attract: SDK },
      outfile: out,
      logLevel: "silent",
    });
    const { default: game } = (await import(/* @vite-ignore */ pathToFileURL(out).href)) as {
      default: GameDefinition;
    };
    const report = await checkGame(game, {
      steps: 500,
      now: performance.now.bind(performance),
      heapBytes: () => process.memoryUsage().heapUsed,
    });
    // A warning there is of those that show something else than drawing.
    expect(report.findings.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(report.play!.episodes).toBeGreaterThan(1);
  });
});

/** Raises with what the compiler said. */
function typeCheck(project: string): void {
  try {
    execFileSync(process.execPath, [path.join(ROOT, "node_modules/typescript/bin/tsc"), "-p", project], {
      encoding: "utf8",
    });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout);
  }
}
