import { Agent } from "@attract/play";
import { flatAction } from "@attract/play/choice";
import type { PlaytestPolicy } from "@attract/schema";
import type { GameDefinition, StartContext } from "attract/contract";
import { createSequentialRandom, STREAM } from "attract/random";
import { type ActionSpace, box } from "attract/spaces";
import { expect, test } from "vitest";
import { type Manner, PolicyPlayer } from "../../../web/playtest/src/policy-player.ts";
import { exportOf, GOLDEN_POLICIES } from "../play/support/golden.ts";
import { actionsOf, lineGame } from "../worker/support/playtests.ts";

const SEED = { low: 7, high: 0 };
const STEPS = 200;

/** Shows three numbers that chance draws anew at each step; of a masked game, all but the first choice of each component. */
function noiseGame(name: string, numAgents = 1): GameDefinition {
  const { description } = GOLDEN_POLICIES[name];
  const action = description.action as ActionSpace;
  const stream = createSequentialRandom(STREAM.game);
  const views = () => {
    const all = Array.from({ length: numAgents }, () => [0, 1, 2].map(() => 4 * stream.random() - 2));
    return numAgents === 1 ? all[0] : all;
  };
  const mask = (out: StartContext["out"]): void => {
    if (!description.action_mask) return;
    const allowed = out.actionMask as Uint8Array;
    allowed.fill(1);
    const firsts = action.kind === "multi_discrete" ? [0, action.nvec[0]] : [0];
    for (const first of firsts) allowed[first] = 0;
  };
  return lineGame(undefined, {
    observation: box({ shape: [3] }),
    action,
    actionMask: description.action_mask,
    numAgents,
    create: () =>
      ({
        start({ out }: StartContext) {
          stream.reset(1, 2, 3, 4);
          mask(out);
          return views();
        },
        update(_: number, _action: unknown, out: StartContext["out"]) {
          mask(out);
          const reward = numAgents === 1 ? 0 : new Array(numAgents).fill(0);
          return { observation: views(), reward, terminated: false };
        },
      }) as never,
  });
}

function policyOf(name: string): PlaytestPolicy {
  const { document, model } = exportOf(name);
  return { name: "trained", document: JSON.stringify(document), model: model as Uint8Array };
}

function rowsOf(name: string, manner: Manner, index = 0, player?: PolicyPlayer): number[][] {
  const game = noiseGame(name);
  return actionsOf(player ?? new PolicyPlayer(SEED, policyOf(name), manner, game), game, index, STEPS);
}

/** The share of steps in which two plays do the same, the second `late` steps later. */
function agreement(one: number[][], other: number[][], late = 0): number {
  const same = one.filter((row, step) => String(row) === String(other[step + late])).length;
  return same / (one.length - late);
}

test.each(["lstm", "gru", "gaussian", "masked", "multi_discrete", "multi_binary"])(
  "%s: greedily it does what its agent says",
  (name) => {
    const game = noiseGame(name);
    const agent = new Agent(exportOf(name));
    const stream = createSequentialRandom(STREAM.game);
    stream.reset(1, 2, 3, 4);
    const { action } = game;
    const maskSize = action.kind === "discrete" ? action.n : 6;
    const mask = Uint8Array.from({ length: maskSize }, (_, i) =>
      i === 0 || (action.kind === "multi_discrete" && i === action.nvec[0]) ? 0 : 1,
    );
    const said = Array.from({ length: STEPS }, () => {
      const seen = [0, 1, 2].map(() => Math.fround(4 * stream.random() - 2));
      const choice = agent.act(seen, { mask: game.actionMask === true ? mask : null });
      const flat = flatAction(choice);
      return typeof flat === "number" ? [flat] : Array.from(flat);
    });
    const rows = rowsOf(name, "greedy");
    if (action.kind !== "box") expect(rows).toEqual(said);
    // As they travel, in [-1, 1]: low -2 and 0, high 2 and 10.
    else
      for (const [step, [x, y]] of rows.entries()) {
        expect(2 * x).toBeCloseTo(said[step][0], 5);
        expect(5 * (y + 1)).toBeCloseTo(said[step][1], 5);
      }
  },
);

test.each(["sampled", "clumsy", "excursions"] as const)("%s: an episode is named by its index", (manner) => {
  const player = new PolicyPlayer(SEED, policyOf("lstm"), manner, noiseGame("lstm"));
  const [first, other, again] = [0, 1, 0].map((index) => rowsOf("lstm", manner, index, player));
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
});

test.each(["greedy", "sampled", "clumsy", "excursions"] as const)(
  "%s: it does what is allowed alone",
  (manner) => {
    expect(new Set(rowsOf("masked", manner).flat())).toEqual(new Set([1, 2, 3, 4]));
  },
);

test("clumsy it is one decision late, and errs in some 15 of 100", () => {
  const [greedy, clumsy] = [rowsOf("multi_binary", "greedy"), rowsOf("multi_binary", "clumsy")];
  // A mistake is one of eight actions, the right one among them: 1 - 0.15 * 7 / 8.
  expect(agreement(greedy, clumsy, 1)).toBeCloseTo(0.87, 1);
  expect(agreement(greedy, clumsy)).toBeLessThan(0.6);
});

test("on an excursion it does anything for 10 to 40 steps, and comes back", () => {
  const greedy = rowsOf("multi_binary", "greedy");
  for (let index = 0; index < 5; index++) {
    const rows = rowsOf("multi_binary", "excursions", index);
    const shares = [0, 50, 100, 150].map((from) =>
      agreement(greedy.slice(from, from + 50), rows.slice(from)),
    );
    expect(agreement(greedy, rows)).toBeGreaterThan(0.2);
    if (Math.min(...shares) < 0.8) return;
  }
  expect.fail("it never went");
});

test("each agent has a memory of its own", () => {
  const game = noiseGame("lstm", 2);
  const rows = actionsOf(new PolicyPlayer(SEED, policyOf("lstm"), "greedy", game), game, 0, STEPS);
  const stream = createSequentialRandom(STREAM.game);
  stream.reset(1, 2, 3, 4);
  const agents = [0, 1].map(() => new Agent(exportOf("lstm")));
  const said = Array.from({ length: STEPS }, () =>
    agents.map((agent) => agent.act([0, 1, 2].map(() => Math.fround(4 * stream.random() - 2)))),
  );
  expect(rows).toEqual(said);
});

test("who played is told: the policy, its version, and whether it was at its best", () => {
  const seatOf = (manner: Manner) => new PolicyPlayer(SEED, policyOf("gru"), manner, noiseGame("gru")).seat;
  const { policy_version } = seatOf("greedy");
  expect(seatOf("greedy")).toEqual({
    player: "policy",
    policy_id: "trained",
    policy_version,
    deterministic: true,
  });
  expect(seatOf("sampled").deterministic).toBe(false);
});
