/** Whether the server answers, as the page tells it to all who show it. */

import { expect, it, vi } from "vitest";
import { ServerLink } from "../../../../web/dashboard/src/state/server-link.ts";

it("is away from the first request without an answer, and heals with the next that has one", () => {
  const link = new ServerLink();
  const changed = vi.fn();
  const leave = link.subscribe(changed);
  link.report(true);
  expect(link.isAway()).toBe(false);
  expect(changed).not.toHaveBeenCalled();
  link.report(false);
  link.report(false);
  expect(link.isAway()).toBe(true);
  expect(changed).toHaveBeenCalledTimes(1);
  link.report(true);
  expect(link.isAway()).toBe(false);
  leave();
  link.report(false);
  expect(changed).toHaveBeenCalledTimes(2);
});
