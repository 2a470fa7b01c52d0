import { expect, test } from "vitest";
import type { GameDefinition } from "../../../../web/sdk/src/contract.ts";
import { createInstance } from "../../../../web/sdk/src/group-instance.ts";
import type { Instance } from "../../../../web/sdk/src/instance.ts";
import { discrete } from "../../../../web/sdk/src/page/index.ts";
import { createPlayer } from "../../../../web/sdk/src/page/play.ts";
import type { PageWindow } from "../../../../web/sdk/src/page-adapter.ts";
import type { PageFramesOptions } from "../../../../web/worker/src/page/page-frames.ts";
import { turns } from "../../page-clock/held-page.ts";
import { awaitingHop, hop, numFrames } from "./hop-page.ts";
import { begun, opened, ready } from "./open-frames.ts";

function seen(instance: Instance): number[] {
  return Array.from(instance.views[0] as Float32Array);
}

test("an action holds its keys for a whole step, the reward is what the score grew by, and the end is the page's", async () => {
  const instance = await begun(hop());
  expect(seen(instance)[1]).toBe(1);
  let previous = seen(instance)[0];
  let rewards = 0;
  for (let step = 0; !instance.episodeOver; step++) {
    const action = step < 5 ? 1 : 0;
    instance.step(action);
    rewards += instance.rewards[0];
    if (!instance.episodeOver) expect(seen(instance)[0] > previous).toBe(action === 1);
    previous = seen(instance)[0];
  }
  // One tick after the restart belongs to the start.
  expect(instance.episodeTicks).toBe(23);
  expect(instance.endReason).toBe("terminated");
  expect(rewards).toBeGreaterThan(0);
  expect(rewards).toBe(instance.episodeReturns[0]);
});

test("the hands count the ticks of each step, however many its menu took", async () => {
  const counted: number[] = [];
  const instance = await begun(
    hop({
      ticksPerStep: 3,
      restart: undefined,
      // Five ticks: no multiple of a step.
      menu: (_w, page) => page.hold(page.ticks === 4 ? ["Enter"] : []),
      playing: (w) => w.look().state === "playing",
      act: (_w, _action, page) => counted.push(page.stepTick),
    }),
  );
  for (let step = 0; step < 3; step++) instance.step(0);
  expect(counted).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
});

test("each step clicks the cell of its action once, and no other, in sight or not", async () => {
  let clicks: PageWindow[] = [];
  const instance = await begun(
    hop({
      ticksPerStep: 4,
      size: [60, 60],
      action: discrete(["left", "right", "none"]),
      keys: undefined,
      loaded(w) {
        w.document.body.insertAdjacentHTML("beforeend", "<br><button>left</button><button>right</button>");
        clicks = w.clicks = [];
        for (const cell of w.document.querySelectorAll("button"))
          cell.addEventListener("click", () => w.clicks.push(cell.textContent));
      },
      click: (w, action) => w.document.querySelectorAll("button")[action as number],
    }),
  );
  clicks.length = 0;
  for (const action of [0, 0, 1, 2, 0]) instance.step(action);
  expect(clicks).toEqual(["left", "left", "right", "left"]);
});

test("a page that asks for another address is no game from that tick on, and one that does so at its end is over", async () => {
  const leaves = "if (held.Space && ticks >= 12) location.href = 'data:text/html,elsewhere';";
  const instance = await begun(hop({ ticksPerStep: 1 }, leaves));
  // One tick after the restart belongs to the start.
  for (let step = 0; step < 10; step++) instance.step(1);
  expect(() => instance.step(1)).toThrow('went to another address, "data:text/html,elsewhere": ');
  const ends = await begun(hop({ over: (w) => w.look().ticks >= 12 }, leaves));
  while (!ends.episodeOver) ends.step(1);
  expect(ends.endReason).toBe("terminated");
});

test("the same seed gives the same play, after another episode, in another page, drawn or not", async () => {
  const play = (instance: Instance, episode: number): number[] => {
    instance.start(episode);
    const found = [...seen(instance)];
    while (!instance.episodeOver) {
      instance.step(instance.episodeSteps % 3 === 0 ? 1 : 0);
      found.push(...seen(instance), instance.rewards[0]);
    }
    return found;
  };
  const first = await begun(hop());
  const played = play(first, 3);
  expect(play(first, 3)).toEqual(played);
  expect(play(first, 4)).not.toEqual(played);
  expect(play(await begun(hop(), { draws: true }), 3)).toEqual(played);
  const fresh = await begun(
    hop({
      restart: undefined,
      menu: (_w, page) => page.hold(page.ticks % 2 ? ["Enter"] : []),
      playing: (w) => w.look().state === "playing",
    }),
  );
  expect(seen(fresh)).toHaveLength(2);
});

/** Each episode has a page of its own, which draws chance while it loads. */
function reloading(extra = ""): GameDefinition {
  return hop(
    {
      restart: undefined,
      menu: (_w, page) => page.hold(page.ticks % 2 ? ["Enter"] : []),
      playing: (w) => w.look().state === "playing",
      observe: (w) => [w.look().y, w.look().sky],
    },
    extra,
  );
}

test("what a page draws by chance while it loads is the episode's as well: another in each, the same in the same", async () => {
  const skies = async (
    options: Partial<PageFramesOptions>,
    episodes: readonly number[],
  ): Promise<number[]> => {
    const { definition } = await ready(reloading(), options);
    const instance = createInstance(definition, { seedLow: 7 });
    const found: number[] = [];
    for (const episode of episodes) {
      await instance.begin(episode);
      found.push(seen(instance)[1]);
      instance.cut();
    }
    return found;
  };
  // In order the page of the next is there already, and else it is loaded.
  const skiesInOrder = await skies({}, [0, 1, 2]);
  expect(new Set(skiesInOrder).size).toBe(3);
  expect(await skies({}, [2, 0, 1])).toEqual([2, 0, 1].map((i) => skiesInOrder[i]));
  expect(await skies({ isFresh: true }, [2, 1, 0])).toEqual([...skiesInOrder].reverse());
  expect(await skies({ draws: true, isSeen: true }, [0, 1, 2])).toEqual(skiesInOrder);
});

test("the page of the next episode is loaded while one is played, and dropped with the game", async () => {
  const { definition } = await ready(reloading());
  const instance = createInstance(definition, { seedLow: 7 });
  await instance.begin(0);
  await expect.poll(numFrames).toBe(2);
  instance.cut();
  await instance.begin(1);
  await expect.poll(numFrames).toBe(2);
  instance.game.dispose?.();
  await expect.poll(numFrames).toBe(0);
  expect(() => instance.start(2)).toThrow("await startAhead() first");
});

test.each(["location.reload()", "location.href = location.href", "history.go(0)"])(
  "a page that reloads itself (%s) ends its episode, and the next has another page",
  async (reloads) => {
    const { definition } = await ready(
      hop({ maxSeconds: 10 }, `if (ticks === 7) { score += 5; ${reloads}; }`),
    );
    const instance = createInstance(definition, { seedLow: 7 });
    for (const episode of [0, 1]) {
      instance.start(episode);
      while (!instance.episodeOver) instance.step(0);
      expect([instance.endReason, instance.episodeTicks, instance.episodeReturns[0]]).toEqual([
        "terminated",
        6,
        5,
      ]);
      // Whatever it does from now on: nothing is played in it any more.
      await turns();
      await opened.at(-1)?.preload();
    }
  },
);

test.each([false, true])(
  "a page that reloads itself between two episodes is left for another, with turns: %s",
  async (turns) => {
    (window as PageWindow).oldPage = undefined;
    // The first page alone, after the episode that is played for nothing: it goes on beyond its end.
    const later = `if (ticks === 20 && (window.ends = (window.ends ?? 0) + 1) === 2 && (parent.oldPage ??= window) === window)
      setTimeout(() => location.reload(), 100);`;
    const { definition } = await ready(hop({ turns, maxSeconds: 10 }, later));
    const instance = createInstance(definition, { seedLow: 7 });
    const ends: unknown[] = [];
    for (const episode of [0, 1, 2]) {
      await opened.at(-1)?.preload();
      await instance.begin(episode);
      while (!instance.episodeOver) {
        await instance.take(0);
      }
      ends.push(instance.endReason, instance.episodeTicks);
    }
    expect(ends).toEqual(["terminated", 23, "terminated", 23, "terminated", 23]);
  },
);

test("a page that reloads itself before its game begins is not reported as slow", async () => {
  const { definition } = await ready(
    hop({
      restart(w) {
        w.numStarts = (w.numStarts ?? 0) + 1;
        if (w.numStarts > 1) w.location.reload();
      },
      playing: (w) => w.numStarts === 1,
    }),
  );
  expect(() => createInstance(definition).start(0)).toThrow("reloaded itself before the game began");
});

test("what a page throws is told once nothing of it runs any more; until then it goes on", async () => {
  const harmless = await begun(hop({}, `setTimeout(() => { throw new Error("harmless") }, 0);`));
  harmless.step(0);
  expect(harmless.episodeOver).toBe(false);
  const restart = (w: PageWindow): void => {
    w.begin();
    // The first episode is the one that is played for nothing.
    w.starts = (w.starts ?? 0) + 1;
  };
  const broken = await begun(
    hop({ restart }, `if (window.starts > 1 && ticks > 3) throw new TypeError("broken at " + ticks);`),
  );
  expect(() => {
    for (let step = 0; step < 5; step++) broken.step(0);
  }).toThrow("update() threw: TypeError: broken at 4");
});

test("what an adapter reads of a page that is gone is an error of this window's", async () => {
  const observing = await begun(hop({ score: (w) => (w.look().ticks > 2 ? w.eval("nothing.at.all") : 0) }));
  expect(() => observing.step(0)).toThrow("update() threw: ReferenceError: nothing is not defined");
  const wrong = await begun(
    hop({ observe: (w) => (w.look().ticks > 2 ? w.eval("nothing.at.all") : [0, 0]) }),
  );
  try {
    for (let step = 0; step < 5; step++) wrong.step(0);
    expect.unreachable();
  } catch (error) {
    expect((error as Error).name).toBe("GameError");
    expect((error as Error).cause).toBeInstanceOf(Error);
    expect(String(error)).toContain("update() threw: ReferenceError: nothing is not defined");
  }
});

test.each([1, 2])("what an adapter sees is asked for once in a step (%i agents)", async (numAgents) => {
  let asked = 0;
  const sets = [{ wait: [], jump: [] }];
  const instance = await begun(
    hop({
      numAgents,
      keys: numAgents === 1 ? sets : [...sets, ...sets],
      observe(w) {
        asked++;
        const one = [w.look().y, w.look().ticks];
        return numAgents === 1 ? one : [one, one];
      },
      score: () => (numAgents === 1 ? 0 : [0, 0]),
    }),
  );
  const before = asked;
  instance.step(numAgents === 1 ? 0 : [0, 0]);
  instance.step(numAgents === 1 ? 0 : [0, 0]);
  expect(asked - before).toBe(2);
});

test("masks come from the page, and pointers go where an action has them", async () => {
  const pointed: number[] = [];
  const definition = hop({
    keys: undefined,
    pointers: { wait: [5, 6, "move"], jump: [7, 8] },
    loaded: (w) => w.addEventListener("pointermove", (e: PointerEvent) => pointed.push(e.clientX, e.clientY)),
    actionMask: true,
    allowed: (w) => [true, w.look().ticks % 4 === 1],
  });
  const instance = await begun(definition);
  expect(Array.from(instance.masks[0])).toEqual([1, 1]);
  pointed.length = 0;
  instance.step(1);
  instance.step(0);
  expect(Array.from(instance.masks[0])).toEqual([1, 1]);
  expect(pointed).toEqual([7, 8, 5, 6]);
});

test("several agents play in one page, each by its own keys, rewarded and ended for itself", async () => {
  // The one that is played in: another may be loading for the next episode.
  let page!: PageWindow;
  const definition = hop({
    numAgents: 2,
    keys: [
      { wait: [], jump: ["Space"] },
      { wait: ["KeyA"], jump: ["KeyB"] },
    ],
    loaded: (w) => {
      w.pressed = [];
      w.addEventListener("keydown", ({ code }: KeyboardEvent) => w.pressed.push(code));
    },
    observe(w) {
      page = w;
      return [
        [w.look().y, 0],
        [w.look().ticks, 1],
      ];
    },
    score: (w) => [w.look().ticks, 2 * w.look().ticks],
    over: (w) => [w.look().ticks >= 8, w.look().state === "over"],
  });
  const instance = await begun(definition);
  expect(Array.from(instance.views[1] as Float32Array)).toEqual([1, 1]);
  page.pressed.length = 0;
  instance.step([1, 0]);
  expect(page.pressed).toEqual(["Space", "KeyA"]);
  expect(Array.from(instance.rewards)).toEqual([2, 4]);
  while (instance.terminated[0] === 0) instance.step([0, 1]);
  expect([instance.episodeOver, Array.from(instance.active)]).toEqual([false, [0, 1]]);
  while (!instance.episodeOver) instance.step([0, 1]);
  expect(instance.endReason).toBe("terminated");
  expect(instance.episodeReturns[1]).toBe(2 * 23);
});

test("of several agents each has a mask of its own", async () => {
  const keys = { wait: [], jump: ["Space"] };
  const instance = await begun(
    hop({
      numAgents: 2,
      keys: [keys, keys],
      actionMask: true,
      allowed: (w) => [
        [1, w.look().ticks % 2],
        [w.look().ticks >= 4, true],
      ],
      observe: () => [
        [0, 0],
        [0, 0],
      ],
      score: () => [0, 0],
    }),
  );
  const masks = () => instance.masks.map((mask) => Array.from(mask));
  // One tick after the restart belongs to the start; a step has two.
  expect(masks()).toEqual([
    [1, 1],
    [0, 1],
  ]);
  instance.step([0, 1]);
  instance.step([0, 1]);
  expect(masks()).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

test("with turns each frame is followed by what waited for it, the same way as without any waiting", async () => {
  const play = async (definition = hop()): Promise<number[]> => {
    const { definition: framed } = await ready(definition);
    const instance = createInstance(framed, { seedLow: 7 });
    const found: number[] = [];
    for (const episode of [3, 4, 3]) {
      await instance.begin(episode);
      found.push(...seen(instance));
      while (!instance.episodeOver) {
        const action = instance.episodeSteps % 3 === 0 ? 1 : 0;
        await instance.take(action);
        found.push(...seen(instance), instance.rewards[0], instance.executedTicks);
      }
    }
    return found;
  };
  const plain = await play();
  expect(await play(hop({ turns: true }))).toEqual(plain);
  // Numbers, reward and ticks of each step; each frame of the page has counted one, after all its waiting.
  const counts = (await play(awaitingHop({ turns: true })))
    .slice(0, 2 + 4 * 5)
    .filter((_, i) => i % 4 === 3 || i === 1);
  expect(counts.map((count, i) => count - counts[0] - 2 * i)).toEqual(counts.map(() => 0));
  const awaiting = await play(awaitingHop({ turns: true }));
  expect(awaiting.length).toBeGreaterThan(3 * 10);
  expect(await play(awaitingHop({ turns: true }))).toEqual(awaiting);
});

test("a step that was not waited for, and what the page throws in one that was, are the game's failures", async () => {
  let played: PageWindow;
  const { definition } = await ready(
    hop({
      turns: true,
      observe: (w) => {
        played = w;
        return [0, 0];
      },
      over: (w) => Boolean(w.isStrict && w.nothing.there),
    }),
  );
  const instance = createInstance(definition, { seedLow: 7 });
  await instance.begin(0);
  expect(() => instance.step(0)).toThrow("await stepAhead() first");
  await instance.begin(1);
  await instance.take(0);
  played.isStrict = true;
  await instance.stepAhead(0);
  expect(() => instance.step(0)).toThrow("reading 'there'");
});

test("somebody who watches or plays sees a game with turns go on, episode after episode", async () => {
  const { definition } = await ready(awaitingHop({ turns: true, maxSeconds: 0.2 }));
  const frames: ((now: number) => void)[] = [];
  const ends: number[] = [];
  const errors: unknown[] = [];
  const player = createPlayer({
    definition,
    canvas: document.createElement("canvas"),
    controller: { choose: () => 1 },
    onEpisodeEnd: (instance) => ends.push(instance.episodeTicks),
    onError: (error) => errors.push(error),
    requestFrame: (callback) => frames.push(callback),
    cancelFrame: () => undefined,
  });
  player.start();
  for (let now = 0; ends.length < 3 && now < 60_000; now += 17) {
    frames.shift()?.(now);
    await new Promise((resolve) => setTimeout(resolve));
  }
  expect(errors).toEqual([]);
  expect(ends).toEqual([12, 12, 12]);
});

const PARAMETERS = { lift: { default: 0.25, low: 0, high: 1 } };

test("a restart reads the parameters of its episode, in the page that is kept", async () => {
  const definition = hop({
    parameters: PARAMETERS,
    restart(w, page) {
      w.begin();
      w.lift = page.parameters.lift;
    },
    observe: (w) => [w.lift, 0],
  });
  const frames = await ready(definition);
  const instance = createInstance(frames.definition);
  instance.start(0);
  expect(seen(instance)[0]).toBe(0.25);
  // It stands ready by then: no other is loaded.
  await frames.preload();
  const before = numFrames();
  instance.start(1, { lift: 0.75 });
  expect(seen(instance)[0]).toBe(0.75);
  instance.start(2);
  expect(seen(instance)[0]).toBe(0.25);
  expect(numFrames()).toBe(before);
});

test("prepare sets the parameters of its episode before the page's first script, each time in a fresh page", async () => {
  const definition = hop({
    parameters: PARAMETERS,
    prepare: (w, parameters) => {
      w.lift = parameters.lift;
    },
    restart: (w) => w.begin(),
    observe: (w) => [w.lift, 0],
  });
  const frames = await ready(definition);
  const instance = createInstance(frames.definition);
  const lifts: number[] = [];
  for (const [episode, lift] of [0.75, 0.5].entries()) {
    await instance.begin(episode, { lift });
    lifts.push(seen(instance)[0]);
    // No page is loaded ahead for an episode whose parameters nobody knows.
    expect(numFrames()).toBe(1);
  }
  await instance.begin(2);
  lifts.push(seen(instance)[0]);
  expect(lifts).toEqual([0.75, 0.5, 0.25]);
});
