import { type Agent, controllerOf } from "@attract/play";
import { describe, expect, it } from "vitest";

/** Remembers how it was asked; acts with the number of its decisions since its reset. */
class Asked {
  decisions = 0;
  readonly heard: unknown[] = [];
  reset(): void {
    this.decisions = 0;
  }
  act(observation: unknown, { mask }: { mask: unknown }): number {
    this.heard.push([observation, mask]);
    return ++this.decisions;
  }
}

const asAgents = (agents: Asked[]): Agent[] => agents as unknown as Agent[];
const NO_MASKS = [new Uint8Array(0), new Uint8Array(0), new Uint8Array(0)];

describe("controllerOf", () => {
  it("gives the one agent what its player sees, with the mask where there is one", () => {
    const agent = new Asked();
    const controller = controllerOf(asAgents([agent]));
    const mask = Uint8Array.of(1, 0);
    expect(controller.choose({ views: [[7]], masks: [mask], active: [1] }, [1])).toBe(1);
    expect(controller.choose({ views: [[8]], masks: [new Uint8Array(0)], active: [1] }, [0])).toBe(2);
    expect(agent.heard).toEqual([
      [[7], mask],
      [[8], null],
    ]);
  });

  it("has each agent of several forget when its own trajectory begins", () => {
    const agents = [new Asked(), new Asked(), new Asked()];
    const controller = controllerOf(asAgents(agents));
    const seen = { views: [[0], [1], [2]], masks: NO_MASKS, active: [1, 1, 1] };
    expect(controller.choose(seen, [1, 1, 1])).toEqual([1, 1, 1]);
    expect(controller.choose(seen, [0, 0, 0])).toEqual([2, 2, 2]);
    expect(controller.choose(seen, [0, 1, 0])).toEqual([3, 1, 3]);
    expect(agents[2].heard).toEqual([
      [[2], null],
      [[2], null],
      [[2], null],
    ]);
  });

  it("asks nobody who takes no part, and holds its last action", () => {
    const agents = [new Asked(), new Asked()];
    const controller = controllerOf(asAgents(agents));
    const first = controller.choose({ views: [[0], [1]], masks: NO_MASKS, active: [1, 1] }, [1, 1]);
    expect(controller.choose({ views: [[0], [1]], masks: NO_MASKS, active: [1, 0] }, [0, 0])).toEqual([2, 1]);
    expect(agents[1].heard.length).toBe(1);
    // What was given before is not written over.
    expect(first).toEqual([1, 1]);
  });
});
