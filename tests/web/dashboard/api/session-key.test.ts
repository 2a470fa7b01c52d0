/** The second secret of a session: kept by path, sent with what changes things. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { api } from "../../../../web/dashboard/src/api/client.ts";
import { keepSessionKey, keyName, sessionKey } from "../../../../web/dashboard/src/api/session-key.ts";

const kept = new Map<string, string>();
const sent: { path: string; headers: Headers }[] = [];

beforeEach(() => {
  kept.clear();
  sent.length = 0;
  vi.stubGlobal("document", { baseURI: "http://h/hub/me/" });
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  });
  vi.stubGlobal("fetch", async (url: URL, init: RequestInit) => {
    sent.push({ path: url.pathname, headers: new Headers(init.headers) });
    return Response.json({ key: "secret", info: {} });
  });
});

afterEach(() => vi.unstubAllGlobals());

it("servers of one origin have one each", () => {
  keepSessionKey("mine");
  expect(keyName("http://h/hub/other/index.html#/runs")).not.toBe(keyName());
  expect(sessionKey()).toBe("mine");
  expect([...kept.keys()]).toEqual([keyName("http://h/hub/me/index.html")]);
});

it("hostile 13: what changes things carries it, what only looks does not, and a logout forgets it", async () => {
  await api.openSession("token");
  await api.runList();
  await api.stop("r");
  await api.logOut();
  await api.stop("r");
  expect(sent.map(({ path, headers }) => [path, headers.get("x-attract-key")])).toEqual([
    ["/hub/me/api/session", null],
    ["/hub/me/api/runs", null],
    ["/hub/me/api/runs/r/stop", "secret"],
    ["/hub/me/api/logout", "secret"],
    ["/hub/me/api/runs/r/stop", null],
  ]);
});

it("a browser that forbids storage may still look", async () => {
  vi.stubGlobal("localStorage", undefined);
  await api.openSession("token");
  expect(sessionKey()).toBeNull();
});
