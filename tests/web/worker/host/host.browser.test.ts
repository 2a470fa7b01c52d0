/** A page's side of a host, with the real supervisor worker and no server behind it. */

import { reloadOnce, startHost } from "@attract/worker/host/host";
import type { HostStatus } from "@attract/worker/host/worker-messages";
import { expect, test, vi } from "vitest";

test("the supervisor starts, says that it is not connected, keeps a lock, and lets go of it when stopped", async () => {
  const seen: HostStatus[] = [];
  const base = new URL("/no-server-here/", location.href);
  const handle = startHost({ base, token: "t", maxWorkers: 1, onStatus: (status) => seen.push(status) });
  await vi.waitFor(() => expect(seen.length).toBeGreaterThan(0), { timeout: 20_000 });
  expect(seen[0]).toMatchObject({ connected: false, runId: null, numWorkers: 0, ended: false });
  const held = async (): Promise<number> =>
    (await navigator.locks.query()).held?.filter(({ name }) => name?.startsWith("attract-host-")).length ?? 0;
  expect(await held()).toBe(1);
  handle.stop();
  handle.stop();
  await vi.waitFor(async () => expect(await held()).toBe(0), { timeout: 20_000 });
});

test("a page reloads once for its build, and not again", () => {
  sessionStorage.clear();
  let reloads = 0;
  for (let i = 0; i < 3; i++) reloadOnce(() => reloads++);
  expect(reloads).toBe(1);
  sessionStorage.clear();
});
