/** Where threads of page games run, for pages at every kind of address. */

import { maxThreads, pageThreadUrl } from "@attract/worker/host/page-origin";
import { expect, test } from "vitest";

const SHA256 = "0123456789abcdef".repeat(4);
const KEY = SHA256.slice(0, 32);

test.each([
  ["http://127.0.0.1:8000/", `http://g7-${KEY}.localhost:8000/.attract/page-thread.html`],
  ["http://localhost/prefix/", `http://g7-${KEY}.localhost/.attract/page-thread.html`],
  ["http://192.168.1.5:8000/", `http://[::ffff:c0a8:105]:8000/${KEY}/.attract/page-thread.html`],
  ["https://192.168.1.5:8000/", undefined],
  ["http://trainer.lan:8000/", undefined],
  ["http://[fd00::1]:8000/", undefined],
])("a page at %s finds it at %s", (base, expected) => {
  const url = pageThreadUrl(new URL(base), 7, SHA256);
  expect(url?.href).toBe(expected);
  // Neither the page's origin nor, for browsers, its site.
  if (url !== null) expect(url.hostname).not.toBe(new URL(base).hostname);
});

test("threads that would share a process are one; all others have no limit here", () => {
  const [network, here] = [new URL("http://192.168.1.5:8000/"), new URL("http://localhost:8000/")];
  expect(maxThreads(network, { has_page: true })).toBe(1);
  expect(maxThreads(network, { has_page: false })).toBe(Number.POSITIVE_INFINITY);
  expect(maxThreads(here, { has_page: true })).toBe(Number.POSITIVE_INFINITY);
});
