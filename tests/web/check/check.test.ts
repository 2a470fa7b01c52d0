/** The conformance kit: it finds each fault in a game made to have just that one. */

import { describe, expect, test } from "vitest";
import { CHECKS, checkGame } from "../../../web/check/src/check.ts";
import type { Game, GameDefinition, GameOptions } from "../../../web/sdk/src/contract.ts";
import { defineGame } from "../../../web/sdk/src/define-game.ts";
import { box, discrete } from "../../../web/sdk/src/spaces.ts";
import { countingGame } from "../sdk/counting-game.ts";

let waited = 0;
/** Time passes only where a game says so. */
const METERS = { steps: 2_000, now: () => waited };

/** A sound game of 20 ticks: a walk whose steps are drawn; `change` spoils it. */
function walk(change: Partial<Game> = {}, options: Partial<GameOptions> = {}): GameDefinition {
  return defineGame({
    id: "Walk-v1",
    tickSeconds: 0.1,
    maxSeconds: 100,
    observation: box({ shape: [2], low: -1, high: 1 }),
    action: discrete(["left", "right"]),
    create: () => {
      let place = 0;
      let ticks = 0;
      return {
        start({ random }) {
          place = random() - 0.5;
          ticks = 0;
          return [place, 0];
        },
        update(_deltaTime: number, action: number) {
          ticks++;
          place = Math.max(-1, Math.min(1, place + (action === 0 ? -0.1 : 0.1)));
          return { observation: [place, ticks / 20], reward: -Math.abs(place), terminated: ticks === 20 };
        },
        draw(context) {
          context.fillRect(place, 0, 1, 1);
        },
        ...change,
      } as Game;
    },
    ...options,
  });
}

let ticks = 0;

/** Takes so many milliseconds of the measured time and returns 0; the clock is the test's own. */
function wait(milliseconds: number): number {
  waited += milliseconds;
  return 0;
}

async function found(definition: GameDefinition): Promise<string[]> {
  const { findings } = await checkGame(definition, METERS);
  return findings.map(({ severity, id, text }) => `${severity} ${id}: ${text}`);
}

test("a draw() that needs a page is told of with its place: there is none where games are drawn", async () => {
  const definition = walk({
    draw() {
      document.createElement("canvas");
    },
  });
  const { findings } = await checkGame(definition, METERS);
  const [finding, ...others] = findings;
  expect(others).toEqual([]);
  expect(`${finding.severity} ${finding.id}: ${finding.text}`).toContain(
    "document is not defined; games run in a web worker, without a page",
  );
  expect(finding.stack).toContain("check.test.ts");
});

test("a sound game has no findings, and its play is measured", async () => {
  const report = await checkGame(walk(), { ...METERS, heapBytes: () => 0 });
  expect(report.findings).toEqual([]);
  expect(report.isTrainable).toBe(true);
  expect(report.play).toMatchObject({
    steps: 2000,
    ticks: 2000,
    episodes: 100,
    endReasons: { terminated: 100 },
  });
  expect(report.play!.lengthMean).toBe(20);
  expect(report.play!.returnMean).toBeLessThan(0);
  expect(report.play!.microsecondsPerTick).toBe(0);
  expect(report.play!.bytesPerTick).toBe(0);
});

/** Two agents, episodes of two steps: a step pays them 1 and 3, in odd episodes 2 and 4, times `factor`. */
function paid(): GameDefinition {
  return defineGame({
    id: "Paid-v1",
    tickSeconds: 0.1,
    numAgents: 2,
    observation: box({ shape: [1], low: -1, high: 1 }),
    action: discrete(2),
    parameters: { factor: { default: 1, low: 1, high: 9 } },
    create: () => {
      let [episode, ticks, factor] = [-1, 0, 1];
      return {
        start({ parameters }) {
          [episode, ticks, factor] = [episode + 1, 0, parameters.factor];
          return { observation: [[0], [0]] };
        },
        update() {
          ticks++;
          const more = episode % 2;
          const reward = [factor * (1 + more), factor * (3 + more)];
          return { observation: [[0], [0]], reward, terminated: ticks === 2 };
        },
      };
    },
  });
}

test("random play alone: so many episodes, under the given parameters, and nothing is judged", async () => {
  const phases: string[] = [];
  const played = (factor: number) =>
    checkGame(paid(), {
      ...METERS,
      onPhase: (phase) => phases.push(phase),
      only: { episodes: 4, parameters: { factor: { kind: "constant", values: [factor] } } },
    });
  const { findings, play } = await played(1);
  // Means over the agents: (2 + 6) / 2 = 4 in even episodes, (4 + 8) / 2 = 6 in odd ones.
  expect(play).toMatchObject({ episodes: 4, steps: 8, returnMean: 5, returnStd: 1, lengthMean: 2 });
  expect((await played(2)).play).toMatchObject({ returnMean: 10, returnStd: 2 });
  expect(findings).toEqual([]);
  expect(phases.slice(0, 3)).toEqual(["create()", "create()", "random play"]);
  // An ordinary check counts the same way.
  const ordinary = await checkGame(paid(), METERS);
  expect(ordinary.play).toMatchObject({ episodes: 1000, returnMean: 5, returnStd: 1 });
});

describe("each fault is found, and only it", () => {
  const draw: Game["draw"] = (context) => context.fillRect(0, 0, 1, 1);
  const pair = [
    [0, 0],
    [0, 0],
  ];
  const cases: [string, GameDefinition, RegExp][] = [
    [
      "no end",
      walk({ update: () => ({ observation: [0, 0], reward: 0.5 }) }, { maxSeconds: undefined }),
      /error endless: no episode ended within 2000 steps of random play, and there is no time limit/,
    ],
    [
      "out of bounds",
      walk({ update: () => ({ observation: [0, 1.5], reward: 1, done: true }) }),
      /error out-of-bounds: observation\[1\] was 1.5 in step 0, outside its box of -1 to 1/,
    ],
    [
      "out of bounds at a start",
      walk({ start: ({ random }) => ({ observation: [0, random() < 0.5 ? 0 : -2] }) }),
      /error out-of-bounds: observation\[1\] was -2 at the start of episode \d, outside its box of -1 to 1/,
    ],
    [
      "Math.random",
      walk({ update: () => ({ observation: [0, Math.random() * 0], reward: 1, done: true }) }),
      /error random: the game calls Math.random\(\) \(\d+ times in all\)/,
    ],
    [
      "Date.now",
      walk({ update: () => ({ observation: [0, Date.now() * 0], reward: 1, done: true }) }),
      /error clock: the game calls Date.now\(\)/,
    ],
    [
      "new Date",
      walk({ update: () => ({ observation: [0, new Date().getFullYear() * 0], reward: 1, done: true }) }),
      /error clock: the game calls new Date\(\)/,
    ],
    [
      "performance",
      walk({ update: () => ({ observation: [0, performance.now() * 0], reward: 1, done: true }) }),
      /error clock: the game calls performance.now\(\)/,
    ],
    [
      "one course for all seeds",
      walk({
        start: () => {
          ticks = 0;
          return [0, 0];
        },
        update: (_deltaTime: number, action: number) => ({
          observation: [++ticks / 20, action],
          reward: action,
          terminated: ticks === 20,
        }),
      } as Partial<Game>),
      /warning no-variety: two seeds play alike under the same actions/,
    ],
    [
      "one reward",
      walk({ update: () => ({ observation: [0, 0], reward: 0, done: true }) }),
      /warning constant-reward: the reward was 0 in all of 2000 steps/,
    ],
    [
      "one return",
      walk({
        start: ({ random }) => {
          ticks = 0;
          return [random() - 0.5, 0];
        },
        update: (_deltaTime: number, action: number) => ({
          observation: [++ticks / 9, action],
          reward: ticks === 4 ? -1.1 : 0.1,
          terminated: ticks === 4,
        }),
      } as Partial<Game>),
      /warning constant-return: all 500 episodes of random play returned -0.8: an agent sees nothing that is worth more/,
    ],
    [
      "over in the first step",
      walk({ update: () => ({ observation: [0, 0], reward: 0, terminated: true }) }),
      /error over-at-once: 2000 of 2000 episodes of random play were over in their first step, each with a return of 0: /,
    ],
    [
      "over in the first step of all episodes but the first",
      (() => {
        let steps = 0;
        const update: Game["update"] = () => {
          steps++;
          return { observation: [steps / 1e6, 0], reward: Number(steps < 20), terminated: steps >= 20 };
        };
        return walk({ update });
      })(),
      /error over-at-once: 1980 of 1981 episodes of random play were over in their first step, each with a return of 0: /,
    ],
    [
      "one reward that dwarfs all others",
      walk({
        update: () => ({
          observation: [0, 0],
          reward: ++ticks % 50 ? 1 : -1e25,
          terminated: ticks % 50 === 0,
        }),
      }),
      /error reward-size: the largest reward was 1e\+25, a usual one 3.2: training scales/,
    ],
    [
      "a countdown in which nobody is active",
      walk(
        {
          start: () => ({ observation: pair, active: [false, false] }),
          update: () => ({ observation: pair, reward: [1, 1], active: [false, false] }),
        },
        { numAgents: 2 },
      ),
      /error no-active-agent: no agent is active in or after step 1 of episode 0, which ends the episode/,
    ],
    [
      "an unknown name",
      walk({ update: () => ({ observation: [0, 0], reward: 1, done: true, infos: { apples: 1 } }) }),
      /warning unread-result: update\(\) returns "infos", which is not read/,
    ],
    [
      "a NaN reward",
      walk({ update: () => ({ observation: [0, 0], reward: Number.NaN }) }),
      /error contract: update\(\) returned reward = NaN.* \(tick 1 of episode 0\); action [01] \("(left|right)"\), observation \[/,
    ],
    [
      "draw throws",
      walk({
        draw: () => {
          throw new Error("no image");
        },
      }),
      /error draw-throws: draw\(\) threw: no image/,
    ],
    [
      "draw with NaN",
      walk({ draw: (context) => context.fillRect(Number.NaN, 0, 1, 1) }),
      /error draw-coordinates: draw\(\) called fillRect\(NaN, 0, 1, 1\)/,
    ],
    ["draw draws nothing", walk({ draw: () => undefined }), /error draw-blank: draw\(\) drew nothing/],
    ["no draw", walk({ draw: undefined }), /warning no-draw: there is no draw\(\)/],
    [
      "a timer",
      walk({
        update: () => {
          clearTimeout(setTimeout(() => undefined, 1));
          return { observation: [0, 0], reward: 1, done: true };
        },
      }),
      /error timer: the game calls setTimeout\(\)/,
    ],
    [
      "a picture that stands still",
      walk({ draw: (context) => context.fillRect(0, 0, 1, 1) }),
      /warning draw-unchanging: draw\(\) drew the same picture 20 times while the game went on/,
    ],
    [
      "an entry that is never set",
      walk({ update: () => ({ observation: [Math.sin(ticks++), 0], reward: ticks, done: ticks % 9 === 0 }) }),
      /warning constant-observation: never changed in \d+ steps.*: observation\[1\] \(0\)$/,
    ],
    [
      "ignored actions",
      walk({ update: () => ({ observation: [0, 0], reward: 1, done: true }) }),
      /error ignored-actions: no action changes anything: at 60 moments/,
    ],
    [
      "two actions that do the same",
      walk({}, { action: discrete(["left", "right", "jump"]) }),
      /warning action-without-effect: action 1 "right" and action 2 "jump" had the same effect at all 60 moments/,
    ],
    [
      "a slow game",
      walk({ update: () => ({ observation: [wait(2), 0], reward: 1, done: true }) }),
      /warning slow-step: a step takes 2(\.\d)? ms: a worker plays (4[0-9]0|500) steps a second/,
    ],
    [
      "a slow constructor",
      walk({}, { create: () => [wait(40), walk().create()][1] as Game }),
      /warning slow-create: create\(\) and the first start\(\) take 4\d ms: a worker of 64 copies needs 2\.[67] s/,
    ],
    [
      "a parameter's end",
      walk(
        {
          draw,
          start: ({ parameters, random }) => {
            if (parameters.size > 5) throw new Error("too big");
            return [random(), 0];
          },
        },
        { parameters: { size: { default: 1, low: 1, high: 9 } } },
      ),
      /error parameter: with size = 9: start\(\) threw: too big/,
    ],
    [
      "a bad description",
      { ...walk(), tickSeconds: -1 },
      /error definition: ConfigurationError: tickSeconds: must be a positive number/,
    ],
  ];
  for (const [name, definition, pattern] of cases) {
    test(name, async () => {
      const findings = await found(definition);
      expect(
        findings.some((finding) => pattern.test(finding)),
        findings.join("\n"),
      ).toBe(true);
    });
  }

  test("every kind of check has a case here", () => {
    const covered = new Set(cases.map(([, , pattern]) => /^\w+ ([\w-]+)/.exec(pattern.source)![1]));
    // Those have tests of their own below or in reward-check.test.ts, or are found where a browser is.
    const elsewhere = [
      "score-lost-at-end",
      "score-falls",
      ...["load", "hang", "not-reproducible", "state-survives-start", "network", "storage"],
      ...["page-error", "reads-drawing", "slow-webgl", "undrawn-ticks", "needs-turns", "reads-layout"],
    ];
    expect([...CHECKS].filter((check) => !covered.has(check) && !elsewhere.includes(check))).toEqual([]);
  });
});

test("where nobody is active it is said once, and not where somebody is from the first update on", async () => {
  const observation = Array.from({ length: 2 }, () => [0, 0]);
  const nobody = async (active: boolean) => {
    const game = walk(
      {
        start: () => ({ observation, active: [false, false] }),
        update: () => ({ observation, reward: [1, 1], active: [active, active] }),
      },
      { numAgents: 2 },
    );
    return (await found(game)).filter((finding) => finding.includes("no-active-agent"));
  };
  expect(await nobody(false)).toHaveLength(1);
  expect(await nobody(true)).toEqual([]);
});

describe("determinism", () => {
  test("a game that remembers its last episode in the module", async () => {
    let drift = 0;
    const definition = walk({
      start: ({ random }) => [random() / 2 + drift++ * 1e-3 - Math.floor(drift / 400) * 0.4, 0],
    });
    expect((await found(definition)).join("\n")).toMatch(
      /error not-reproducible: .* differently in a new game: at the start of episode 0 observation\[0\] was [\d.]+, then/,
    );
  });

  test("Math.random is named as the probable cause", async () => {
    const definition = walk({ start: () => [Math.random(), 0] });
    const { findings } = await checkGame(definition, METERS);
    expect(findings.find(({ id }) => id === "not-reproducible")?.fix).toBe(
      "remove Math.random, the probable cause",
    );
  });

  test("a game whose episodes leave something behind in it alone", async () => {
    const definition = defineGame({
      ...walk(),
      create: () => {
        const game = walk().create();
        const { start } = game;
        let last = 0;
        game.start = (context) => {
          start.call(game, context);
          const before = last;
          last = context.random() * 0.9;
          return [before, context.random()];
        };
        return game;
      },
    } as GameOptions);
    expect((await found(definition)).join("\n")).toMatch(
      /error state-survives-start: .*: at the start of episode 0 observation\[0\] was 0, then 0\.\d+/,
    );
  });
});

test("a label used as an action is named with its place and the number to compare with", async () => {
  class Labelled {
    x = 0;
    start() {
      this.x = 0;
      return [0, 0];
    }
    update(_deltaTime: number, action: unknown) {
      if (action === "left") this.x -= 0.1;
      if (action === "right") this.x += 0.1;
      this.x += 0.01;
      return { observation: [this.x, 0], reward: this.x, terminated: this.x > 0.9 };
    }
  }
  const module = { name: "games/x.js", text: `// the module\n${Labelled.toString()}` };
  const game = walk({}, { create: () => new Labelled() as never });
  const { findings } = await checkGame(game, { ...METERS, module });
  const finding = findings.find(({ id }) => id === "ignored-actions")!;
  expect(finding.text).toContain('; the game compares with the label "left", "right"');
  expect(finding.fix).toBe('an action is the number of its label: write action === 0 for "left"');
  const line = module.text.split("\n").findIndex((text) => text.includes('=== "left"')) + 1;
  expect(finding.stack?.split("\n")[0]).toMatch(new RegExp(`^ {4}at games/x\\.js:${line}:\\d+$`));
});

describe("a game that cannot be played", () => {
  test("is told from one that fails now and then", async () => {
    const never = walk({ update: () => ({ observation: [0, 0], reward: Number.NaN }) });
    expect(await checkGame(never, METERS)).toMatchObject({ isUnplayable: true, play: null });
    let updates = 0;
    const once = walk({
      update: () => ({
        observation: [0, 0],
        reward: ++updates === 30 ? Number.NaN : 1,
        done: updates % 20 === 0,
      }),
    });
    expect(await checkGame(once, METERS)).toMatchObject({ isUnplayable: false, isTrainable: false });
  });

  test("its failure names the method, whose place can be found, once", async () => {
    class Catch {
      start() {
        return [0, 0];
      }
      update() {
        return { observation: [0, 0], reward: 0 / 0 };
      }
    }
    const { findings } = await checkGame(walk({}, { create: () => new Catch() as never }), METERS);
    const [finding, ...more] = findings.filter(({ id }) => id === "contract");
    expect(more).toEqual([]);
    expect(finding.method).toMatchObject({ name: "Catch.update", field: "reward" });
    expect(finding.method!.text).toMatch(/^update\(\)/);
    expect(finding.stack).toBeNull();
  });
});

test("a check without much time says less, never something else", async () => {
  let now = 0;
  const slow = walk({
    update: (_deltaTime: number, action: number) => {
      now += 2;
      return { observation: [action, 0], reward: action, done: true };
    },
  } as Partial<Game>);
  const { findings } = await checkGame(slow, { now: () => now, budgetMilliseconds: 50 });
  expect(findings.map(({ id }) => id)).toEqual(["slow-step"]);
});

test("the globals are put back, also after an exception", async () => {
  const originals = [Math.random, Date, performance.now];
  await checkGame(countingGame({ tickResult: () => ({ reward: Number.NaN }) }), METERS);
  expect([Math.random, Date, performance.now]).toEqual(originals);
});

test("what is no game at all is reported, not thrown", async () => {
  expect(await checkGame(undefined as never, METERS)).toMatchObject({
    isTrainable: false,
    description: null,
    play: null,
  });
});
