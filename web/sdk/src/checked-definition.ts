/** The numbers of a definition that stepping needs, checked and derived once. */

import type { GameDefinition, RewardRange } from "./contract.ts";
import { checkDefinition, maxSteps, ticksPerStep } from "./define-game.ts";
import { maskGroups } from "./spaces.ts";

export interface CheckedDefinition {
  readonly definition: GameDefinition;
  readonly tickSeconds: number;
  readonly ticksPerStep: number;
  /** Infinity without a time limit. */
  readonly maxSteps: number;
  readonly numAgents: number;
  readonly hasTerms: boolean;
  readonly hasMetrics: boolean;
  /** Null where the game declares none. */
  readonly rewardRange: RewardRange | null;
  /** Choices per independent component of the action mask. */
  readonly maskGroups: readonly number[];
}

/** Raises ConfigurationError. */
export function checkedDefinition(definition: GameDefinition): CheckedDefinition {
  checkDefinition(definition);
  const { action, tickSeconds } = definition;
  return {
    definition,
    tickSeconds,
    ticksPerStep: ticksPerStep(tickSeconds, definition.secondsPerStep ?? tickSeconds),
    maxSteps: maxSteps(definition) ?? Number.POSITIVE_INFINITY,
    numAgents: definition.numAgents ?? 1,
    hasTerms: Object.keys(definition.rewardTerms ?? {}).length > 0,
    hasMetrics: Object.keys(definition.metrics ?? {}).length > 0,
    rewardRange: definition.reward ?? null,
    maskGroups: maskGroups(action),
  };
}
