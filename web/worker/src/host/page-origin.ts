/** Where the threads of games that live in a page run: on origins that have nothing of the server's but the game's files. */

import type { GameReference } from "@attract/schema";

/** A name between two dots has at most 63 letters: so many of the hash say which game's origin it is. */
const PAGE_KEY = 32;
const LOOPBACK = ["127.0.0.1", "localhost"];
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * The document of thread `id`; null where a page at `base` finds no such origin.
 *
 * On the server's own machine each thread has a name, and so a process, of its own. Elsewhere none of those names is known: a
 * visitor's threads share the site that the server's IPv4 address is when it is spelt as IPv6, beside which cookies, storage
 * and process of the page that asks are another site's.
 *
 * @param base of the page. @param sha256 of the game's module.
 */
export function pageThreadUrl(base: URL, id: number, sha256: string): URL | null {
  const key = sha256.slice(0, PAGE_KEY);
  const url = new URL(".attract/page-thread.html", base.origin);
  if (LOOPBACK.includes(base.hostname)) url.hostname = `g${id}-${key}.localhost`;
  else if (base.protocol === "http:" && IPV4.test(base.hostname)) {
    url.hostname = `[::ffff:${base.hostname}]`;
    url.pathname = `/${key}${url.pathname}`;
  } else return null;
  return url;
}

/** How many threads of `game` a page at `base` has use of: those that share a process only take turns. */
export function maxThreads(base: URL, { has_page }: Pick<GameReference, "has_page">): number {
  return has_page && !LOOPBACK.includes(base.hostname) ? 1 : Number.POSITIVE_INFINITY;
}
