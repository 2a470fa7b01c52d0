/** The golden policies as `attract export` wrote them before masks were an input: model and policy.json. */

import type { PolicyFiles } from "@attract/play";
import {
  bytesOf,
  GOLDEN_POLICIES,
  type GoldenPolicy,
  type GoldenTensor,
} from "../../worker/support/golden-policy.ts";

export { GOLDEN_POLICIES } from "../../worker/support/golden-policy.ts";

/** What is loaded of one of them; `game` replaces parts of its game. */
export function filesOf(name: string, game: object = {}): PolicyFiles {
  const golden = GOLDEN_POLICIES[name];
  const keys = golden.description.observation.kind === "dict" ? keysOf(golden) : ["obs"];
  const names = Object.keys(golden.inputs).filter((input) => input !== "state_ins");
  const inputs = Object.fromEntries(
    names.map((input, index) => [input, { key: keys[index], shape: ["batch"] }]),
  );
  const document = {
    format: "attract-policy",
    format_version: 1,
    policy_version: 7,
    game: { ...golden.description, ...game },
    inputs,
  };
  return { document, model: bytesOf(golden.onnx) } as unknown as PolicyFiles;
}

function keysOf(golden: GoldenPolicy): string[] {
  const { observation } = golden.description;
  return observation.kind === "dict" ? Object.keys(observation.spaces).sort() : [];
}

/** What is loaded of one of them as `attract export` writes it now. */
export function exportOf(name: string): PolicyFiles {
  const { onnx, document } = GOLDEN_POLICIES[name].export;
  return { document, model: bytesOf(onnx) } as unknown as PolicyFiles;
}

/** Row `row` of a tensor whose first dimension counts rows. */
export function rowOf({ data, shape }: GoldenTensor, row: number): number[] {
  const size = data.length / shape[0];
  return data.slice(row * size, (row + 1) * size);
}

/** What the game observes in row `row`, by key where it has keys. */
export function observationOf(name: string, row: number): number[] | Record<string, number[]> {
  const { inputs, description } = GOLDEN_POLICIES[name];
  const files = filesOf(name);
  const entries = Object.entries(files.document.inputs!).map(([input, { key }]): [string, number[]] => [
    key!,
    rowOf(inputs[input], row),
  ]);
  return description.observation.kind === "dict" ? Object.fromEntries(entries) : entries[0][1];
}
