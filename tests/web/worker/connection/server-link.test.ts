/** What both connections share: greeting, refusal, reports for a server that is away. */

import type { GameFailed, Hello } from "@attract/schema";
import { ServerLink } from "@attract/worker/connection/server-link";
import { expect, test } from "vitest";

const HELLO = { type: "hello" } as Hello;

function report(text: string): GameFailed {
  return { type: "game_failed", text } as GameFailed;
}

test("greets on every socket, and is welcome only once it was answered", () => {
  const link = new ServerLink(HELLO, () => 0.5);
  expect(link.opened()).toEqual([{ kind: "send", message: HELLO }]);
  expect(link.isWelcome).toBe(false);
  expect(link.welcomed()).toEqual([]);
  expect(link.isWelcome).toBe(true);
  expect(link.closed(1006, "")).toEqual({ next: "reconnect", why: "the server closed with code 1006" });
  expect(link.isWelcome).toBe(false);
});

test("a refusal says more than the close that follows it, and is forgotten with the next socket", () => {
  const link = new ServerLink(HELLO, () => 0.5);
  link.opened();
  link.refused({
    type: "refused",
    code: "token",
    reason: "it has expired",
    fix: "ask again",
    close_code: 4002,
  });
  expect(link.closed(4002, "token")?.why).toBe("it has expired; ask again");
  link.opened();
  expect(link.closed(4002, "token")?.why).toBe("token");
  link.opened();
  link.refused({
    type: "refused",
    code: "too_large",
    reason: "a hello of 9 bytes",
    fix: "",
    close_code: 4004,
  });
  expect(link.closed(4004, "")?.why).toBe("a hello of 9 bytes");
});

test("waits longer after each failure, and from the start again after a welcome", () => {
  const link = new ServerLink(HELLO, () => 0.5);
  expect([link.reconnect().delayMs, link.reconnect().delayMs]).toEqual([250, 500]);
  link.welcomed();
  expect(link.reconnect().delayMs).toBe(250);
});

test("keeps the first 20 reports for a server that is away", () => {
  const link = new ServerLink(HELLO, () => 0.5);
  for (let i = 0; i < 25; i++) expect(link.report(report(`${i}`))).toEqual([]);
  const sent = link.welcomed().map(({ message }) => (message as GameFailed).text);
  expect(sent).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
  expect(link.report(report("now"))).toEqual([{ kind: "send", message: report("now") }]);
  expect(link.welcomed()).toEqual([]);
});

test("nothing follows once all has ended", () => {
  const link = new ServerLink(HELLO, () => 0.5);
  link.opened();
  link.end();
  expect(link.isEnded).toBe(true);
  expect(link.closed(1006, "")).toBeNull();
});
