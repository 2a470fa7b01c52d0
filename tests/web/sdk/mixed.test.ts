/** Mixed actions: what is refused and why, and how a game, its keys and its masks have their parts by name. */

import { expect, describe as group, test } from "vitest";
import type { GameOptions, Out } from "../../../web/sdk/src/contract.ts";
import { defineGame, resolveAction } from "../../../web/sdk/src/define-game.ts";
import { describe } from "../../../web/sdk/src/description.ts";
import { createInstance } from "../../../web/sdk/src/group-instance.ts";
import { drawActions, RandomPlayer } from "../../../web/sdk/src/random-play.ts";
import {
  box,
  checkSpace,
  dict,
  discrete,
  type MixedSpace,
  mixed,
  multiBinary,
  multiDiscrete,
  type NamedAction,
  numChoices,
} from "../../../web/sdk/src/spaces.ts";

const AIM = box({ shape: [2], low: 0, high: [800, 600] });
// Written in another order than it travels in: button, gear, then aim.
const SPACE = mixed({ gear: multiDiscrete([2, 3]), aim: AIM, button: discrete(["hold", "fire"]) });

const of = (spaces: unknown) => ({ kind: "mixed", spaces }) as MixedSpace;
const HOSTILE: [name: string, space: MixedSpace, says: string][] = [
  ["no parts", mixed({}), "action: mixed needs a box and a discrete"],
  ["null", of(null), "action: mixed needs an object of named parts, got null"],
  ["boxes alone", mixed({ a: AIM, b: AIM }), "action: mixed needs a box and a discrete"],
  ["choices alone", mixed({ a: discrete(2), b: discrete(2) }), "boxes alone are one box, choices alone"],
  [
    "a part that is none",
    of({ a: AIM, b: 3 }),
    "action.b: a part of mixed is a box, discrete or multiDiscrete",
  ],
  [
    "nested",
    of({ a: AIM, b: SPACE }),
    'action.b: a part of mixed is a box, discrete or multiDiscrete, got "mixed"',
  ],
  ["switches", of({ a: AIM, b: multiBinary(2) }), "action.b: a part of mixed is"],
  ["a dict", of({ a: AIM, b: dict({ x: AIM }) }), "action.b: a part of mixed is"],
  ["a kind of Object", of({ a: AIM, b: { kind: "toString" } }), "action.b: a part of mixed is"],
  [
    "__proto__",
    of(JSON.parse('{"a":{"kind":"discrete","n":2,"labels":null},"__proto__":{"kind":"box"}}')),
    '"__proto__" is no name',
  ],
  ["a long name", mixed({ [`a${"b".repeat(32)}`]: AIM, c: discrete(2) }), "is no name of a part"],
  ["a name with a dot", mixed({ "a.b": AIM, c: discrete(2) }), '"a.b" is no name of a part'],
  [
    "an unbounded box",
    mixed({ a: box({ shape: [1] }), b: discrete(2) }),
    "action.a: a box action is float32 and needs",
  ],
  [
    "a huge box",
    mixed({ a: box({ shape: [1 << 20], low: 0, high: 1 }), b: discrete(2) }),
    "action.a: 1048576 real numbers",
  ],
  ["a huge choice", mixed({ a: AIM, b: discrete(1 << 20) }), "action.b: n must be at most 65536"],
  [
    "too many parts",
    mixed(Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`p${i}`, i ? discrete(2) : AIM]))),
    "spaces must have at most 16 entries",
  ],
];

test.each(HOSTILE)("%s: it is refused, and the part is named", (_, space, says) => {
  expect(() => checkSpace("action", space)).toThrow(says);
});

test("it is no observation, and no entry of one", () => {
  expect(() => checkSpace("observation", SPACE)).toThrow("must be a box, a set or a dict of them, got mixed");
  expect(() => checkSpace("observation", dict({ a: SPACE as never }))).toThrow('dict entry "a"');
});

/** Notes what it is given. */
class Noting {
  readonly given: unknown[] = [];
  start({ out }: { out: Out<Float32Array, Record<string, Uint8Array>> }) {
    if (out.actionMask !== null) {
      out.actionMask.button.set([0, 1]);
      out.actionMask.gear.set([1, 1, 0, 0, 1]);
    }
    return [0];
  }
  update(_deltaTime: number, action: NamedAction | NamedAction[]) {
    this.given.push(structuredClone(action));
    return { observation: [0], reward: 0, terminated: false };
  }
}

const noting = (options: Partial<GameOptions> = {}) =>
  defineGame({
    id: "Noting-v1",
    tickSeconds: 0.1,
    observation: box({ shape: [1] }),
    action: SPACE,
    create: () => new Noting(),
    ...options,
  });

group("a game", () => {
  test("gets its parts by name, each as it would be alone", () => {
    const instance = createInstance(noting());
    instance.start(0);
    instance.step([1, 0, 2, 400, 300]);
    expect((instance.game as Noting).given).toEqual([
      { button: 1, gear: Int32Array.of(0, 2), aim: Float32Array.of(400, 300) },
    ]);
  });

  test("of several agents gets one object for each", () => {
    const several = noting({ numAgents: 2 });
    const instance = createInstance({
      ...several,
      create: () => ({
        start: () => [[0], [0]],
        update: (_: number, [one, other]: NamedAction[]) => ({
          observation: [[0], [0]],
          reward: [one.button as number, (other.aim as Float32Array)[0]],
          terminated: [false, false],
        }),
      }),
    } as never);
    instance.start(0);
    instance.step([
      [1, 0, 2, 400, 300],
      [0, 0, 2, 7, 300],
    ]);
    expect([...instance.rewards]).toEqual([1, 7]);
  });

  test("forbids choices by the names of their parts, and random play keeps to it", () => {
    const instance = createInstance(noting({ actionMask: true }));
    instance.start(0);
    // button 2, gear 2 and 3.
    expect([...instance.masks[0]]).toEqual([0, 1, 1, 1, 0, 0, 1]);
    const player = new RandomPlayer(SPACE);
    for (let step = 0; step < 50; step++) instance.step(drawActions(instance, player));
    for (const { button, gear, aim } of (instance.game as Noting).given as Record<string, number[]>[]) {
      expect([button, gear[1]]).toEqual([1, 2]);
      expect(aim[0] >= 0 && aim[0] <= 800 && aim[1] >= 0 && aim[1] <= 600).toBe(true);
    }
  });
});

group("a person's keys", () => {
  test("name parts; what they leave out is as at rest", () => {
    const { keys, idle_action } = describe(
      noting({
        keys: { Space: { button: "fire" }, KeyF: "fire", KeyG: { gear: [1, 2], aim: [1, 2] } },
        idle: { aim: [400, 300] },
      }),
    );
    expect(idle_action).toEqual([0, 0, 0, 400, 300]);
    expect(keys).toEqual({ Space: [1, 0, 0, 400, 300], KeyF: [1, 0, 0, 400, 300], KeyG: [0, 1, 2, 1, 2] });
  });

  test.each([
    [
      "jump",
      'keys.A: needs an object with some of button, gear, aim, or the label of one choice, got "jump"',
    ],
    [[1, 0, 0, 1, 2], "keys.A: needs an object"],
    [{ buton: "fire" }, "keys.A.buton: unknown option; did you mean button?"],
    [{ button: "jump" }, 'keys.A.button: "jump" is no action; legal: "hold", "fire"'],
    [{ aim: [801, 0] }, "keys.A.aim: component 0 cannot be 801"],
  ])("that say %j are refused", (action, says) => {
    expect(() => resolveAction("keys.A", SPACE, action as never)).toThrow(says);
  });
});

test("its components are those of the choices, then those of the boxes", () => {
  expect([0, 1, 2, 3, 4].map((c) => numChoices(SPACE, c))).toEqual([2, 2, 3, null, null]);
});
