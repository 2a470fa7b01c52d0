/** Games whose agent sees the canvas: what it is shown, step by step, the same way twice. */

import { describe, expect, test } from "vitest";
import type { Instance } from "../../../../../web/sdk/src/instance.ts";
import { box, dict } from "../../../../../web/sdk/src/page/index.ts";
import { createPlayer } from "../../../../../web/sdk/src/page/play.ts";
import { checkPageGame } from "../../../../../web/worker/src/page/page-check.ts";
import { begun, ready } from "../open-frames.ts";
import { ANEW, BY_TICK, CHANGES, picture } from "../picture-page.ts";

function seen(instance: Instance, agent = 0): number[] {
  return Array.from(instance.views[agent] as Uint8Array);
}

/** All bytes of an episode. */
function played(instance: Instance, episode = 3): number[] {
  instance.start(episode);
  const found = seen(instance);
  while (!instance.episodeOver) {
    instance.step(instance.episodeSteps % 3 === 0 ? 1 : 0);
    found.push(...seen(instance), instance.rewards[0]);
  }
  return found;
}

/** Values of the upper left pixel: one per picture, the oldest first. */
function stack(instance: Instance, pictures = 3): number[] {
  return seen(instance).slice(0, pictures);
}

describe("what is seen", () => {
  test("the pictures of the last steps, the newest last; at an episode's start the first of them alone", async () => {
    const instance = await begun(picture({ draw: BY_TICK }));
    expect(instance.views[0]).toHaveLength(16 * 16 * 3);
    expect(stack(instance)).toEqual([1, 1, 1]);
    instance.step(0);
    expect(stack(instance)).toEqual([1, 1, 5]);
    instance.step(0);
    instance.step(0);
    expect(stack(instance)).toEqual([5, 9, 13]);
    // All of it is of one brightness, and no picture has slipped into another's place.
    expect(new Set(seen(instance).filter((_, i) => i % 3 === 2))).toEqual(new Set([13]));
    instance.start(1);
    expect(stack(instance)).toEqual([1, 1, 1]);
  });

  test("whoever watches tick by tick decides by what an agent in training sees", async () => {
    const { definition } = await ready(picture({ draw: BY_TICK }));
    const stacks: number[][] = [];
    let frame: (now: number) => void = () => undefined;
    const player = createPlayer({
      definition,
      canvas: document.createElement("canvas"),
      controller: {
        choose(instance) {
          stacks.push(stack(instance));
          return 0;
        },
      },
      onError: (error) => {
        throw error;
      },
      requestFrame: (callback) => {
        frame = callback;
        return 1;
      },
      cancelFrame: () => undefined,
    });
    player.start();
    for (let now = 0; now < 300; now += 17) frame(now);
    player.stop();
    expect(stacks.slice(0, 4)).toEqual([
      [1, 1, 1],
      [1, 1, 5],
      [1, 5, 9],
      [5, 9, 13],
    ]);
  });

  test("several agents see one picture", async () => {
    const two = { left: [], right: ["ArrowRight"] };
    const instance = await begun(
      picture({ draw: BY_TICK, numAgents: 2, keys: [two, two], score: () => [0, 0] }),
    );
    instance.step([0, 1]);
    expect(stack(instance)).toEqual([1, 1, 5]);
    expect(seen(instance, 1)).toEqual(seen(instance, 0));
  });

  test("beside other things it is the entry pixels of a dictionary", async () => {
    const instance = await begun(
      picture({
        draw: BY_TICK,
        observation: dict({ time: box({ shape: [1] }) }),
        observe: (w) => ({ time: [w.look().ticks] }),
      }),
    );
    instance.step(0);
    const { time, pixels } = instance.views[0] as unknown as Record<string, Uint8Array>;
    expect([time[0], ...pixels.slice(0, 3)]).toEqual([5, 1, 1, 5]);
  });

  test("in a fresh page for each episode, as in one that restarts", async () => {
    const instance = await begun(picture({ draw: BY_TICK }), { isFresh: true });
    expect(stack(instance)).toEqual([1, 1, 1]);
    instance.step(0);
    expect(stack(instance)).toEqual([1, 1, 5]);
  });
});

describe("the same bytes", () => {
  test.each([
    ["anew", ANEW],
    ["what changed", CHANGES],
  ])(
    "drawn %s: in two fresh pages, beside a neighbour, watched, and after another episode",
    async (_, draw) => {
      const game = picture({ draw });
      const bytes = played(await begun(game));
      // Something is seen, and it changes.
      expect(new Set(bytes.slice(0, 16 * 16 * 3)).size).toBeGreaterThan(draw === ANEW ? 5 : 1);
      expect(bytes.slice(0, 768)).not.toEqual(bytes.slice(769, 1537));
      expect(played(await begun(game))).toEqual(bytes);
      expect(played(await begun(game, { draws: true, isSeen: true }))).toEqual(bytes);
      const [first, neighbour] = [await begun(game), await begun(game)];
      const step = first.step;
      neighbour.start(8);
      first.step = (action) => {
        if (!neighbour.episodeOver) neighbour.step(1);
        step.call(first, action);
      };
      played(first, 4);
      neighbour.start(9);
      expect(played(first)).toEqual(bytes);
      expect(played(first, 4)).not.toEqual(bytes);
    },
  );

  test("with the last frame of a step drawn alone, where a game draws all anew; where not, it shows", async () => {
    const once = { size: 16, stack: 3, lastTickOnly: true };
    const always = await begun(picture());
    expect(played(await begun(picture({ pixels: once })))).toEqual(played(always));
    const trail = await begun(picture({ draw: CHANGES }));
    expect(played(await begun(picture({ draw: CHANGES, pixels: once })))).not.toEqual(played(trail));
    // Whoever looks on sees every frame.
    const watched = await begun(picture({ draw: CHANGES, pixels: once }), { draws: true });
    expect(played(watched)).toEqual(played(trail));
  });
});

describe("what cannot be seen is said", () => {
  const refusal = async (definition = picture()): Promise<string> => {
    try {
      await begun(definition);
      return "";
    } catch (error) {
      return String(error);
    }
  };

  test("a page of elements alone", async () => {
    expect(await refusal(picture({ body: "<p>0</p>", setup: "", draw: "" }))).toContain(
      "pixels: the page has no canvas, and what is made of elements cannot be read as a picture",
    );
  });

  test("a canvas that draws by WebGL alone; an engine that can do without draws in 2D", async () => {
    const demanding = `document.getElementById("board").getContext("webgl2");`;
    expect(await refusal(picture({ setup: demanding, draw: "" }))).toContain(
      "pixels: the canvas #board (64 x 48) requested WebGL, which is off for agents that see pixels",
    );
    const throwing = `if (document.getElementById("board").getContext("webgl") === null) throw new Error("no device");`;
    const said = await refusal(
      picture({ setup: `setTimeout(() => { ${throwing} });`, draw: "", ready: () => false }),
    );
    expect(said).toContain("the page's last error: no device; the canvas #board (64 x 48) requested WebGL");
    const patient = `const board = document.getElementById("board");
      if (document.createElement("canvas").getContext("webgl") === null) context = board.getContext("2d");`;
    expect(stack(await begun(picture({ setup: patient, draw: BY_TICK })))).toEqual([1, 1, 1]);
  });

  test("the browser's own WebGL is read where it is asked for, also in frames that draw nothing", async () => {
    const clear = `if (ticks === 1) { context.clearColor(0.2, 0.4, 0.6, 1); context.clear(context.COLOR_BUFFER_BIT); }`;
    const instance = await begun(
      picture({
        setup: `context = document.getElementById("board").getContext("webgl");`,
        draw: clear,
        pixels: { size: 16, stack: 1, grey: false, webGl: true },
      }),
    );
    expect(stack(instance)).toEqual([51, 102, 153]);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)));
    instance.step(0);
    expect(stack(instance)).toEqual([51, 102, 153]);
  });

  test("the check names each, and finds nothing where all is well", { tags: ["long"] }, async () => {
    const idsOf = async (definition = picture()): Promise<string[]> => {
      let read = 0;
      const { findings } = await checkPageGame(definition, {
        base: location.href,
        // A clock that is read once a step: 600 steps of random play on any machine.
        now: () => read++,
        budgetMilliseconds: 1_500,
      });
      return findings.map(({ id }) => id);
    };
    expect(await idsOf()).toEqual([]);
    expect(await idsOf(picture({ body: "<p>0</p>", setup: "", draw: "" }))).toEqual(["load"]);
    const once = { size: 16, lastTickOnly: true };
    expect(await idsOf(picture({ draw: CHANGES, pixels: once }))).toEqual(["undrawn-ticks"]);
  });
});
