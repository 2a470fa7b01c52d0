/** In a browser, whose event loop takes messages of all ports in the order they were sent. */

import { Yielder } from "@attract/worker/rollout/yielding";
import { expect, test } from "vitest";

test("what is due has its turn in a yield, and what follows from that", async () => {
  const yielder = new Yielder();
  const [arrival, event] = [new MessageChannel(), new MessageChannel()];
  let heard = 0;
  arrival.port1.onmessage = () => event.port2.postMessage(null);
  event.port1.onmessage = () => {
    heard++;
  };
  for (let frame = 1; frame <= 20; frame++) {
    arrival.port2.postMessage(null);
    await yielder.yield();
    expect(heard).toBe(frame);
  }
  yielder.close();
  for (const channel of [arrival, event]) channel.port1.close();
});
