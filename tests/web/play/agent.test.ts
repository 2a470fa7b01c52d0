import { type Action, Agent, AgentError, controllerOf, loadAgent } from "@attract/play";
import { flatAction } from "@attract/play/choice";
import { choosePolicy } from "@attract/play/document";
import { readOnnx } from "@attract/play/onnx-file";
import { afterEach, describe, expect, it, test, vi } from "vitest";
import { exportOf, filesOf, GOLDEN_POLICIES, observationOf, rowOf } from "./support/golden.ts";

const NUM_ROWS = 12;
const ROWS = [...Array(NUM_ROWS).keys()];

afterEach(() => {
  vi.unstubAllGlobals();
});

function numbersOf(action: Action): number[] {
  const flat = flatAction(action);
  return typeof flat === "number" ? [flat] : Array.from(flat);
}

/** Its first three numbers are choices, and its modes have the others in unit space. */
const isMixed = (name: string) => name === "mixed";

/** Row `row` of the golden mask, or null. */
function maskOf(name: string, row: number): number[] | null {
  const mask = GOLDEN_POLICIES[name].action_mask;
  return mask === null ? null : rowOf(mask, row);
}

test.each(Object.keys(GOLDEN_POLICIES))("%s: outputs are torch's, and the likeliest actions", (name) => {
  const golden = GOLDEN_POLICIES[name];
  const agent = new Agent(filesOf(name));
  for (const row of ROWS) {
    const state = Float32Array.from(golden.state_size > 0 ? rowOf(golden.inputs.state_ins, row) : []);
    const action = agent.act(observationOf(name, row), { mask: maskOf(name, row), state });
    for (const [output, tensor] of Object.entries(golden.outputs)) {
      const got = output === "state_outs" ? state : agent.outputs.get(output)!;
      for (const [i, expected] of rowOf(tensor, row).entries()) {
        expect(Math.abs(got[i] - expected)).toBeLessThan(1e-5 * Math.max(1, Math.abs(expected)));
      }
    }
    expect(agent.value).toBe(agent.outputs.get("value")![0]);
    if (golden.description.action.kind !== "box") {
      const mode = rowOf(golden.modes, row).slice(0, isMixed(name) ? 3 : undefined);
      expect(numbersOf(action).slice(0, mode.length)).toEqual(mode);
    }
  }
});

test.each(Object.keys(GOLDEN_POLICIES))("%s: the model that ships decides alike", (name) => {
  const [older, now] = [new Agent(filesOf(name)), new Agent(exportOf(name))];
  for (const row of ROWS) {
    const options = (agent: Agent) => ({ mask: maskOf(name, row), state: agent.newState() });
    const action = now.act(observationOf(name, row), options(now));
    expect(action).toEqual(older.act(observationOf(name, row), options(older)));
    // The graph's own action knows the mask.
    const own = [...now.outputs.get("action")!];
    for (const [i, x] of numbersOf(action).entries()) {
      expect(own[i]).toBeCloseTo(x, 4);
    }
  }
});

test("a mixed action has its parts by name, and its mask may have those too", () => {
  const golden = GOLDEN_POLICIES.mixed;
  const agent = new Agent(filesOf("mixed"));
  for (const row of ROWS) {
    const flat = maskOf("mixed", row)!;
    // Sorted by name: button has 4 choices, gear 2 and 3.
    const mask = { gear: flat.slice(4), button: flat.slice(0, 4) };
    const action = agent.act(observationOf("mixed", row), { mask }) as Record<string, Float32Array>;
    expect(Object.keys(action)).toEqual(["button", "gear", "aim", "lean"]);
    const [button, one, two, x, y, lean] = rowOf(golden.modes, row);
    expect([action.button, ...action.gear]).toEqual([button, one, two]);
    const clip = (value: number) => Math.min(Math.max(value, -1), 1);
    expect(action.aim[0]).toBeCloseTo(2 * clip(x), 4);
    expect(action.aim[1]).toBeCloseTo(5 + 5 * clip(y), 4);
    expect(action.lean[0]).toBeCloseTo(clip(lean), 4);
  }
});

test("a mask of booleans is one of numbers", () => {
  const agent = new Agent(exportOf("masked"));
  const mask = [false, false, false, true, false];
  expect(agent.act(observationOf("masked", 0), { mask })).toBe(3);
  expect([...agent.outputs.get("action")!]).toEqual([3]);
});

test("a box's mean is clipped and given in the game's units", () => {
  const agent = new Agent(filesOf("gaussian"));
  for (const row of ROWS) {
    const action = agent.act(observationOf("gaussian", row)) as Float32Array;
    const mean = rowOf(GOLDEN_POLICIES.gaussian.outputs.mean, row).map((x) => Math.min(Math.max(x, -1), 1));
    expect(action[0]).toBeCloseTo(2 * mean[0], 4);
    expect(action[1]).toBeCloseTo(5 + 5 * mean[1], 4);
  }
});

test.each(["masked", "multi_discrete", "dict", "mixed"])(
  "%s: with temperature 1 it draws as training does",
  (name) => {
    const golden = GOLDEN_POLICIES[name];
    for (const row of ROWS) {
      const draws = rowOf(golden.uniforms, row);
      const agent = new Agent(filesOf(name), { temperature: 1, random: () => draws.shift()! });
      const action = agent.act(observationOf(name, row), { mask: maskOf(name, row) });
      const drawn = rowOf(golden.actions, row).slice(0, isMixed(name) ? 3 : undefined);
      expect(numbersOf(action).slice(0, drawn.length)).toEqual(drawn);
    }
  },
);

test("the lower the temperature, the more often the likeliest action is drawn", () => {
  const mask = [1, 1, 1, 1, 1];
  const best = new Agent(filesOf("masked")).act(observationOf("masked", 0), { mask });
  const sharesAt = (temperature: number): number => {
    let [drawn, found] = [0, 0];
    const agent = new Agent(filesOf("masked"), { temperature, random: () => (drawn++ + 0.5) / 1000 });
    for (let i = 0; i < 1000; i++) if (agent.act(observationOf("masked", 0), { mask }) === best) found++;
    return found / 1000;
  };
  const [cold, warm, hot] = [0.02, 1, 1e6].map(sharesAt);
  expect(cold).toBeGreaterThan(0.99);
  expect(warm).toBeLessThan(cold);
  expect(hot).toBeCloseTo(0.2, 1);
  expect(warm).toBeGreaterThan(hot);
});

test("a box is drawn around its mean, by its own spread times the temperature", () => {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  const game = { action: { kind: "box", shape: [2], low: -100, high: 100 } };
  for (const temperature of [1, 0.1]) {
    const agent = new Agent(filesOf("gaussian", game), { temperature, random });
    const drawn = Array.from({ length: 4000 }, () => (agent.act([0.1, 0.2, 0.3]) as Float32Array)[0] / 100);
    const inside = drawn.filter((x) => Math.abs(x) < 1);
    const logStd = agent.outputs.get("log_std")![0];
    const mean = inside.reduce((sum, x) => sum + x, 0) / inside.length;
    const spread = Math.sqrt(inside.reduce((sum, x) => sum + (x - mean) ** 2, 0) / inside.length);
    if (temperature === 0.1) {
      expect(spread / (0.1 * Math.exp(logStd))).toBeCloseTo(1, 1);
      expect(mean).toBeCloseTo(agent.outputs.get("mean")![0], 1);
    } else expect(spread).toBeGreaterThan(0.2);
  }
});

test("memory goes on from decision to decision until an episode begins", () => {
  const agent = new Agent(filesOf("lstm"));
  const see = (): number => {
    agent.act(observationOf("lstm", 0));
    return agent.value;
  };
  const first = see();
  expect(see()).not.toBe(first);
  agent.reset();
  expect(see()).toBe(first);
  const [one, two] = [agent.newState(), agent.newState()];
  agent.act(observationOf("lstm", 0), { state: one });
  expect(agent.value).toBe(first);
  expect([...one].some((x) => x !== 0)).toBe(true);
  expect([...two].every((x) => x === 0)).toBe(true);
});

test("a set is given as its rows, in any order", () => {
  const agent = new Agent(exportOf("set"));
  const valueFor = (rocks: unknown): number => {
    agent.act({ rocks, speed: [0.5, -1] } as never);
    return agent.value;
  };
  const rows = [[0.5, 1], Float32Array.of(-2, 0.25), [3, 3]];
  const flat = [...rows.flatMap((row) => [...row, 1]), ...Array(6).fill(0)];
  expect(valueFor(rows)).toBe(valueFor(flat));
  expect(valueFor([rows[2], rows[0], rows[1]])).toBeCloseTo(valueFor(rows), 5);
  expect(valueFor(rows.slice(1))).not.toBeCloseTo(valueFor(rows), 5);
  expect(valueFor([])).toBe(valueFor(Array(15).fill(0)));
  expect(() => valueFor(Array(6).fill([1, 2]))).toThrow(
    "observation rocks: expected at most 5 rows of 2 numbers, got 6",
  );
  expect(() => valueFor([[1, 2], [3]])).toThrow("got a row of 1 numbers");
  expect(() => valueFor([[1, 2], null])).toThrow("got a row of undefined numbers");
});

test("with a reaction time it decides by what was there so many decisions ago", () => {
  const [quick, slow] = [new Agent(filesOf("dict")), new Agent(filesOf("dict"), { reactionSteps: 2 })];
  const valuesOf = (agent: Agent): number[] =>
    [0, 1, 2, 3, 4].map((row) => {
      agent.act(observationOf("dict", row));
      return agent.value;
    });
  const [a, b, c] = valuesOf(quick);
  expect(valuesOf(slow)).toEqual([a, a, a, b, c]);
  slow.reset();
  expect(valuesOf(slow)).toEqual([a, a, a, b, c]);
});

test("a mistake is any action that is allowed", () => {
  const draws = [0, 0.99];
  const agent = new Agent(filesOf("masked"), { mistakeRate: 0.5, random: () => draws.shift()! });
  const mask = [1, 0, 1, 1, 0];
  expect(agent.act(observationOf("masked", 0), { mask })).toBe(3);
  draws.push(0.6);
  const best = new Agent(filesOf("masked")).act(observationOf("masked", 0), { mask });
  expect(agent.act(observationOf("masked", 0), { mask })).toBe(best);
});

test("tick decides as often as in training and holds the action in between", () => {
  const agent = new Agent(filesOf("masked", { ticks_per_step: 3 }));
  let looks = 0;
  const look = (): number[] => {
    looks++;
    return observationOf("masked", looks) as number[];
  };
  const actions = Array.from({ length: 7 }, () => agent.tick(look, () => [1, 1, 1, 1, 1]));
  expect(looks).toBe(3);
  expect(actions[1]).toBe(actions[0]);
  agent.reset();
  agent.tick(look, () => [1, 1, 1, 1, 1]);
  expect(looks).toBe(4);
});

test.each<[string, (agent: Agent) => unknown, string]>([
  ["dict", (agent) => agent.act([1, 2]), "observation bytes: expected 4 numbers, got 2"],
  ["dict", (agent) => agent.act({ speed: [1, 2] }), "expected an entry bytes, got speed"],
  ["gru", (agent) => agent.act([1, 2, 3, 4]), "observation obs: expected 3 numbers, got 4"],
  ["gru", (agent) => agent.act([1, 2, 3], { state: new Float32Array(2) }), "state: expected 6 numbers"],
  ["masked", (agent) => agent.act([1, 2, 3]), "pass { mask } to act"],
  ["masked", (agent) => agent.act([1, 2, 3], { mask: [1] }), "mask: expected 5 numbers, got 1"],
  ["masked", (agent) => agent.act([1, 2, 3], { mask: [0, 0, 0, 0, 0] }), "forbids every choice"],
])("%s: what is not the game's is refused (%#)", (name, act, message) => {
  const agent = new Agent(filesOf(name));
  expect(() => act(agent)).toThrow(AgentError);
  expect(() => act(agent)).toThrow(message);
});

test("it loads policy.json and the model beside it, of a folder or by name", async () => {
  const { document, model } = filesOf("gru");
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: URL) => {
    asked.push(url.href);
    if (url.pathname.includes("missing")) return new Response("", { status: 404 });
    return new Response(url.pathname.endsWith(".json") ? JSON.stringify(document) : (model as BodyInit));
  });
  for (const source of ["http://a.test/x/", "http://a.test/x", new URL("http://a.test/x/policy.json")]) {
    asked.length = 0;
    expect((await loadAgent(source)).policyVersion).toBe(7);
    expect(asked).toEqual(["http://a.test/x/policy.json", "http://a.test/x/policy.onnx"]);
  }
  await expect(loadAgent("http://a.test/missing")).rejects.toThrow("missing/policy.json answered 404");
});

test("a model that is split is put together in the order of its parts", async () => {
  const { document, model } = exportOf("gru");
  const bytes = new Uint8Array(model);
  const files: Record<string, BodyInit> = {
    "policy.json": JSON.stringify({ ...document, parts: { "policy.onnx": 3 } }),
    "policy.onnx.1": bytes.slice(0, 100),
    "policy.onnx.2": bytes.slice(100, 300),
    "policy.onnx.3": bytes.slice(300),
  };
  vi.stubGlobal("fetch", async (url: URL) => {
    const body = files[url.pathname.slice(1)];
    return new Response(body, { status: body === undefined ? 404 : 200 });
  });
  const [whole, agent] = [new Agent({ document, model }), await loadAgent("http://a.test/")];
  const seen = observationOf("gru", 0);
  expect(agent.act(seen)).toEqual(whole.act(seen));
  delete files["policy.onnx.2"];
  await expect(loadAgent("http://a.test/")).rejects.toThrow("policy.onnx.2 answered 404");
});

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

const { document } = filesOf("gru");
const { inputs } = document;
const two = {
  ...document,
  inputs: undefined,
  seats: ["scout", "keeper"],
  policies: {
    scout: { file: "scout.onnx", inputs: inputs! },
    keeper: { file: "keeper.onnx", inputs: inputs! },
  },
};

test("a sole policy needs no name, one of several does", () => {
  expect(choosePolicy(document, undefined).file).toBe("policy.onnx");
  expect(choosePolicy(two, "keeper").file).toBe("keeper.onnx");
  expect(() => choosePolicy(document, "scout")).toThrow("one policy, which has no name: got scout");
  expect(() => choosePolicy(two, undefined)).toThrow('say which one plays: { policy: "scout" or "keeper" }');
  expect(() => choosePolicy(two, "constructor")).toThrow("there is no policy constructor");
});

test("another format is refused by its name", () => {
  expect(() => choosePolicy({ ...document, format_version: 3 }, undefined)).toThrow("got attract-policy 3");
  expect(choosePolicy({ ...document, format_version: 2 }, undefined).file).toBe("policy.onnx");
  expect(() => choosePolicy({} as never, undefined)).toThrow("expected a policy.json");
  expect(() => choosePolicy({ ...document, inputs: undefined }, undefined)).toThrow("has no inputs");
});

test("a level is a version of the sole policy, from 1 on", () => {
  const levels = [
    { level: 1, file: "level-1.onnx", policy_version: 3, wins_below: null },
    { level: 2, file: "level-2.onnx", policy_version: 9, wins_below: 0.8 },
  ];
  const graded = { ...document, levels };
  expect(choosePolicy(graded, undefined, 1)).toMatchObject({ file: "level-1.onnx", policyVersion: 3 });
  expect(choosePolicy(graded, undefined)).toMatchObject({
    file: "policy.onnx",
    policyVersion: document.policy_version,
  });
  expect(() => choosePolicy(graded, undefined, 3)).toThrow("there is no level 3: they are 1 to 2");
  expect(() => choosePolicy(document, undefined, 1)).toThrow("attract export --levels 3 writes some");
  expect(() => choosePolicy(two, "keeper", 1)).toThrow("levels are of one policy");
});

const BYTES = filesOf("conv").model as Uint8Array;

test("a graph is read with its weights, inputs and outputs", () => {
  const graph = readOnnx(BYTES);
  expect(graph.outputs).toEqual(["logits", "value"]);
  expect(graph.inputs).toEqual([{ name: "obs", type: 2, dims: [1, 9, 2, 3] }]);
  expect(graph.constants.get("policy_head.weight")!.dims).toEqual([4, 8]);
  expect(graph.nodes.filter(({ op }) => op === "Conv")[0].attributes.strides).toEqual([2, 2]);
});

test("a file that is cut short or damaged is refused, and nothing else happens", () => {
  for (const length of [0, 1, 100, 1000, BYTES.length - 1]) {
    expect(() => readOnnx(BYTES.slice(0, length)), `${length} bytes`).toThrow(AgentError);
  }
  let refused = 0;
  for (let at = 0; at < BYTES.length; at += at < 400 ? 1 : 97) {
    const damaged = BYTES.slice();
    damaged[at] ^= 0xff;
    try {
      readOnnx(damaged);
    } catch (error) {
      expect(error).toBeInstanceOf(AgentError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(50);
});
