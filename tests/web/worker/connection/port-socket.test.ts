/** A worker's end of its socket: what it posts to its supervisor, and what it makes of the answers. */

import { PortSocket } from "@attract/worker/connection/port-socket";
import { beforeEach, expect, test } from "vitest";

let posted: [unknown, Transferable[]][];
let events: unknown[];
let socket: PortSocket;

beforeEach(() => {
  posted = [];
  events = [];
  socket = new PortSocket((message, transfer) => posted.push([message, transfer]), {
    opened: () => events.push("opened"),
    received: (bytes) => events.push(bytes),
    closed: (code, reason) => events.push([code, reason]),
  });
});

test("nothing is sent before the socket is open, nor once it is closed", () => {
  socket.send(Uint8Array.of(1));
  socket.heard({ type: "opened" });
  socket.send(Uint8Array.of(2));
  socket.heard({ type: "closed", code: 1006, reason: "gone" });
  socket.send(Uint8Array.of(3));
  expect(posted.map(([message]) => message)).toEqual([{ type: "send", bytes: Uint8Array.of(2) }]);
  expect(events).toEqual(["opened", [1006, "gone"]]);
});

test("what is sent is a copy of these bytes alone, handed over with its memory", () => {
  socket.heard({ type: "opened" });
  const buffer = new Uint8Array(1000).fill(7);
  socket.send(buffer.subarray(10, 13));
  buffer.fill(0);
  const [[message, transfer]] = posted as [[{ bytes: Uint8Array }, Transferable[]]];
  expect([...message.bytes]).toEqual([7, 7, 7]);
  expect(transfer).toEqual([message.bytes.buffer]);
  expect(message.bytes.buffer.byteLength).toBe(3);
});

test("it is connected again after so long, and what comes then is heard", () => {
  socket.connect(0);
  socket.heard({ type: "opened" });
  socket.heard({ type: "closed", code: 1006, reason: "" });
  socket.connect(250);
  socket.heard({ type: "opened" });
  socket.heard({ type: "received", bytes: Uint8Array.of(9) });
  expect(posted.map(([message]) => message)).toEqual([
    { type: "connect", delayMs: 0 },
    { type: "connect", delayMs: 250 },
  ]);
  expect(events).toEqual(["opened", [1006, ""], "opened", Uint8Array.of(9)]);
});

test("who hung up says so once and hears nothing any more", () => {
  socket.heard({ type: "opened" });
  socket.close();
  socket.close();
  socket.heard({ type: "received", bytes: Uint8Array.of(9) });
  socket.heard({ type: "closed", code: 1000, reason: "" });
  expect(posted.map(([message]) => message)).toEqual([{ type: "disconnect" }]);
  expect(events).toEqual(["opened"]);
});
