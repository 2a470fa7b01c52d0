/** What the game's page gets: the files of its folder or the answers of its server, and published packages. */

import { realpath } from "node:fs/promises";
import path from "node:path";
import type { APIRequestContext, BrowserContextOptions, Page, Route } from "@playwright/test";
import * as adapters from "attract/page";
import { GAME_POLICY, PACKAGE_HOSTS } from "../../page-clock/src/page-policy.gen.ts";

/** The origin of a page that is a folder: nothing is asked of any network. */
const ORIGIN = "http://game.localhost";
/** A port at which nothing listens. */
const NOWHERE = "http://127.0.0.1:1";
const HOST = "/.attract/test.html";
const SDK = "/.attract/page.js";
/** The document that holds the page's frame; adapters import what a bundler would have given them. */
const HOST_TEXT = `<!doctype html><title>Attract</title><style>body { margin: 0 }</style>
<script type="importmap">{ "imports": { "attract/page": "${SDK}" } }</script>`;
const SDK_TEXT = `export const { ${Object.keys(adapters).join(", ")} } = attractGame.page;`;
/** As where episodes are recorded: no windows, no forms, no way out, by no answer of any type. */
const HEADERS = { "content-security-policy": GAME_POLICY };
const PORTAL = /poki-sdk|crazygames-sdk|youtube\.com\/game_api|gamedistribution\.com\/main/;
const PORTAL_TEXT = "attractInstallPortal?.(document.currentScript.src);";

/**
 * What the browser may connect to at all, since a route sees neither connections that are made in advance, nor what a redirect
 * leads to, nor threads that a thread starts.
 */
export function confinement(site: string): BrowserContextOptions {
  const allowed = PACKAGE_HOSTS.map((host) => `https://${host}`);
  if (isAddress(site)) allowed.push(new URL(site).host);
  return { serviceWorkers: "block", proxy: { server: NOWHERE, bypass: ["<-loopback>", ...allowed].join() } };
}

/**
 * Opens the document that holds the game's page, in `page`.
 *
 * @param site an absolute folder, or the address of a server.
 * @param server what asks that server.
 */
export async function openHost(
  page: Page,
  site: string,
  script: string,
  server: APIRequestContext,
): Promise<void> {
  const isServed = isAddress(site);
  const origin = isServed ? new URL(site).origin : ORIGIN;
  await page.route(/^https?:/, async (route) => {
    const url = new URL(route.request().url());
    const fulfill = (contentType: string, body: string): Promise<void> =>
      route.fulfill({ contentType, body, headers: HEADERS });
    if (url.origin === origin && url.pathname === HOST) await fulfill("text/html", HOST_TEXT);
    else if (url.origin === origin && url.pathname === SDK) await fulfill("text/javascript", SDK_TEXT);
    else if (PORTAL.test(url.href)) await fulfill("text/javascript", PORTAL_TEXT);
    else if (url.protocol === "https:" && PACKAGE_HOSTS.includes(url.host)) await route.fallback();
    // A service worker could answer its page by documents without a policy.
    else if (url.origin !== origin || "service-worker" in route.request().headers())
      await route.abort("blockedbyclient");
    else if (isServed) await fulfillServed(route, server);
    else await fulfillFile(route, site, url.pathname);
  });
  await page.addInitScript({ content: script });
  await page.goto(origin + HOST);
}

function isAddress(site: string): boolean {
  return /^https?:/.test(site);
}

async function fulfillServed(route: Route, server: APIRequestContext): Promise<void> {
  const response = await server.fetch(route.request(), { maxRedirects: 0 });
  await route.fulfill({ response, headers: { ...response.headers(), ...HEADERS } });
}

async function fulfillFile(route: Route, folder: string, name: string): Promise<void> {
  try {
    await route.fulfill({ path: await fileBelow(folder, decodeURIComponent(name)), headers: HEADERS });
  } catch {
    await route.fulfill({ status: 404, body: `there is no ${name}`, headers: HEADERS });
  }
}

/** The file at a path that a page asks for. @throws It is hidden, not below `folder`, or not there. */
async function fileBelow(folder: string, name: string): Promise<string> {
  const file = await realpath(`${folder}/${name.endsWith("/") ? `${name}index.html` : name}`);
  const below = path.relative(await realpath(folder), file);
  // Package managers keep packages in hidden folders of their own.
  const own = below.replace(/(^|[\\/])node_modules[\\/].*/, "");
  if (/^[\\/]|^\w:|(^|[\\/])\./.test(own)) throw new Error(`${name} is not served`);
  return file;
}
