/** The public page games: each that can be fetched has an adapter of ours, and wrong use says what is right. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const FOLDER = fileURLToPath(new URL("../../../../benchmarks/suite/pages", import.meta.url));

function fetchGame(...words: string[]) {
  const { status, stderr } = spawnSync("node", [join(FOLDER, "fetch.mjs"), ...words], { encoding: "utf8" });
  return { status, stderr };
}

test("every game that can be fetched has an adapter, and every adapter a game", () => {
  const { status, stderr } = fetchGame("pong", "/tmp/pong");
  expect(status).toBe(1);
  const named = /usage: fetch\.mjs (\S+) NEW_FOLDER/.exec(stderr)?.[1].split("|").sort();
  const adapters = readdirSync(FOLDER).filter((file) => file.endsWith(".page.ts"));
  expect(named).toEqual(adapters.map((file) => file.replace(".page.ts", "")).sort());
});

test("what is there already is not written over", () => {
  const folder = mkdtempSync(join(tmpdir(), "page-"));
  expect(fetchGame("flappy", folder)).toEqual({
    status: 1,
    stderr: `${folder} is there already: name a new folder\n`,
  });
  expect(readdirSync(folder)).toEqual([]);
});
