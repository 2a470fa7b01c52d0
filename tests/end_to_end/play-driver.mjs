/**
 * Plays an exported policy as a page does: `node play-driver.mjs AGENT.JS FOLDER COUNT EPISODE`.
 *
 * FOLDER has policy.json, policy.onnx and `<input>.bin` with COUNT observations, `mask.bin` where there are masks;
 * an episode begins every EPISODE of them. Written beside them: `played.<output>.bin`, float32 rows.
 */

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [script, folder, count, episode] = process.argv.slice(2);
const { Agent } = await import(pathToFileURL(script).href);
const file = (name) => readFile(path.join(folder, name));
const document = JSON.parse(await file("policy.json"));
const agent = new Agent({ document, model: await file("policy.onnx") });
const number = Number(count);

const TYPES = { float32: Float32Array, uint8: Uint8Array, int32: Int32Array };
const entries = [];
for (const [name, { key, dtype }] of Object.entries(document.inputs)) {
  if (key === undefined) continue;
  const bytes = new Uint8Array(await file(`${name}.bin`));
  const data = new TYPES[dtype](bytes.buffer, 0, bytes.length / TYPES[dtype].BYTES_PER_ELEMENT);
  entries.push({ key, data, size: data.length / number });
}
const masks = document.game.action_mask ? new Uint8Array(await file("mask.bin")) : null;

const written = new Map();
const keep = (name, values, at) => {
  if (!written.has(name)) written.set(name, new Float32Array(values.length * number));
  written.get(name).set(values, at * values.length);
};
const began = performance.now();
for (let at = 0; at < number; at++) {
  if (at % Number(episode) === 0) agent.reset();
  const parts = entries.map(({ key, data, size }) => [key, data.subarray(at * size, (at + 1) * size)]);
  const observation = document.game.observation.kind === "dict" ? Object.fromEntries(parts) : parts[0][1];
  const width = masks === null ? 0 : masks.length / number;
  const mask = masks === null ? null : masks.subarray(at * width, (at + 1) * width);
  const action = agent.act(observation, { mask });
  keep("action", typeof action === "number" ? [action] : action, at);
  // The graph decides as well.
  for (const [name, values] of agent.outputs) keep(name === "action" ? "likeliest" : name, values, at);
}
const microseconds = ((performance.now() - began) * 1000) / number;
for (const [name, values] of written) await writeFile(path.join(folder, `played.${name}.bin`), values);
console.log(JSON.stringify({ microseconds }));
