/** The part that runs in Playwright's own process: loads the game, serves the built page, calls the player. */

import type { GameDefinition } from "attract/contract";
import { type FindingOrder, type PlayedFinding, playFinding } from "./player.ts";

/** The origin of a page that is a folder: nothing is asked of any network. */
const ORIGIN = "http://game.localhost";
const HOST = "/.attract/test.html";
/** As where episodes are recorded: no windows, no forms, no way out. */
const POLICY = "form-action 'none'; sandbox allow-scripts allow-same-origin allow-pointer-lock";
const PORTAL = /poki-sdk|crazygames-sdk|youtube\.com\/game_api|gamedistribution\.com\/main/;
const PORTAL_TEXT = "attractInstallPortal?.(document.currentScript.src);";

/** As far as they are used of Playwright's. */
interface Route {
  request(): { url(): string };
  fulfill(answer: {
    path?: string;
    body?: string;
    status?: number;
    contentType?: string;
    headers?: Record<string, string>;
  }): Promise<void>;
  fallback(): Promise<void>;
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
  // Of a module that was compiled to CommonJS, the default export is one level deeper.
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
    if (url.origin === origin && url.pathname === HOST)
      await route.fulfill({ contentType: "text/html", body: "<!doctype html><title>attract ci</title>" });
    else if (PORTAL.test(url.href))
      await route.fulfill({ contentType: "text/javascript", body: PORTAL_TEXT });
    else if (url.origin !== ORIGIN) await route.fallback();
    else await fulfillFile(route, place.site, decodeURIComponent(url.pathname));
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
  const file = path.endsWith("/") ? `${path}index.html` : path;
  const headers: Record<string, string> = /\.html?$/.test(file) ? { "content-security-policy": POLICY } : {};
  try {
    await route.fulfill({ path: folder + file, headers });
  } catch {
    await route.fulfill({ status: 404, body: `there is no ${file}` });
  }
}
