import { type Act, type Observe, tensorOf } from "@attract/schema";
import { ServedGames } from "@attract/worker/stepping/served-games";
import type { StepServerOptions } from "@attract/worker/stepping/step-server";
import { describe, expect, it } from "vitest";
import { countingGame, lease } from "../support/counting-game.ts";

function games() {
  const answers: Observe[] = [];
  const errors: unknown[] = [];
  let load: (options: StepServerOptions) => void = () => undefined;
  const loading = new Promise<StepServerOptions>((resolve) => {
    load = resolve;
  });
  const served = new ServedGames(loading, {
    send: (observe) => answers.push(observe),
    broke: (error) => errors.push(error),
  });
  const loaded = () =>
    load({
      definition: countingGame(),
      seat: { run_id: "run", instance_ids: [0, 1] },
      now: () => 0,
      failed: () => undefined,
      announce: null,
    });
  return { served, loaded, answers, errors };
}

const served = (leaseId: number) => lease({ lease_id: leaseId, group_sizes: [1, 1] });

function act(leaseId: number, group = 0, actions: number[] | null = [0]): Act {
  const action = actions === null ? null : tensorOf(Int32Array.from(actions), [actions.length]);
  return { type: "act", run_id: "run", lease_id: leaseId, group, action };
}

/** Lets everything that is due be done. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("served games", () => {
  it("I1: what comes before the game is loaded is answered once it is, in order", async () => {
    const { served: one, loaded, answers } = games();
    one.open(served(1));
    one.act(act(1, 0, null));
    one.act(act(1, 1));
    one.act(act(1, 0));
    await settle();
    expect(answers).toEqual([]);
    loaded();
    await settle();
    expect(answers.map((answer) => [answer.group, answer.step])).toEqual([
      [0, 0],
      [1, 1],
      [0, 1],
    ]);
    expect(one.agentSteps).toBe(2);
    expect(one.stepsOf(1)).toBe(1);
  });

  it("ends a lease when the server says so, and answers it no more", async () => {
    const { served: one, loaded, answers } = games();
    loaded();
    one.open(served(1));
    one.open(served(2));
    let isEnded = false;
    const ended = one.ended(1).then(() => {
      isEnded = true;
    });
    one.act(act(1));
    await settle();
    expect(isEnded).toBe(false);
    one.close(1);
    await ended;
    one.act(act(1));
    one.act(act(2));
    await settle();
    expect(answers.map((answer) => answer.lease_id)).toEqual([1, 2]);
    await one.ended(1);
  });

  it("a lease that is sent again does not begin anew", async () => {
    const { served: one, loaded } = games();
    loaded();
    one.open(served(1));
    one.act(act(1, 0));
    one.act(act(1, 1));
    one.open(served(1));
    await settle();
    expect(one.stepsOf(1)).toBe(1);
  });

  it("tells of acts that do not fit", async () => {
    const { served: one, loaded, errors, answers } = games();
    loaded();
    one.open(served(1));
    one.act(act(1, 0, [0, 0, 0]));
    await settle();
    expect(errors.map(String)).toEqual([expect.stringContaining("act.action")]);
    expect(answers).toEqual([]);
  });
});
