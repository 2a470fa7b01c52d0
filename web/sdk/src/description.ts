/** `describe`: a definition as the plain JSON that server, learner and dashboard work from. */

import {
  CONTRACT_VERSION,
  type Game,
  type GameDefinition,
  type MetricReduction,
  type ParameterRange,
  type RewardRange,
} from "./contract.ts";
import { checkDefinition, maxSteps, resolveAction, ticksPerStep } from "./define-game.ts";
import { GameError, show, thrownByGame } from "./errors.ts";
import { pictureStacks } from "./picture-stacks.ts";
import type { ActionSpace, ObservationSpace } from "./spaces.ts";

export interface GameDescription {
  contract_version: typeof CONTRACT_VERSION;
  id: string;
  tick_seconds: number;
  seconds_per_step: number;
  ticks_per_step: number;
  max_seconds: number | null;
  max_steps: number | null;
  num_agents: number;
  observation: ObservationSpace;
  action: ActionSpace;
  action_mask: boolean;
  /** `KeyboardEvent.code` to an index or to one number per component. */
  keys: Record<string, number | number[]>;
  /** Null when the game names none: then the last key's action continues, as in Snake. */
  idle_action: number | number[] | null;
  parameters: Record<string, ParameterRange>;
  metrics: Record<string, MetricReduction>;
  reward_terms: Record<string, number>;
  /** Reward range of one update; null when the game declares none. */
  reward: RewardRange | null;
  has_draw: boolean;
  /** The page that the game lives in, below its adapter's folder; null of one that needs none. */
  page: string | null;
  /** How many pictures each observation has that is a stack of them, by its name. */
  picture_stacks: Record<string, number>;
}

/**
 * The description of `definition`. Creates one game to see whether it draws.
 *
 * Raises ConfigurationError if the definition cannot work, GameError if `create` throws or returns no game.
 */
export function describe(definition: GameDefinition): GameDescription {
  checkDefinition(definition);
  const secondsPerStep = definition.secondsPerStep ?? definition.tickSeconds;
  const { action } = definition;
  const keys: Record<string, number | number[]> = {};
  for (const [code, value] of Object.entries(definition.keys ?? {}))
    keys[code] = resolveAction(`keys.${code}`, action, value, definition.idle);
  return {
    contract_version: CONTRACT_VERSION,
    id: definition.id,
    tick_seconds: definition.tickSeconds,
    seconds_per_step: secondsPerStep,
    ticks_per_step: ticksPerStep(definition.tickSeconds, secondsPerStep),
    max_seconds: definition.maxSeconds ?? null,
    max_steps: maxSteps(definition),
    num_agents: definition.numAgents ?? 1,
    observation: definition.observation,
    action,
    action_mask: definition.actionMask ?? false,
    keys,
    idle_action: definition.idle === undefined ? null : resolveAction("idle", action, definition.idle),
    parameters: { ...definition.parameters },
    metrics: { ...definition.metrics },
    reward_terms: { ...definition.rewardTerms },
    reward: definition.reward === undefined ? null : { ...definition.reward },
    has_draw: definition.page !== undefined || typeof createGame(definition).draw === "function",
    page: definition.page?.page ?? null,
    picture_stacks: pictureStacks(definition),
  };
}

/** A new game of `definition`. Raises GameError if `create` throws or what it returns lacks `start` or `update`. */
export function createGame(definition: GameDefinition): Game {
  let game: unknown;
  try {
    game = definition.create();
  } catch (thrown) {
    throw thrownByGame("create", thrown);
  }
  for (const method of ["start", "update"] as const) {
    if (typeof (game as Game | undefined)?.[method] !== "function") {
      const text = `create() must return an object with start() and update(); ${method} is missing in ${show(game)}`;
      throw new GameError("missing", "create", method, text);
    }
  }
  return game as Game;
}
