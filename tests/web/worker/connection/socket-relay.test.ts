/** A worker's socket, which its supervisor holds: both sides of the port, with a socket that only remembers. */

import { encodeMessage } from "@attract/schema";
import { PortSocket } from "@attract/worker/connection/port-socket";
import { MAX_UNSENT_BYTES, MIN_INTERVAL_MS, SocketRelay } from "@attract/worker/connection/socket-relay";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeSocket, HELLO } from "../support/fake-socket.ts";

let posted: unknown[];

function pair() {
  const relay: SocketRelay = new SocketRelay("ws://x/ws", HELLO, (message) => socket.heard(message));
  const socket = new PortSocket((message) => relay.heard(message, performance.now()), {
    opened: () => posted.push("opened"),
    received: (bytes) => posted.push(bytes),
    closed: (code, reason) => posted.push([code, reason]),
  });
  return { relay, socket };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  FakeSocket.all = [];
  posted = [];
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the hello goes first on every socket; then frames both ways, and what closed it", () => {
  const { socket } = pair();
  socket.send(encodeMessage({ type: "goodbye" }));
  socket.connect(0);
  vi.advanceTimersByTime(0);
  FakeSocket.last.open();
  expect(FakeSocket.last.sent).toEqual([HELLO]);
  expect(posted).toEqual(["opened"]);
  socket.send(encodeMessage({ type: "goodbye" }));
  expect(FakeSocket.last.sent.map(({ type }) => type)).toEqual(["hello", "goodbye"]);
  const ended = { type: "run_ended" as const, run_id: "run", reason: "done" };
  FakeSocket.last.hears(ended);
  expect(posted[1]).toEqual(encodeMessage(ended));
  FakeSocket.last.onclose?.({ code: 4010, reason: "over" });
  expect(posted[2]).toEqual([4010, "over"]);
  socket.connect(500);
  vi.advanceTimersByTime(500);
  FakeSocket.last.open();
  expect(FakeSocket.all).toHaveLength(2);
  expect(FakeSocket.last.sent).toEqual([HELLO]);
});

test("what is sent is a copy: the sender's buffer goes on being used", () => {
  const { socket, relay } = pair();
  const seen: Uint8Array[] = [];
  vi.spyOn(relay, "heard").mockImplementation((message) => {
    if (message.type === "send") seen.push(message.bytes);
  });
  socket.heard({ type: "opened" });
  const shared = new Uint8Array(100).fill(7);
  socket.send(shared.subarray(10, 20));
  shared.fill(0);
  expect(seen[0]).toEqual(new Uint8Array(10).fill(7));
  expect(seen[0].buffer.byteLength).toBe(10);
});

test("closed for good, nothing is heard and nothing sent", () => {
  const { socket } = pair();
  socket.connect(0);
  vi.advanceTimersByTime(0);
  FakeSocket.last.open();
  socket.close();
  socket.close();
  expect(FakeSocket.last.readyState).toBe(3);
  socket.heard({ type: "received", bytes: new Uint8Array(1) });
  expect(posted).toEqual(["opened"]);
});

test("hostile_01: a game that asks for sockets without end gets one at a time, five a second", () => {
  const { relay } = pair();
  for (let i = 0; i < 100; i++) {
    relay.heard({ type: "connect", delayMs: Number.NaN }, performance.now());
    vi.advanceTimersByTime(10);
  }
  expect(FakeSocket.all.length).toBeLessThanOrEqual(1000 / MIN_INTERVAL_MS + 1);
});

test("hostile_01: what is no frame is refused, and so is a flood", () => {
  const { relay } = pair();
  relay.heard({ type: "connect", delayMs: 0 }, 0);
  vi.advanceTimersByTime(0);
  FakeSocket.last.open();
  for (const bytes of ["text", null, {}, new ArrayBuffer(1)]) {
    expect(() => relay.heard({ type: "send", bytes } as never, 1)).toThrow(TypeError);
  }
  FakeSocket.last.bufferedAmount = MAX_UNSENT_BYTES + 1;
  expect(() => relay.heard({ type: "send", bytes: new Uint8Array(1) }, 1)).toThrow(RangeError);
  expect(FakeSocket.last.sent).toEqual([HELLO]);
});
