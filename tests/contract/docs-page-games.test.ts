/** The adapter of `docs/page-games.md` is whole: it passes the strict type check, and is a definition. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GameDefinition } from "../../web/sdk/src/contract.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGE_SDK = path.join(ROOT, "web/sdk/src/page/index.ts");
const TSC_MS = 60_000;

const text = readFileSync(path.join(ROOT, "docs/page-games.md"), "utf8");
const [, adapter] = /^```ts\n(.*?)^```$/ms.exec(text)!;
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "attract-docs-"));
  writeFileSync(path.join(folder, "trex.page.ts"), adapter);
});

afterAll(() => rmSync(folder, { recursive: true }));

test(
  "it passes the strict type check, which finds a wrong option",
  () => {
    const compilerOptions = {
      ...{
        target: "es2022",
        module: "esnext",
        moduleResolution: "bundler",
        strict: true,
        noEmit: true,
        types: [],
      },
      ...{ lib: ["es2023", "dom", "dom.iterable"], allowImportingTsExtensions: true, skipLibCheck: true },
      paths: { "attract/page": [PAGE_SDK] },
    };
    const config = { compilerOptions, include: ["*.ts"] };
    writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = (): string => {
      try {
        const words = [path.join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder];
        return execFileSync(process.execPath, words, { encoding: "utf8" });
      } catch (error) {
        return (error as { stdout: string }).stdout;
      }
    };
    expect(tsc()).toBe("");
    writeFileSync(path.join(folder, "wrong.ts"), adapter.replace("size: [640, 300]", 'size: "large"'));
    expect(tsc()).toMatch(/wrong\.ts.*not assignable/s);
  },
  TSC_MS,
);

test("it is a definition of a game that lives in that page", async () => {
  const out = path.join(folder, "trex.mjs");
  await esbuild.build({
    entryPoints: [path.join(folder, "trex.page.ts")],
    bundle: true,
    format: "esm",
    alias: { "attract/page": PAGE_SDK },
    outfile: out,
  });
  const { default: game } = (await import(/* @vite-ignore */ pathToFileURL(out).href)) as {
    default: GameDefinition;
  };
  expect([game.id, game.page?.page, game.page?.reset]).toEqual(["TRex-v1", "t-rex-runner/index.html", "own"]);
});
