import { closeCodes } from "@attract/schema";
import { afterClose, BackOff } from "@attract/worker/connection/back-off";
import { expect, test } from "vitest";

test("full jitter from 0.5 s, doubling up to 30 s, and from the start again after success", () => {
  const backOff = new BackOff(() => 1);
  const delays = Array.from({ length: 9 }, () => backOff.nextDelayMs());
  expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  backOff.succeeded();
  expect(backOff.nextDelayMs()).toBe(500);
  expect(new BackOff(() => 0).nextDelayMs()).toBe(0);
});

test("each close code of the protocol has its answer", () => {
  const answers = [
    1000, 1001, 1005, 1006, 1009, 1011, 1012, 1013, 4001, 4002, 4003, 4004, 4005, 4008, 4009, 4010,
  ].map((code) => `${code} ${afterClose(code)}`);
  expect(answers).toEqual([
    "1000 run_over",
    "1001 reconnect",
    "1005 reconnect",
    "1006 reconnect",
    "1009 give_up",
    "1011 reconnect",
    "1012 reconnect",
    "1013 reconnect",
    "4001 reload",
    "4002 give_up",
    "4003 give_up",
    "4004 run_over",
    "4005 give_up",
    "4008 reconnect",
    "4009 give_up",
    "4010 run_over",
  ]);
  expect(closeCodes.RETRY.has(closeCodes.VERSION)).toBe(false);
});
