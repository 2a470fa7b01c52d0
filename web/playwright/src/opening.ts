/** Finds the files that a test names, and opens the game in its page or in Node. */

import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import * as nodeModule from "node:module";
import path from "node:path";
import type { Page, PlaywrightWorkerArgs, TestInfo } from "@playwright/test";
import type { GameDefinition } from "attract/contract";
import { wordsOf } from "../../page-probe/src/json-value.ts";
import { choosePolicy } from "../../play/src/document.ts";
import { definitionOf } from "../../worker/src/game/load-game.ts";
import { type Answer, type CommandName, Commands } from "./commands.ts";
import type { AttractGame, PageOrder } from "./in-page.ts";
import { confinement, openHost } from "./serving.ts";
import type { GameOptions } from "./types.ts";

/** Text of `in-page.ts`, bundled; the build puts it here. */
declare const PAGE_SCRIPT: string;

const MAX_WORDS = 1_000;
type InPage = typeof globalThis & { attractGame: AttractGame };
const ADDRESS = /^https?:/;

/** A game that takes commands. */
export interface Opened {
  obey(name: CommandName, order: unknown): Promise<Answer>;
  /** Null: it is a module. */
  page: Page | null;
  close(): Promise<void>;
}

/** The first of `names` that there is, beside the test or beside playwright.config. */
export function fileOf(name: string, { file, config }: TestInfo, ...others: string[]): string {
  const folders = [path.dirname(file), config.configFile ? path.dirname(config.configFile) : config.rootDir];
  const tried = [name, ...others].flatMap((one) => folders.map((folder) => path.resolve(folder, one)));
  const found = tried.find((one) => existsSync(one));
  if (found === undefined)
    throw new Error(`there is no ${name}: looked for ${[...new Set(tried)].join(", ")}`);
  return found;
}

export async function readEpisode(file: string): Promise<unknown> {
  const episode = JSON.parse(await readFile(file, "utf8"));
  if (episode?.format !== "attract-episode") throw new Error(`${file} is no recorded episode of Attract`);
  return episode;
}

/** @param file a folder of `attract export`, or a file in one. */
export async function readPolicy(file: string): Promise<{ document: string; model: string }> {
  const folder = statSync(file).isDirectory() ? file : path.dirname(file);
  const document = await readFile(path.join(folder, "policy.json"), "utf8");
  const parsed = JSON.parse(document);
  const { file: model } = choosePolicy(parsed, undefined);
  const count: number | undefined = parsed.parts?.[model];
  const names = count === undefined ? [model] : Array.from({ length: count }, (_, i) => `${model}.${i + 1}`);
  const parts = await Promise.all(names.map((name) => readFile(path.join(folder, path.basename(name)))));
  return { document, model: Buffer.concat(parts).toString("base64") };
}

/** Plays in Node. */
export async function openModule(options: GameOptions, info: TestInfo): Promise<Opened> {
  if (options.page === undefined)
    throw new Error('name the module: test.use({ attract: { page: "../src/game.ts" } })');
  const file = fileOf(options.page, info);
  let module: { default?: unknown };
  try {
    // By its path: Playwright compiles TypeScript, to CommonJS where package.json has no "type": "module".
    module = nodeModule.createRequire(file)(file);
  } catch {
    module = await import(file);
  }
  // In a module that was compiled to CommonJS the default export is one level deeper.
  const inner = module.default as { default?: unknown } | undefined;
  const commands = new Commands(
    definitionOf({ default: inner?.default ?? inner }, file) as GameDefinition,
    {},
  );
  return {
    obey: (name, order) => commands.obey(name, order),
    page: null,
    close: async () => commands.close(),
  };
}

/** Plays in the page, in a context of its own: what a test does in others is not bound by it. */
export async function openPage(
  { browser, playwright }: PlaywrightWorkerArgs,
  options: GameOptions,
  baseURL: string | undefined,
  info: TestInfo,
): Promise<Opened> {
  const { device, size, inputs, draws = false } = options;
  const { site, ...place } = placeOf(options, baseURL, info);
  const adapter = options.adapter === undefined ? null : await adapterText(fileOf(options.adapter, info));
  const order: PageOrder = { ...place, adapter, device, size, inputs, draws };
  const context = await browser.newContext(confinement(site));
  const server = await playwright.request.newContext();
  const page = await context.newPage();
  const close = async (): Promise<void> => {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
    await server.dispose();
  };
  try {
    await openHost(page, site, PAGE_SCRIPT, server);
    const problem = await page.evaluate((given) => (globalThis as InPage).attractGame.begin(given), order);
    if (problem !== null) throw new Error(wordsOf(problem, MAX_WORDS));
  } catch (error) {
    await close();
    throw error;
  }
  const obey: Opened["obey"] = async (...command) => {
    const answer = await page.evaluate((given) => (globalThis as InPage).attractGame.obey(...given), command);
    if (typeof answer !== "object" || answer === null)
      throw new Error("the page took the document away that answers for it");
    const shown: unknown = answer.value;
    if (command[0] === "open" && draws && Array.isArray(shown))
      await page.setViewportSize({ width: Number(shown[0]), height: Number(shown[1]) });
    return answer;
  };
  return { obey, page, close };
}

/** Where the page's files come from, and the page there. */
function placeOf(
  { page, root, adapter }: GameOptions,
  baseURL: string | undefined,
  info: TestInfo,
): Pick<PageOrder, "page" | "base"> & { site: string } {
  const from = root ?? page;
  if (from === undefined && baseURL === undefined && adapter !== undefined)
    return { site: path.dirname(fileOf(adapter, info)), base: "/", page: null };
  if (from === undefined && baseURL === undefined)
    throw new Error('name the page: test.use({ attract: { page: "../dist" } }), or give a baseURL');
  const isOfServer = from === undefined || ADDRESS.test(from) || (from.startsWith("/") && !existsSync(from));
  if (isOfServer) {
    const url = new URL(from ?? "", baseURL);
    const at = root === undefined || !page ? url : new URL(page, url);
    const isNamed = from !== undefined || adapter === undefined;
    return {
      site: url.href,
      base: new URL(".", url).pathname,
      page: isNamed ? at.pathname + at.search : null,
    };
  }
  const file = fileOf(from, info);
  if (root !== undefined) return { site: file, base: "/", page: page === undefined ? null : `/${page}` };
  if (statSync(file).isDirectory()) return { site: file, base: "/", page: "/index.html" };
  if (!/\.html?$/.test(file))
    throw new Error(`${file} is no page: a module is played by the fixture moduleGame`);
  return { site: path.dirname(file), base: "/", page: `/${path.basename(file)}` };
}

/** With types only where Node can take them out. */
async function adapterText(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  if (!/\.[cm]?ts$/.test(file)) return text;
  const { stripTypeScriptTypes: strip } = nodeModule as { stripTypeScriptTypes?: (text: string) => string };
  if (strip !== undefined) return strip(text);
  const bundled = path.basename(file).replace(/ts$/, "js");
  throw new Error(
    `Node ${process.version} cannot take the types out of ${file}: use Node 22.13, or bundle it: ` +
      `npx esbuild ${path.basename(file)} --bundle --format=esm --external:attract/page --outfile=${bundled}`,
  );
}
