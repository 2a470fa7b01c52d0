import type { Assignment, FromBrowser, GameFailed, Hello } from "@attract/schema";
import { HostConnection } from "@attract/worker/host/host-connection";
import { describe, expect, test } from "vitest";

const HELLO = { type: "hello", role: "host" } as Hello;
const WELCOME = { type: "welcome_host" as const, host_id: "0".repeat(32), tier: "invited" as const };
const STATUS: Extract<FromBrowser, { type: "host_status" }> = {
  type: "host_status",
  run_id: "run",
  num_workers: 2,
  hidden: false,
};
const ASSIGNMENT = { type: "assignment", run_id: "run", num_workers: 2 } as Assignment;

function connected(): HostConnection {
  const connection = new HostConnection(HELLO, () => 0.5);
  connection.opened();
  connection.received(WELCOME);
  return connection;
}

describe("a host's connection", () => {
  test("greets, is welcomed with its tier, and takes assignments", () => {
    const connection = new HostConnection(HELLO, () => 0.5);
    expect(connection.opened()).toEqual([{ kind: "send", message: HELLO }]);
    expect(connection.isConnected).toBe(false);
    expect(connection.received(WELCOME)).toEqual([{ kind: "welcomed", tier: "invited" }]);
    expect(connection.isConnected).toBe(true);
    expect(connection.received(ASSIGNMENT)).toEqual([{ kind: "assign", assignment: ASSIGNMENT }]);
    expect(connection.received({ ...ASSIGNMENT, run_id: null })).toEqual([{ kind: "idle" }]);
  });

  test("the end of its own run makes it idle, that of another does not", () => {
    const connection = connected();
    connection.received(ASSIGNMENT);
    expect(connection.received({ type: "run_ended", run_id: "other", reason: "" })).toEqual([]);
    expect(connection.received({ type: "run_ended", run_id: "run", reason: "" })).toEqual([{ kind: "idle" }]);
  });

  test("keeps reports and the newest status for a server that is away", () => {
    const connection = connected();
    expect(connection.closed(1006, "")).toEqual([{ kind: "connect", delayMs: 250 }]);
    const report = { type: "game_failed", kind: "hang" } as GameFailed;
    expect(connection.gameFailed(report)).toEqual([]);
    connection.status({ ...STATUS, num_workers: 1 });
    expect(connection.status(STATUS)).toEqual([]);
    connection.opened();
    expect(connection.received(WELCOME).slice(1)).toEqual([
      { kind: "send", message: report },
      { kind: "send", message: STATUS },
    ]);
  });

  test("after a run's end it comes back and waits; after a refusal it stays away with the reason", () => {
    const over = connected();
    expect(over.closed(4010, "")).toEqual([{ kind: "idle" }, { kind: "connect", delayMs: 250 }]);
    const refused = new HostConnection(HELLO, () => 0.5);
    refused.opened();
    refused.received({
      type: "refused",
      code: "token",
      reason: "it has expired",
      fix: "ask for a link",
      close_code: 4002,
    });
    expect(refused.closed(4002, "")).toEqual([{ kind: "end", error: "it has expired; ask for a link" }]);
    expect(refused.closed(1006, "")).toEqual([]);
    expect(connected().closed(1000, "bye")).toEqual([{ kind: "end", error: "bye" }]);
    expect(connected().closed(4001, "other build")).toEqual([{ kind: "reload", reason: "other build" }]);
  });
});
