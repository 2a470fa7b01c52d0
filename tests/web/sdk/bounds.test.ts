/** Every bound that the schema sets to a game's description is refused by `defineGame`, with field, value and limit. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { GameOptions } from "../../../web/sdk/src/contract.ts";
import { defineGame } from "../../../web/sdk/src/define-game.ts";
import { box, dict, discrete, mixed, multiBinary, multiDiscrete, set } from "../../../web/sdk/src/spaces.ts";
import { CountingGame } from "./counting-game.ts";

type Options = Partial<GameOptions>;
type Schema = { [keyword: string]: unknown } & { $ref?: string; properties?: Record<string, Schema> };

interface Bound {
  /** `num_agents`, `box.shape`, `box.shape[]` for each entry, `metrics{}` for each name. */
  readonly path: string;
  readonly keyword: string;
  readonly limit: number;
}

const { $defs } = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../shared_schema/messages.schema.json"), "utf8"),
) as { $defs: Record<string, Schema> };

const BOUNDING =
  /^(exclusiveM|m)(in|ax)imum$|^m(in|ax)(Length|Items|Properties)$|^(pattern|multipleOf|uniqueItems)$/;

/** Every bound below `schema`, models that it refers to included; a space's begin with its kind. */
function boundsOf(schema: Schema, path: string): Bound[] {
  const found = Object.entries(schema)
    .filter(([keyword]) => BOUNDING.test(keyword))
    .map(([keyword, limit]) => ({ path, keyword, limit: limit as number }));
  const inner = (name: string, suffix: string) =>
    typeof schema[name] === "object" ? boundsOf(schema[name] as Schema, path + suffix) : [];
  found.push(
    ...inner("items", "[]"),
    ...inner("additionalProperties", "[]"),
    ...inner("propertyNames", "{}"),
  );
  for (const branches of [schema.anyOf, schema.oneOf, schema.allOf])
    for (const branch of (branches ?? []) as Schema[]) found.push(...boundsOf(branch, path));
  if (schema.$ref !== undefined) {
    const model = $defs[schema.$ref.replace("#/$defs/", "")];
    const kind = model.properties?.kind?.const as string | undefined;
    found.push(...boundsOf(model, kind ?? path));
  }
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    found.push(...boundsOf(property, path === "" ? name : `${path}.${name}`));
  return found;
}

const text = (length: number) => "m".repeat(length);
const named = <T>(length: number, value: T) => ({ [text(length)]: value });
const pictures = (depth: number): Options => ({
  observation: box({ shape: [4, 4, depth < 1 ? 1 : depth], dtype: "uint8" }),
  pictureStacks: { obs: depth },
});
const choices = (n: number): Options => ({ action: { kind: "discrete", n, labels: null } });

/** What has that number at that place: a definition that is whole otherwise. */
const WITH: Readonly<Record<string, (value: number) => Options>> = {
  id: (length) => ({ id: text(length) }),
  tick_seconds: (tickSeconds) => ({ tickSeconds }),
  seconds_per_step: (seconds) => ({ secondsPerStep: seconds, tickSeconds: seconds > 0 ? seconds / 8 : 1 }),
  ticks_per_step: (ticks) => ({ tickSeconds: 0.001, secondsPerStep: ticks / 1_000 }),
  max_steps: (steps) => ({ tickSeconds: 1, maxSeconds: steps }),
  num_agents: (numAgents) => ({ numAgents }),
  "metrics{}": (length) => ({ metrics: named(length, "sum") }),
  "reward_terms{}": (length) => ({ rewardTerms: named(length, 1) }),
  page: (length) => ({ page: { page: text(length) } as unknown as GameOptions["page"] }),
  "picture_stacks[]": pictures,
  "box.shape": (rank) => ({ observation: box({ shape: Array(rank).fill(1) }) }),
  "box.shape[]": (extent) => ({ observation: box({ shape: [extent] }) }),
  "dict.spaces": (count) => ({
    observation: dict(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, box({ shape: [1] })]))),
  }),
  "set.max": (max) => ({ observation: set({ max, shape: [1] }) }),
  "set.shape": (rank) => ({ observation: set({ max: 2, shape: Array(rank).fill(1) }) }),
  "set.shape[]": (width) => ({ observation: set({ max: 2, shape: [width] }) }),
  "discrete.n": choices,
  "multi_discrete.nvec": (length) => ({ action: multiDiscrete(Array(length).fill(2)) }),
  "multi_discrete.nvec[]": (n) => ({ action: multiDiscrete([2, n]) }),
  // One part more or less beside the two that there have to be.
  "mixed.spaces": (count) => ({
    action: mixed(
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [
          `part${i}`,
          i === 0 ? discrete(2) : box({ shape: [1], low: -1, high: 1 }),
        ]),
      ),
    ),
  }),
  "multi_binary.n": (n) => ({ action: multiBinary(n) }),
};

const USUAL: GameOptions = {
  id: "Counting-v1",
  tickSeconds: 0.1,
  observation: box({ shape: [2] }),
  action: discrete(["left", "right"]),
  create: () => new CountingGame(),
};

/** What `defineGame` says of it; null where it takes it. */
function refusal(options: Options): string | null {
  try {
    defineGame({ ...USUAL, ...options });
    return null;
  } catch (error) {
    expect((error as Error).name).toBe("ConfigurationError");
    return (error as Error).message;
  }
}

function outside({ path, keyword, limit }: Bound): number {
  if (keyword === "exclusiveMinimum") return limit;
  const step = Number.isInteger(limit) && limit < 2 ** 52 ? 1 : limit;
  return keyword.startsWith("min") ? limit - step : path.endsWith("seconds") ? limit * 8 : limit + step;
}

const BOUNDS = boundsOf($defs.GameDescription, "").filter(({ path }) => path !== "contract_version");
const UPPER = BOUNDS.filter(({ keyword }) => keyword.startsWith("max"));

test("the schema has bounds of each place, and none that this test cannot break", () => {
  expect([...new Set(BOUNDS.map(({ path }) => path))].sort()).toEqual(Object.keys(WITH).sort());
});

describe("beyond each bound", () => {
  test.each(BOUNDS)("$path: $keyword $limit", (bound) => {
    const came = outside(bound);
    expect(refusal(WITH[bound.path](came))).toMatch(/^[\w./ {}]+: /);
  });

  test.each(UPPER.filter(({ path }) => path !== "id"))(
    "$path: value and limit are named: $limit",
    (bound) => {
      const message = refusal(WITH[bound.path](outside(bound)));
      expect(message).toContain(`${bound.limit}`);
      expect(message).toContain(`${outside(bound)}`);
    },
  );
});

describe("at each upper bound", () => {
  test.each(UPPER.filter(({ path }) => path !== "id"))("$path: $limit works", ({ path, limit }) => {
    expect(refusal(WITH[path](limit))).toBeNull();
  });
});

test("the sentence names the option, what came and the limit", () => {
  expect(refusal({ tickSeconds: 100_000 })).toBe("tickSeconds: must be at most 86400, got 100000");
  expect(refusal({ numAgents: 300 })).toBe("numAgents: must be at most 256, got 300");
  expect(refusal({ tickSeconds: 0.001, secondsPerStep: 70 })).toBe(
    "secondsPerStep / tickSeconds: must be at most 60000, got 70000",
  );
  expect(refusal({ observation: box({ shape: [2, 2, 2, 3, 4] }) })).toBe(
    "observation: shape must have at most 4 entries, got 5",
  );
  expect(refusal({ observation: dict({ far: box({ shape: [1, 2 ** 21] }) }) })).toBe(
    "observation.far: shape[1] must be at most 1048576, got 2097152",
  );
  expect(refusal({ action: multiBinary(5_000) })).toBe("action: n must be at most 4096, got 5000");
  expect(refusal({ action: discrete(70_000) })).toBe("action: n must be at most 65536, got 70000");
  expect(refusal({ metrics: named(101, "sum") })).toBe(
    `metrics: the name "${text(56)}... must have at most 100 letters, got 101`,
  );
});

test("a turn of an hour and a hundred agents are games", () => {
  expect(refusal({ tickSeconds: 3_600, numAgents: 100 })).toBeNull();
});

test("a box whose extents are each within bounds is refused at once where their product is not", () => {
  const cube = [2 ** 20, 2 ** 20, 2 ** 20];
  expect(refusal({ observation: box({ shape: cube, low: 0, high: 1 }) })).toBe(
    `observation: shape [1048576,1048576,1048576] has ${2 ** 60} numbers, the limit is 16777216`,
  );
});
