import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chooserOf, flatAction } from "@attract/play/choice";
import { createSampler } from "@attract/worker/policy/sampler";
import { type ActionSpace, checkSpace, createNamer, maskGroups, numActionComponents } from "attract/spaces";
import { expect, test } from "vitest";
import { choicesOf } from "../../web/dashboard/src/game/choices.ts";

// Every kind of action of the schema stands in each table of TypeScript; `test_action_kinds.py` has Python's.
const ROOT = join(import.meta.dirname, "../..");
const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));

const { $defs } = read("shared_schema/messages.schema.json");
const KINDS: string[] = $defs.GameDescription.properties.action.oneOf.map(
  ({ $ref }: { $ref: string }) => $defs[$ref.replace("#/$defs/", "")].properties.kind.const,
);
const GOLDEN = new Map<string, ActionSpace>(
  Object.values<{ space: ActionSpace }>(read("tests/contract/golden/distributions.json")).map(({ space }) => [
    space.kind,
    space,
  ]),
);

test("each kind of the schema has its module and golden draws", () => {
  // Sets are seen, never done.
  const others = ["kind.ts", "set.ts"];
  const modules = readdirSync(join(ROOT, "web/sdk/src/spaces")).filter((file) => !others.includes(file));
  expect(modules.sort()).toEqual(KINDS.map((kind) => `${kind.replaceAll("_", "-")}.ts`).sort());
  expect([...GOLDEN.keys()].sort()).toEqual([...KINDS].sort());
});

test.each(KINDS)("%s: the SDK, the worker, the player and the dashboard know it, and agree", (kind) => {
  const space = GOLDEN.get(kind)!;
  checkSpace("action", space);
  const sampler = createSampler(space, 1);
  sampler.sampleUniform(new Uint8Array(0), 0);
  const drawn = sampler.gameAction(0);
  expect(sampler.numComponents).toBe(numActionComponents(space));

  const chooser = chooserOf(space as Parameters<typeof chooserOf>[0]);
  const guessed = chooser.guess(null, () => 0.5);
  const given = space.kind === "mixed" ? createNamer(space)(drawn as ArrayLike<number>) : drawn;
  expect(Object.getPrototypeOf(guessed)).toBe(Object.getPrototypeOf(given));
  const numbersOf = (action: typeof drawn) => (typeof action === "number" ? [action] : Array.from(action));
  expect(numbersOf(flatAction(guessed))).toHaveLength(sampler.numComponents);
  expect(chooser.maskSize).toBe(maskGroups(space).reduce((sum, n) => sum + n, 0));

  const probabilities = sampler.probabilities(
    sampler.outputSizes.map((size) => new Float32Array(size)),
    0,
    new Uint8Array(0),
    0,
  );
  const shown = choicesOf({ keys: {}, action: space }, { action: numbersOf(drawn), probabilities });
  expect(shown).toHaveLength(probabilities.length);
});
