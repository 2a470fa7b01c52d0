/** The part that runs in Playwright's own process: loads the game, serves the built page, calls the player. */

import type { GameDefinition } from "attract/contract";
import { GAME_POLICY, PACKAGE_HOSTS } from "../page-clock/src/page-policy.gen.ts";
import { type FindingOrder, type PlayedFinding, playFinding } from "./player.ts";

/** The origin of a page that is a folder: nothing is asked of any network. */
const ORIGIN = "http://game.localhost";
const HOST = "/.attract/test.html";
/** As where episodes are recorded: no windows, no forms, no way out, by no answer of any type. */
const HEADERS = { "content-security-policy": GAME_POLICY };
const PORTAL = /poki-sdk|crazygames-sdk|youtube\.com\/game_api|gamedistribution\.com\/main/;
const PORTAL_TEXT = "attractInstallPortal?.(document.currentScript.src);";

/** As far as they are used of Playwright's. */
interface Route {
  request(): { url(): string; headers(): Record<string, string> };
  fetch(options: { maxRedirects: number }): Promise<Answer>;
  fulfill(answer: {
    response?: Answer;
    path?: string;
    body?: string;
    status?: number;
    contentType?: string;
    headers?: Record<string, string>;
  }): Promise<void>;
  fallback(): Promise<void>;
  abort(reason: string): Promise<void>;
}
interface Answer {
  headers(): Record<string, string>;
}
interface Page {
  route(pattern: RegExp, handler: (route: Route) => Promise<void>): Promise<void>;
  addInitScript(script: { path: string }): Promise<unknown>;
  goto(address: string): Promise<unknown>;
  evaluate<T>(play: (order: PageOrder) => Promise<T>, order: PageOrder): Promise<T>;
}

interface PageOrder extends FindingOrder {
  /** Text of the adapter's module. */
  game: string;
  page: string;
}

/** Where a game that lives in a page is. */
export interface PagePlace {
  /** Path of this script. */
  script: string;
  /** Text of the adapter's module. */
  game: string;
  /** The built site: an absolute folder, or the address of a server. */
  site: string;
  /** The page, as a path in it; empty where the address is the page's. */
  page: string;
}

/** Plays in Node. @param module a game's: `export default defineGame(...)`. */
export async function playModule(module: { default: unknown }, order: FindingOrder): Promise<PlayedFinding> {
  // In a module that was compiled to CommonJS the default export is one level deeper.
  const inner = module.default as { default?: unknown };
  return await playFinding((inner.default ?? inner) as GameDefinition, order);
}

/** Plays in the built page, which a browser has to itself. */
export async function playInPage(page: Page, place: PagePlace, order: FindingOrder): Promise<PlayedFinding> {
  const isServed = /^https?:/.test(place.site);
  const origin = isServed ? new URL(place.site).origin : ORIGIN;
  const base = isServed ? new URL(".", place.site).pathname : "/";
  await page.route(/^https?:/, async (route) => {
    const url = new URL(route.request().url());
    const fulfill = (contentType: string, body: string) =>
      route.fulfill({ contentType, body, headers: HEADERS });
    if (url.origin === origin && url.pathname === HOST)
      await fulfill("text/html", "<!doctype html><title>attract ci</title>");
    else if (PORTAL.test(url.href)) await fulfill("text/javascript", PORTAL_TEXT);
    else if (url.protocol === "https:" && PACKAGE_HOSTS.includes(url.host)) await route.fallback();
    // A service worker could answer its page by documents without a policy.
    else if (url.origin !== origin || "service-worker" in route.request().headers())
      await route.abort("blockedbyclient");
    else if (isServed) {
      const response = await route.fetch({ maxRedirects: 0 });
      await route.fulfill({ response, headers: { ...response.headers(), ...HEADERS } });
    } else await fulfillFile(route, place.site, url.pathname);
  });
  await page.addInitScript({ path: place.script });
  await page.goto(origin + HOST);
  const path = isServed && place.page === "" ? new URL(place.site).pathname : base + place.page;
  return await page.evaluate(
    async ({ game, page: address, ...rest }) => {
      const url = URL.createObjectURL(new Blob([game], { type: "text/javascript" }));
      const module = await import(/* @vite-ignore */ url);
      const { attractTest } = globalThis as unknown as {
        attractTest: { playFinding: typeof playFinding };
      };
      return await attractTest.playFinding(module.default, rest, address);
    },
    { ...order, game: place.game, page: path },
  );
}

async function fulfillFile(route: Route, folder: string, path: string): Promise<void> {
  try {
    await route.fulfill({ path: await fileBelow(folder, decodeURIComponent(path)), headers: HEADERS });
  } catch {
    await route.fulfill({ status: 404, body: `there is no ${path}`, headers: HEADERS });
  }
}

/** The file at a path that a page asks for. @throws It is hidden, not below `folder`, or not there. */
export async function fileBelow(folder: string, path: string): Promise<string> {
  // In Node alone; and the same script is put into pages.
  const { realpath } = await import("node:fs/promises" as string);
  const { relative } = await import("node:path" as string);
  const file: string = await realpath(`${folder}/${path.endsWith("/") ? `${path}index.html` : path}`);
  const below: string = relative(await realpath(folder), file);
  // Package managers keep packages in hidden folders of their own.
  const own = below.replace(/(^|[\\/])node_modules[\\/].*/, "");
  if (/^[\\/]|^\w:|(^|[\\/])\./.test(own)) throw new Error(`${path} is not served`);
  return file;
}
