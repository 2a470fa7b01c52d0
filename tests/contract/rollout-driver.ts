/** Plays one training lease of a bundled game in Node as a worker does; run by `test_central_inference.py` as `node driver.mjs IN OUT`. */

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { decodeFromBrowser, decodeToBrowser, type Lease, type WelcomeWorker } from "@attract/schema";
import { checkDefinition } from "attract/define-game";
import * as ort from "onnxruntime-web/wasm";
import { createPolicySession } from "../../web/worker/src/policy/policy-session.ts";
import { RolloutLoop } from "../../web/worker/src/rollout/rollout-loop.ts";

interface Order {
  module: string;
  repository: string;
  welcome: string;
  lease: string;
  onnx: string;
}

const [, , inputPath, outputPath] = process.argv;
const order = JSON.parse(readFileSync(inputPath, "utf8")) as Order;
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
const welcome = decodeToBrowser(bytes(order.welcome)) as WelcomeWorker;
const lease = decodeToBrowser(bytes(order.lease)) as Lease;
const require = createRequire(`${order.repository}/package.json`);
ort.env.wasm.wasmBinary = readFileSync(
  require.resolve("onnxruntime-web/ort-wasm-simd-threaded.wasm"),
) as unknown as ArrayBuffer;

const { default: definition } = await import(pathToFileURL(order.module).href);
checkDefinition(definition);
const blocks: string[] = [];
const loop = new RolloutLoop({
  definition,
  seat: welcome,
  yieldTurn: () => Promise.resolve(),
  now: () => performance.now(),
  emit: (frame) => {
    decodeFromBrowser(frame.bytes);
    blocks.push(Buffer.from(frame.bytes).toString("hex"));
  },
  failed: (report) => {
    throw new Error(report.text);
  },
  announce: null,
  gate: () => null,
});
const policy = await createPolicySession(bytes(order.onnx), welcome.description, {
  maxBatch: welcome.instance_ids.length * welcome.description.num_agents,
  policyVersion: lease.seats[0].policy_version,
});
await loop.play(lease, policy);
writeFileSync(outputPath, JSON.stringify(blocks));
