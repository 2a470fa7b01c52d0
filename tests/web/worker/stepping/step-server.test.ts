import { type Act, float32View, int32View, type Observe, tensorOf } from "@attract/schema";
import { cutStep } from "@attract/worker/game/desync";
import type { FailureReport } from "@attract/worker/game/failures";
import { StepServer } from "@attract/worker/stepping/step-server";
import type { GameDefinition, UpdateResult } from "attract/contract";
import { defineGame } from "attract/define-game";
import { box, discrete } from "attract/spaces";
import { describe, expect, it } from "vitest";
import { countingGame, lease, SEED } from "../support/counting-game.ts";

/** Four games in groups of one and three. */
function server(definition: GameDefinition, fields: Parameters<typeof lease>[0] = {}) {
  const reports: FailureReport[] = [];
  const made = new StepServer({
    definition,
    seat: { run_id: "run", instance_ids: [10, 11, 12, 13] },
    now: () => 0,
    failed: (report) => reports.push(report),
    announce: null,
  });
  made.open(lease({ group_sizes: [1, 3], num_segments: 2, ...fields }));
  return { server: made, reports };
}

function act(group: number, actions: number[] | null, leaseId = 1): Act {
  const action = actions === null ? null : tensorOf(Int32Array.from(actions), [actions.length]);
  return { type: "act", run_id: "run", lease_id: leaseId, group, action };
}

const seen = (observe: Observe | null): number[] => [...float32View(observe!.observation.obs)];
const flags = (observe: Observe | null, name: "terminated" | "truncated" | "valid"): number[] => [
  ...observe!.outcome![name].data,
];

describe("a step server", () => {
  it("I1: answers an act without an action with what is seen, and counts nothing", () => {
    const { server: one } = server(countingGame());
    const observe = one.act(act(1, null));
    // Instances are created in order: [1000 * instance + ticks, steps since start].
    expect(seen(observe)).toEqual([0, 0, 1000, 0, 2000, 0]);
    expect(observe!.outcome).toBeNull();
    expect(observe!.step).toBe(0);
    expect(one.agentSteps).toBe(0);
  });

  it("I1: answers an action with its outcome and what is seen after it, one step of one group", () => {
    const { server: one } = server(countingGame({ ticksPerStep: 3, terminateAt: 2 }));
    one.act(act(0, [0]));
    const first = one.act(act(1, [0, 1, 0]));
    expect(first!.step).toBe(1);
    expect(seen(first)).toEqual([1003, 3, 2003, 3, 3003, 3]);
    // 1 + action per tick, three ticks (T2).
    expect([...float32View(first!.outcome!.reward)]).toEqual([3, 6, 3]);
    expect([...int32View(first!.episode_step)]).toEqual([1, 1, 1]);
    const second = one.act(act(1, [0, 0, 0]));
    // E3: the episode ended in this step, what is seen belongs to the next.
    expect(flags(second, "terminated")).toEqual([1, 1, 1]);
    expect(seen(second)).toEqual([1006, 0, 2006, 0, 3006, 0]);
    expect([...int32View(second!.episode)]).toEqual([1, 1, 1]);
    expect([...int32View(second!.episode_step)]).toEqual([0, 0, 0]);
    expect(second!.outcome!.episodes.map((episode) => [episode.instance_id, episode.length_steps])).toEqual([
      [11, 2],
      [12, 2],
      [13, 2],
    ]);
    // The other group has not moved.
    expect(one.act(act(0, [0]))!.step).toBe(2);
  });

  it("E2: hands on what a truncated step saw before the reset", () => {
    const { server: one } = server(countingGame({ truncateAt: 1 }));
    const observe = one.act(act(1, [0, 0, 0]));
    expect(flags(observe, "truncated")).toEqual([1, 1, 1]);
    expect([...int32View(observe!.outcome!.final_column!)]).toEqual([0, 1, 2]);
    expect([...float32View(observe!.outcome!.final_observation.obs)]).toEqual([1, 1, 1001, 1, 2001, 1]);
    expect(seen(observe)).toEqual([1, 0, 1001, 0, 2001, 0]);
  });

  it("E7: cuts each instance's first episode once", () => {
    const { server: one } = server(countingGame(), { desync_steps: 5, num_segments: 3 });
    const cuts = [11, 12, 13].map((instance) => cutStep(SEED, instance, 5));
    for (let step = 1; step <= 12; step++) {
      const observe = one.act(act(1, [0, 0, 0]));
      expect(flags(observe, "truncated")).toEqual(cuts.map((cut) => (cut === step ? 1 : 0)));
      for (const episode of observe!.outcome!.episodes) expect(episode.end_reason).toBe("cut");
    }
  });

  it("S5: a game that fails is reported, its step is invalid, and its next episode begins", () => {
    const broken = countingGame({
      onTick: (instance, tick) => {
        if (instance === 1 && tick === 2) throw new Error("no such door");
        return undefined;
      },
    });
    const { server: one, reports } = server(broken);
    expect(flags(one.act(act(1, [0, 0, 0])), "valid")).toEqual([1, 1, 1]);
    const observe = one.act(act(1, [0, 0, 0]));
    expect(flags(observe, "valid")).toEqual([1, 0, 1]);
    expect(flags(observe, "truncated")).toEqual([0, 0, 0]);
    expect([...observe!.active.data]).toEqual([1, 1, 1]);
    expect([...int32View(observe!.episode)]).toEqual([0, 1, 0]);
    expect(observe!.outcome!.episodes.map((episode) => episode.end_reason)).toEqual(["cut"]);
    expect(reports.map((report) => [report.text, report.instance_id, report.slot_id])).toEqual([
      [expect.stringContaining("no such door"), 12, 12],
    ]);
    expect(flags(one.act(act(1, [0, 0, 0])), "valid")).toEqual([1, 1, 1]);
  });

  it("E5: games go on under the next lease; one that is over is answered no more", () => {
    const { server: one } = server(countingGame());
    one.open(lease({ lease_id: 2, group_sizes: [1, 3] }));
    for (let step = 0; step < 8; step++) one.act(act(0, [0]));
    // The first group is ahead, under the next lease already.
    expect(one.act(act(0, [0], 2))!.step).toBe(9);
    for (let step = 0; step < 7; step++) one.act(act(1, [0, 0, 0]));
    expect(one.stepsOf(1)).toBe(7);
    one.close(1);
    expect(one.act(act(1, [0, 0, 0], 1))).toBeNull();
    expect(seen(one.act(act(1, [0, 0, 0], 2)))).toEqual([1008, 8, 2008, 8, 3008, 8]);
    one.close(2);
    expect(one.act(act(1, [0, 0, 0], 2))).toBeNull();
  });

  it("E9: steps games of several agents, and says who takes part", () => {
    const duo = defineGame({
      id: "Duo-v1",
      tickSeconds: 0.1,
      numAgents: 2,
      observation: box({ shape: [1] }),
      action: box({ shape: [1], low: 10, high: 20 }),
      create: () => {
        let ticks = 0;
        return {
          start() {
            ticks = 0;
            return { observation: [[0], [0]] };
          },
          update(_: number, actions: ArrayLike<ArrayLike<number>>) {
            ticks++;
            const reward = [actions[0][0], actions[1][0]];
            // The second agent ends at its first step and comes back after the second.
            const terminated = [false, ticks === 1];
            return { observation: [[ticks], [ticks]], reward, terminated, active: [true, ticks >= 2] };
          },
        } as never;
      },
    });
    const { server: one } = server(duo);
    const actions = (...values: number[]) => ({
      ...act(0, null),
      action: tensorOf(Float32Array.from(values), [2, 1]),
    });
    // P6: unit space, clipped only for the game: 0 is the middle of [10, 20], 3 is as good as 1.
    const first = one.act(actions(0, 3));
    expect([...float32View(first!.outcome!.reward)]).toEqual([15, 20]);
    expect(flags(first, "terminated")).toEqual([0, 1]);
    expect([...first!.active.data]).toEqual([1, 0]);
    const second = one.act(actions(-1, 0));
    expect(flags(second, "valid")).toEqual([1, 0]);
    expect([...float32View(second!.outcome!.reward)]).toEqual([10, 0]);
    expect([...second!.outcome!.executed_ticks.data]).toEqual([1, 0, 0, 0]);
    expect([...second!.active.data]).toEqual([1, 1]);
    expect(flags(one.act(actions(0, 0)), "valid")).toEqual([1, 1]);
  });

  /** Two agents; `ended` says whose episode ends in which step since the start, from 1. */
  const duoGame = (ended: (step: number) => Partial<UpdateResult>): GameDefinition =>
    defineGame({
      id: "Duo-v1",
      tickSeconds: 0.1,
      numAgents: 2,
      observation: box({ shape: [1] }),
      action: discrete(2),
      create: () => {
        let step = 0;
        return {
          start() {
            step = 0;
            return { observation: [[0], [100]] };
          },
          update() {
            step++;
            return { observation: [[step], [100 + step]], reward: [1, 1], ...ended(step) };
          },
        } as never;
      },
    });

  it("E7, E9: a cut truncates only those who play", () => {
    const dying = duoGame((step) => (step === 1 ? { terminated: [false, true] } : {}));
    const { server: one } = server(dying, { desync_steps: 20 });
    const cut = cutStep(SEED, 11, 20);
    expect(cut).toBeGreaterThan(1);
    const ofFirst = (observe: Observe | null, name: "truncated" | "valid") =>
      flags(observe, name).slice(0, 2);
    for (let step = 1; step < cut; step++) one.act(act(1, [0, 0, 0, 0, 0, 0]));
    const observe = one.act(act(1, [0, 0, 0, 0, 0, 0]));
    expect(
      observe!.outcome!.episodes.map((episode) => [episode.instance_id, episode.end_reason]),
    ).toContainEqual([11, "cut"]);
    expect(ofFirst(observe, "truncated")).toEqual([1, 0]);
    expect(ofFirst(observe, "valid")).toEqual([1, 0]);
    expect([...int32View(observe!.outcome!.final_column!)]).not.toContain(1);
  });

  it("E2: final observations stand one after the other, each with its own column", () => {
    const { server: one } = server(
      countingGame({ onTick: (instance) => (instance === 1 ? undefined : { reward: 0, truncated: true }) }),
    );
    const observe = one.act(act(1, [0, 0, 0]));
    expect([...int32View(observe!.outcome!.final_column!)]).toEqual([0, 2]);
    expect([...float32View(observe!.outcome!.final_observation.obs)]).toEqual([1, 1, 2001, 1]);
  });

  it("E9: when all have ended, all take part again from the next step on", () => {
    const { server: one } = server(duoGame((step) => ({ terminated: [step === 2, step === 1] })));
    expect([...one.act(act(0, [0, 0]))!.active.data]).toEqual([1, 0]);
    const last = one.act(act(0, [0, 0]));
    expect(flags(last, "terminated")).toEqual([1, 0]);
    expect(flags(last, "valid")).toEqual([1, 0]);
    // An agent that is away earns nothing, whatever its game says.
    expect([...float32View(last!.outcome!.reward)]).toEqual([1, 0]);
    expect([...last!.active.data]).toEqual([1, 1]);
    expect(seen(last)).toEqual([0, 100]);
  });

  it("C5: what a game draws depends on its instance, and not on the group it is in", () => {
    const drawing = () =>
      defineGame({
        id: "Drawing-v1",
        tickSeconds: 0.1,
        observation: box({ shape: [1] }),
        action: discrete(2),
        create: () => ({
          start: ({ random }) => [random()],
          update: () => ({ observation: [0], reward: 0 }),
        }),
      });
    const [apart, together] = [drawing(), drawing()];
    const { server: two } = server(apart);
    const { server: one } = server(together, { group_sizes: [4] });
    const drawn = seen(one.act(act(0, null)));
    expect([...seen(two.act(act(0, null))), ...seen(two.act(act(1, null)))]).toEqual(drawn);
    expect(new Set(drawn).size).toBe(4);
  });

  it("C6: an episode is of the lesson under which it began", () => {
    const { server: one } = server(countingGame({ terminateAt: 2 }), { lesson_id: "small" });
    one.open(lease({ lease_id: 2, group_sizes: [1, 3], lesson_id: "large" }));
    one.act(act(0, [0]));
    const lessons = [1, 2, 3].flatMap(() =>
      one.act(act(0, [0], 2))!.outcome!.episodes.map((episode) => episode.lesson_id),
    );
    expect(lessons).toEqual(["small", "large"]);
  });

  it("refuses groups and actions that do not fit its seat", () => {
    const { server: one } = server(countingGame());
    expect(() => one.open(lease({ group_sizes: [2, 3] }))).toThrow("got 5 games in all, must be 4");
    expect(() => one.act(act(1, [0, 0]))).toThrow("act.action");
    expect(() => one.act(act(2, [0]))).toThrow("no such group");
  });
});
