/** The game contract: what a game implements and what it is given. Pure simulation, no clock, no page, no Math.random. */

import type { Context2D } from "./context-2d.ts";
import type { PageAdapter } from "./page-adapter.ts";
import type { GameRandom } from "./random.ts";
import type { ActionSpace, ObservationSpace } from "./spaces.ts";
import type { GivenAction, ObservationValue, PerAgent } from "./values.ts";

export type { Action, GivenAction, ObservationValue, PerAgent } from "./values.ts";

/** Version of this contract, stamped on every definition. */
export const CONTRACT_VERSION = 1;

/** One part of an observation, flat, row-major; indices of `discrete` and `multiDiscrete` entries are an Int32Array. */
export type BoxView = Float32Array | Uint8Array | Int32Array;

/** Where one agent's observation lies: a flat typed array, or for a `dict` one per name. */
export type ObservationView = BoxView | Record<string, BoxView>;

/** How an option names an action: a label, an index, a number per component; of a `mixed` action an object of such. */
export type ActionName =
  | string
  | number
  | readonly number[]
  | Readonly<Record<string, string | number | readonly number[]>>;

/**
 * Buffers the game may write into instead of returning an observation; the same object in every call of one instance.
 *
 * With several agents each field holds one view per agent: `Out<Float32Array[], Uint8Array[]>`.
 */
// biome-ignore lint/suspicious/noExplicitAny: the game's own annotation decides which view it has
export interface Out<View = any, Mask = Uint8Array> {
  /** The batch's own memory: fill it and return no observation. */
  observation: View;
  /** One byte per choice, 1 = allowed; all ones at start; of a `mixed` action by the names of its parts. Null unless the definition says `actionMask: true`. */
  actionMask: Mask | null;
}

// biome-ignore lint/suspicious/noExplicitAny: as for Out
export interface StartContext<View = any, Mask = Uint8Array> {
  /** Uniform in [0, 1), with `.int(n)` and `.normal()`; the only source of chance a game may use. */
  random: GameRandom;
  /** A number for each declared parameter. The object is reused: read it in `start`, do not keep it. */
  parameters: Readonly<Record<string, number>>;
  out: Out<View, Mask>;
}

export interface StartFields {
  observation?: ObservationValue | ObservationValue[];
  /** Several agents only: who plays from the first step (default: all). The episode ends when no agent is active. */
  active?: ArrayLike<boolean>;
}

/** An observation, an object holding it, or nothing when `out.observation` was filled. */
// biome-ignore lint/suspicious/noConfusingVoidType: a start() that fills out.observation has no return type but void
export type StartResult = ObservationValue | ObservationValue[] | StartFields | undefined | void;

/** What a tick brought. The object may be reused by the game from tick to tick. */
export interface UpdateResult {
  observation?: ObservationValue | ObservationValue[];
  /** Finite; may be left out when `rewardTerms` are declared and returned. */
  reward?: PerAgent<number>;
  /** The game ended: nothing that follows is worth anything. */
  terminated?: PerAgent<boolean>;
  /** The game was stopped although it could have gone on. */
  truncated?: boolean;
  /** The beginner's word for `terminated`. */
  done?: boolean;
  /** Amounts of the declared reward terms; the weighted sum is the reward when `reward` is left out. */
  rewardTerms?: PerAgent<Readonly<Record<string, number>>>;
  /** Numbers reduced per episode as `metrics` says. */
  info?: Readonly<Record<string, number>>;
  /** Several agents only: who plays from the next step on (rule E9). */
  active?: ArrayLike<boolean>;
}

/** Work that a game does between turns of the event loop, ahead of the call that needs it. Never rejects. */
export interface GameAhead {
  /** Play what the next `start` returns. */
  start(context: StartContext): Promise<void>;
  /** Play the `update`s of a step of so many ticks; null: they need not be awaited. */
  step(action: GivenAction, ticks: number): Promise<void> | null;
  /** Optional: called at each start with the next episode's probable random numbers, so that it can be prepared. */
  expect?(random: StartContext["random"]): void;
}

/** A running copy of a game. Created once, started many times. */
export interface Game {
  // biome-ignore lint/suspicious/noExplicitAny: as for Out
  start(context: StartContext<any, any>): StartResult;
  /** Advances one tick. `deltaTime` is always `tickSeconds`; `action` is held for a whole step. */
  // biome-ignore lint/suspicious/noExplicitAny: as for Out
  update(deltaTime: number, action: never, out: Out<any, any>): UpdateResult;
  /** Optional: for watching and playing, on the page only. */
  draw?(context2d: Context2D, width: number, height: number): void;
  /** Optional: given, each `start` and each step is waited for. */
  readonly ahead?: GameAhead;
  /** Optional: called when the copy is no longer needed. */
  dispose?(): void;
}

export interface ParameterRange {
  default: number;
  low: number;
  high: number;
}

export interface RewardRange {
  low: number;
  high: number;
}

export type MetricReduction = "last" | "sum" | "mean" | "max";

/** What `defineGame` takes. */
export interface GameOptions {
  /** Letters, digits, `-`, `_` and `.`, at most 64 characters. */
  id: string;
  /** Simulated time of one `update`, in seconds. */
  tickSeconds: number;
  /** How long an action is held: a whole number of ticks (rule T1). Default: one tick. */
  secondsPerStep?: number;
  /** Time limit of an episode; reaching it truncates. Default: none. */
  maxSeconds?: number;
  /** A fixed maximum, default 1. */
  numAgents?: number;
  observation: ObservationSpace;
  action: ActionSpace;
  /** Whether the game fills `out.actionMask`. */
  actionMask?: boolean;
  /** `KeyboardEvent.code` to a label, index or value of the action space, to play by hand. */
  keys?: Record<string, ActionName>;
  /** The action while no key is held. Default: that of the last key, as in Snake. */
  idle?: ActionName;
  parameters?: Record<string, ParameterRange>;
  metrics?: Record<string, MetricReduction>;
  /** What one `update` may reward an agent with, both ends included; anything else is an error of the game. Default: any number. */
  reward?: RewardRange;
  /** Weight of each reward term. */
  rewardTerms?: Record<string, number>;
  /**
   * Observations that are the pictures of so many last steps side by side in their channels, the newest last, by name (`obs`
   * if there is but one): they take less on the way to the trainer. `definePageGame` sets it for its pixels.
   */
  pictureStacks?: Record<string, number>;
  /** How a page game is played. `definePageGame` sets it. */
  page?: PageAdapter;
  create(): Game;
}

/** A checked definition, stamped with the contract's version. */
export interface GameDefinition extends GameOptions {
  readonly contract_version: typeof CONTRACT_VERSION;
}
