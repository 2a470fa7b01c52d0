/** A trained policy that plays in a page of its own: no ONNX Runtime, no WebAssembly, no eval. */

import { type Action, type Chooser, chooserOf, flatMask, type Mask } from "./choice.ts";
import { choosePolicy, type PolicyDocument } from "./document.ts";
import { AgentError } from "./errors.ts";
import { Network } from "./network.ts";
import { readOnnx } from "./onnx-file.ts";
import type { Numbers } from "./tensor.ts";

/** What a game sees in one place: numbers in row-major order, one number, or a row of numbers for each thing of a set. */
export type Part = ArrayLike<number> | ArrayLike<ArrayLike<number>> | number;

/** A game's observation: one part, or several by key. */
export type Observation = Part | { readonly [key: string]: Part };

/** What `attract export` wrote, read already. */
export interface PolicyFiles {
  document: PolicyDocument;
  model: ArrayBuffer | Uint8Array;
}

/** How well it plays, and by which policy. */
export interface AgentOptions {
  /** Which of several policies plays, by its name. */
  policy?: string;
  /** Of an export with `--levels`: 1 is the easiest. Default: the exported version. */
  level?: number;
  /** 0, the default: the likeliest action. 1: drawn as in training. Above: more and more at random. */
  temperature?: number;
  /** It sees what was there so many decisions ago. Default 0. */
  reactionSteps?: number;
  /** The share of decisions in which it does anything that is allowed, in [0, 1]. Default 0. */
  mistakeRate?: number;
  /** Where chance comes from, numbers in [0, 1). Default `Math.random`. */
  random?: () => number;
}

export interface ActOptions {
  /** What is allowed now, of a game with an action mask; of a mixed action by the names of its parts, or flat. */
  mask?: Mask | Readonly<Record<string, Mask>> | null;
  /** Memory of a recurrent policy, read and written in place; the agent's own without it. See `newState`. */
  state?: Float32Array;
}

/**
 * Load what `attract export` wrote.
 *
 * @param source address of the folder, or of its policy.json; or what lies there.
 * @throws AgentError when it cannot be read, is no policy, or is one that cannot be played here.
 */
export async function loadAgent(
  source: string | URL | PolicyFiles,
  options: AgentOptions = {},
): Promise<Agent> {
  if (typeof source === "object" && "document" in source) return new Agent(source, options);
  const base = typeof location === "undefined" ? undefined : location.href;
  const given = new URL(source, base);
  if (!given.pathname.endsWith(".json")) {
    given.pathname = `${given.pathname.replace(/\/$/, "")}/policy.json`;
  }
  const document: PolicyDocument = await (await fetched(given)).json();
  const { file } = choosePolicy(document, options.policy, options.level);
  const count = document.parts?.[file];
  const names = count === undefined ? [file] : Array.from({ length: count }, (_, i) => `${file}.${i + 1}`);
  const parts = names.map(async (name) => (await fetched(new URL(name, given))).blob());
  const model = await new Blob(await Promise.all(parts)).arrayBuffer();
  return new Agent({ document, model }, options);
}

async function fetched(url: URL): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new AgentError(`${url} answered ${response.status}: is the export served there?`);
  return response;
}

/** Decides for one player of one game; a second player needs an agent of its own, or a `state` for each. */
export class Agent {
  /** The policy's number in its run. */
  readonly policyVersion: number;
  /** Ticks of the game for which an action is held, and how many seconds these are. */
  readonly ticksPerStep: number;
  readonly secondsPerStep: number;
  /** Names of the actions, of a game that has them. */
  readonly labels: readonly string[] | null;
  /** May be changed while it plays; see `AgentOptions`. */
  temperature: number;
  mistakeRate: number;
  reactionSteps: number;
  readonly #network: Network;
  readonly #chooser: Chooser;
  /** Each input's name, the entry of the observation that it takes, and of a set the numbers of a row with its last 1. */
  readonly #inputs: readonly (readonly [string, string, number | null])[];
  readonly #hasMask: boolean;
  readonly #random: () => number;
  readonly #stateSize: number;
  readonly #state: Float32Array;
  /** Observations that it has not seen yet, the oldest first. */
  #waiting: (readonly Numbers[])[] = [];
  #ticks = 0;
  #held: Action | null = null;

  /** @throws AgentError as `loadAgent`. */
  constructor({ document, model: bytes }: PolicyFiles, options: AgentOptions = {}) {
    const { model, policyVersion } = choosePolicy(document, options.policy, options.level);
    const { game } = document;
    this.#network = new Network(readOnnx(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)));
    for (const name of Object.keys(model.inputs)) {
      if (!this.#network.inputs.has(name))
        throw new AgentError(`the model has no input ${name}: policy.json is of another`);
    }
    this.#inputs = Object.entries(model.inputs).flatMap(([name, { key, shape, set }]) =>
      key === undefined ? [] : [[name, key, set === true ? Number(shape[2]) : null] as const],
    );
    this.#chooser = chooserOf(game.action);
    this.#hasMask = game.action_mask;
    this.#stateSize = this.#network.inputs.get("state_ins")?.length ?? 0;
    this.#state = this.newState();
    this.#random = options.random ?? Math.random;
    this.policyVersion = policyVersion;
    this.ticksPerStep = game.ticks_per_step;
    this.secondsPerStep = game.seconds_per_step;
    this.labels = game.action.kind === "discrete" ? (game.action.labels ?? null) : null;
    this.temperature = options.temperature ?? 0;
    this.mistakeRate = options.mistakeRate ?? 0;
    this.reactionSteps = options.reactionSteps ?? 0;
  }

  /** How good it finds what it saw last: the discounted reward that it expects, scaled as in training. */
  get value(): number {
    return this.#network.outputs.get("value")![0];
  }

  /** The model's outputs for what it saw last; the arrays are overwritten by the next decision. */
  get outputs(): ReadonlyMap<string, Numbers> {
    return this.#network.outputs;
  }

  /** Memory for one player at the start of an episode; empty for a policy without memory. */
  newState(): Float32Array {
    return new Float32Array(this.#stateSize);
  }

  /** An episode begins: what it remembers of the one before is gone. */
  reset(): void {
    this.#state.fill(0);
    this.#waiting = [];
    this.#ticks = 0;
    this.#held = null;
  }

  /**
   * Decide once. Where the game runs `ticksPerStep` ticks for each decision, call it so often, or `tick` always.
   *
   * @returns what the game's `update` takes.
   * @throws AgentError when the observation or the mask is not the game's.
   */
  act(observation: Observation, { mask: given = null, state = this.#state }: ActOptions = {}): Action {
    const mask = given === null ? null : flatMask(given);
    this.#checkMask(mask);
    if (state.length !== this.#stateSize) {
      throw new AgentError(`state: expected ${this.#stateSize} numbers (newState()), got ${state.length}`);
    }
    this.#see(observation);
    this.#network.inputs.get("state_ins")?.set(state);
    if (mask !== null) this.#network.inputs.get("action_mask")?.set(mask as ArrayLike<number>);
    this.#network.run();
    if (this.#stateSize > 0) state.set(this.#network.outputs.get("state_outs")!);
    if (this.mistakeRate > 0 && this.#random() < this.mistakeRate) {
      return this.#chooser.guess(mask, this.#random);
    }
    return this.#chooser.choose(this.#network.outputs, mask, this.temperature, this.#random);
  }

  /**
   * Called at every tick of the game: decides as often as in training, and holds the action in between.
   *
   * @param look asked for the observation when it is needed, and for the mask where the game has one.
   */
  tick(look: () => Observation, maskOf?: () => ActOptions["mask"]): Action {
    if (this.#held === null || this.#ticks % this.ticksPerStep === 0) {
      this.#held = this.act(look(), { mask: maskOf?.() ?? null });
    }
    this.#ticks++;
    return this.#held;
  }

  /** Put what is seen now, or was seen `reactionSteps` decisions ago, before the network. */
  #see(observation: Observation): void {
    const { inputs } = this.#network;
    for (const [name, key, stride] of this.#inputs) {
      const [input, part] = [inputs.get(name)!, entryOf(observation, key)];
      if (stride !== null && Array.isArray(part) && typeof part[0] !== "number")
        fillRows(input, part, key, stride);
      else fill(input, part as ArrayLike<number> | number, key);
    }
    if (this.reactionSteps === 0) {
      this.#waiting = [];
      return;
    }
    this.#waiting.push(this.#inputs.map(([name]) => inputs.get(name)!.slice()));
    while (this.#waiting.length > this.reactionSteps + 1) this.#waiting.shift();
    for (const [index, [name]] of this.#inputs.entries()) inputs.get(name)!.set(this.#waiting[0][index]);
  }

  #checkMask(mask: Mask | null): void {
    if (mask !== null && mask.length !== this.#chooser.maskSize) {
      throw new AgentError(`mask: expected ${this.#chooser.maskSize} numbers, got ${mask.length}`);
    }
    if (mask === null && this.#hasMask) {
      throw new AgentError("this game says what is allowed: pass { mask } to act, or maskOf to tick");
    }
  }
}

/** One entry of an observation; a game without names has one, which is all of it. */
function entryOf(observation: Observation, key: string): Part {
  if (typeof observation === "number") return observation;
  if (ArrayBuffer.isView(observation) || Array.isArray(observation)) return observation as Part;
  const entry = (observation as Record<string, Part>)[key];
  if (entry === undefined) {
    throw new AgentError(`observation: expected an entry ${key}, got ${Object.keys(observation).join(", ")}`);
  }
  return entry;
}

function fill(input: Numbers, values: ArrayLike<number> | number, key: string): void {
  const given = typeof values === "number" ? 1 : values.length;
  if (given !== input.length) {
    throw new AgentError(`observation ${key}: expected ${input.length} numbers, got ${given}`);
  }
  if (typeof values === "number") input[0] = values;
  else input.set(values);
}

/** The rows of a set, each followed by a 1, and zeros after. */
function fillRows(input: Numbers, rows: readonly ArrayLike<number>[], key: string, stride: number): void {
  const wrong = rows.find((row) => row?.length !== stride - 1);
  if (rows.length * stride > input.length || wrong !== undefined) {
    const came = wrong === undefined ? `${rows.length} rows` : `a row of ${wrong?.length} numbers`;
    const wanted = `at most ${input.length / stride} rows of ${stride - 1} numbers`;
    throw new AgentError(`observation ${key}: expected ${wanted}, got ${came}`);
  }
  input.fill(0);
  for (const [r, row] of rows.entries()) {
    input.set(row, r * stride);
    input[r * stride + stride - 1] = 1;
  }
}
