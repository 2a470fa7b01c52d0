/** Entry of a benchmark worker: a dedicated worker as those that train are. */

import { setInferenceEngine } from "@attract/worker/policy/policy-session";
import wasmUrl from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import { Bench, describeGame } from "./bench.ts";
import type { Answer, Order } from "./messages.ts";

const scope = self as unknown as DedicatedWorkerGlobalScope;
let bench: Bench | null = null;
setInferenceEngine(new URL(wasmUrl, import.meta.url).href);

async function carryOut(order: Order): Promise<unknown> {
  switch (order.kind) {
    case "describe":
      return describeGame(order.game);
    case "prepare":
      await bench?.release();
      bench = await Bench.create(order.setup);
      return null;
    case "measure":
      if (bench === null) throw new Error("measure expects a prepared benchmark");
      return bench.measure(order.part, order.seconds);
  }
}

scope.onmessage = async (event: MessageEvent<Order>) => {
  let answer: Answer;
  try {
    answer = { result: await carryOut(event.data) };
  } catch (error) {
    answer = { error: error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error) };
  }
  scope.postMessage(answer);
};
