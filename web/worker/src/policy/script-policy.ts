/** A player that is a module of the game's author: `act(observation, mask, random)`. */

import type { Action, GameDefinition, GivenAction, ObservationValue } from "attract/contract";
import { asReturned } from "attract/observation";
import { createSequentialRandom, type GameRandom, STREAM } from "attract/random";
import { type ActionSpace, boxSize, type MixedSpace, maskGroups, mixedParts } from "attract/spaces";
import { importText } from "../game/load-game.ts";
import type { ObservationBatch } from "../game/observation-batch.ts";
import { recordedActions } from "../stage/hand-actions.ts";
import { UntrainedPolicy } from "./policy.ts";

/**
 * What the module exports.
 *
 * @param observation what the agent sees, as its game returns it; it holds until the function returns.
 * @param mask 1 for each action that is allowed; null: the game has no masks.
 * @param random draws that belong to this step, so that the episode can be played again.
 * @returns an action as the game's `update` takes it.
 */
export type Act = (observation: ObservationValue, mask: Uint8Array | null, random: GameRandom) => GivenAction;

/** What a script sees, and what it may do. */
type ScriptGame = Pick<GameDefinition, "observation" | "action">;

const ACTIVE = Uint8Array.of(1);

/** Owned by one rollout worker. */
export class ScriptPolicy extends UntrainedPolicy {
  readonly #act: Act;
  readonly #game: ScriptGame;
  readonly #turn: () => void;
  readonly #random = createSequentialRandom(STREAM.action);

  /**
   * @param policyId `script:` and the file. @param sizes as `UntrainedPolicy` has them.
   * @param turn called before each `act`.
   */
  constructor(
    policyId: string,
    act: Act,
    game: ScriptGame,
    sizes: { rows: number; stateSize: number },
    turn: () => void,
  ) {
    super(policyId, 0, sizes.rows, sizes.stateSize);
    this.#turn = turn;
    this.#act = act;
    this.#game = game;
  }

  /**
   * The action of slot `slot` of `batch`, as actions travel.
   *
   * @param uniform of the slot's own stream at this step. @throws Error naming the script, for what is no action, or what it threw.
   */
  decide(batch: ObservationBatch, slot: number, uniform: number): ArrayLike<number> {
    const mask = batch.maskSize > 0 ? batch.maskViews[slot] : null;
    const { observation, action: space } = this.#game;
    this.#random.reset(uniform * 2 ** 24, 0, 0, 0);
    let action: Action;
    this.#turn();
    try {
      action = this.#act(asReturned(observation, batch.views[slot]), mask, this.#random.random) as Action;
    } catch (error) {
      if (error instanceof Error) error.message = `${this.policyId}: ${error.message}`;
      throw error;
    }
    const wrong = problemOf(space, action, mask);
    if (wrong !== null) throw new Error(`${this.policyId}: act returned ${shown(action)}; ${wrong}`);
    const flat = space.kind === "mixed" ? flatOf(space, action) : action;
    return recordedActions(space, 1, flat, ACTIVE);
  }
}

/** The player in a module's text. Raises Error, or whatever running it threw, naming the script. */
export async function loadScript(policyId: string, text: string): Promise<Act> {
  try {
    const { act, default: fallback } = await importText(text, encodeURI(policyId));
    const found = act ?? fallback;
    if (typeof found !== "function") {
      throw new Error("it exports no function `act(observation, mask, random)`, which returns an action");
    }
    return found as Act;
  } catch (error) {
    if (error instanceof Error) error.message = `${policyId}: ${error.message}`;
    throw error;
  }
}

/** What would be right; null: it is. */
function problemOf(space: ActionSpace, action: unknown, mask: Uint8Array | null): string | null {
  if (space.kind === "mixed") return partsProblem(space, action, mask);
  if (space.kind === "discrete") {
    if (!isWhole(action, space.n)) return `a number from 0 to ${space.n - 1} is an action`;
    return mask !== null && mask[action] !== 1 ? "its mask does not allow it" : null;
  }
  const sizes = space.kind === "multi_discrete" ? space.nvec : null;
  const count = sizes?.length ?? (space.kind === "multi_binary" ? space.n : null);
  const values = typeof action === "number" ? [action] : listOf(action);
  if (values === null) return "an array of numbers is an action";
  if (space.kind === "box") {
    const isRight = values.length > 0 && values.every(Number.isFinite);
    const size = boxSize(space);
    return isRight && values.length === size ? null : `${size} numbers are an action`;
  }
  if (values.length !== count) return `${count} numbers are an action`;
  let offset = 0;
  for (const [c, value] of values.entries()) {
    const n = sizes?.[c] ?? 2;
    if (!isWhole(value, n)) return `number ${c} must be 0 to ${n - 1}`;
    if (sizes !== null && mask !== null && mask[offset + value] !== 1)
      return `the mask does not allow number ${c}`;
    offset += n;
  }
  return null;
}

function partsProblem(space: MixedSpace, action: unknown, mask: Uint8Array | null): string | null {
  const parts = mixedParts(space);
  const names = parts.map(({ name }) => name);
  const given = typeof action === "object" && action !== null ? Object.keys(action) : [];
  if (given.length !== names.length || !names.every((name) => given.includes(name)))
    return `an object with ${names.join(", ")} is an action`;
  let from = 0;
  for (const { name, space: part } of parts) {
    const end = maskGroups(part).reduce((sum, n) => sum + n, from);
    const own = (action as Record<string, unknown>)[name];
    const wrong = problemOf(part, own, mask === null ? null : mask.subarray(from, end));
    if (wrong !== null) return `${name}: ${wrong}`;
    from = end;
  }
  return null;
}

/** As an instance takes it. */
function flatOf(space: MixedSpace, action: Action): number[] {
  const named = action as unknown as Record<string, number | ArrayLike<number>>;
  return mixedParts(space).flatMap(({ name }) => {
    const own = named[name];
    return typeof own === "number" ? [own] : Array.from(own);
  });
}

function isWhole(value: unknown, n: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < n;
}

function listOf(action: unknown): number[] | null {
  if (!Array.isArray(action) && !ArrayBuffer.isView(action)) return null;
  return Array.from(action as ArrayLike<number>);
}

function shown(action: unknown): string {
  try {
    return String(action).slice(0, 80);
  } catch {
    return typeof action;
  }
}
