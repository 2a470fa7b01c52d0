/** The benchmark's page: workers on request. The browser's driver gives the orders, by `window.attractBench`. */

/// <reference lib="dom" />
import type { Answer, Order } from "./messages.ts";

declare global {
  interface Window {
    attractBench: typeof attractBench;
  }
}

const workers: Worker[] = [];

/** The answer of worker `index`, which is started when it is not there yet; one order at a time each. */
function ask(index: number, order: Order): Promise<unknown> {
  workers[index] ??= new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "bench" });
  const worker = workers[index];
  return new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || "the worker could not be loaded"));
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.error === undefined) resolve(data.result);
      else reject(new Error(data.error));
    };
    worker.postMessage(order);
  });
}

const attractBench = {
  /** The answers of the first `numWorkers` workers to the same order, given to all at once. */
  ask: (numWorkers: number, order: Order): Promise<unknown[]> =>
    Promise.all(Array.from({ length: numWorkers }, (_, index) => ask(index, order))),
  /** Ends every worker. */
  stop(): void {
    for (const worker of workers.splice(0)) worker.terminate();
  },
};

window.attractBench = attractBench;
