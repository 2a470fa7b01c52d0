/** The page of a stranger in Playwright Test: it gets its own files, and no way out. */

import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { GAME_POLICY } from "../../../web/page-clock/src/page-policy.gen.ts";
import { openHost } from "../../../web/playwright/src/serving.ts";

interface Answer {
  headers?: Record<string, string>;
  path?: string;
  response?: unknown;
  status?: number;
}
type Handler = (route: object) => Promise<void>;
let folder: string;

beforeAll(async () => {
  const top = await mkdtemp(path.join(tmpdir(), "playwright-"));
  folder = path.join(top, "site");
  await mkdir(path.join(folder, "node_modules", ".pnpm"), { recursive: true });
  await writeFile(path.join(top, "key"), "PRIVATE KEY");
  for (const name of ["index.html", "game.js", "picture.svg", ".env", "node_modules/.pnpm/kit.js"])
    await writeFile(path.join(folder, name), name);
  await symlink(path.join(top, "key"), path.join(folder, "link.txt"));
  await symlink(".env", path.join(folder, "hidden.txt"));
});

/** What became of a request of the page: a file below the site, "404", "network" or "aborted". */
async function asked(url: string, site = folder, headers: Record<string, string> = {}): Promise<string> {
  let handler: Handler | undefined;
  const page = {
    route: async (_: RegExp, given: Handler) => {
      handler = given;
    },
    addInitScript: async () => {},
    goto: async () => {},
  };
  const server = { fetch: async () => ({ headers: () => ({ "content-type": "image/svg+xml" }) }) };
  await openHost(page as never, site, "", server as never);
  let outcome = "";
  await handler?.({
    request: () => ({ url: () => url, headers: () => headers }),
    fulfill: async (answer: Answer) => {
      expect(answer.headers?.["content-security-policy"]).toBe(GAME_POLICY);
      const name = answer.path === undefined ? "" : path.relative(folder, answer.path);
      outcome = answer.response === undefined ? name || String(answer.status ?? "ours") : "served";
    },
    fallback: async () => {
      outcome = "network";
    },
    abort: async () => {
      outcome = "aborted";
    },
  });
  return outcome;
}

test("it gets the files of its folder alone, each with the game's policy", async () => {
  const up = `/..%2f..%2f..%2f..%2f..%2f..%2f${path.join(folder, "../key").slice(1).replaceAll("/", "%2f")}`;
  const outcomes: Record<string, string> = {};
  for (const name of ["/", "/game.js", "/picture.svg", "/node_modules/.pnpm/kit.js"])
    outcomes[name] = await asked(`http://game.localhost${name}`);
  expect(outcomes).toEqual({
    "/": "index.html",
    "/game.js": "game.js",
    "/picture.svg": "picture.svg",
    "/node_modules/.pnpm/kit.js": "node_modules/.pnpm/kit.js",
  });
  for (const name of [up, "/..%2fkey", "/link.txt", "/hidden.txt", "/.env", "/%00", "/%ff", "/gone.js"])
    expect(await asked(`http://game.localhost${name}`), name).toBe("404");
});

test("it reaches no other server but those of published packages", async () => {
  expect(await asked("https://cdn.jsdelivr.net/npm/three")).toBe("network");
  for (const url of ["http://evil.example/beacon", "http://cdn.jsdelivr.net/", "https://game.localhost/a"])
    expect(await asked(url), url).toBe("aborted");
  expect(await asked("http://evil.example/", "http://localhost:5173/")).toBe("aborted");
  expect(await asked("http://localhost:5173/a.svg", "http://localhost:5173/")).toBe("served");
  expect(await asked("http://game.localhost/game.js", folder, { "service-worker": "script" })).toBe(
    "aborted",
  );
  expect(await asked("https://sdk.poki.com/poki-sdk.js")).toBe("ours");
});
