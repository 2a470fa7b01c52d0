/** What a game imports from `attract`. */

export type { Context2D } from "./context-2d.ts";
export type {
  Action,
  Game,
  GameDefinition,
  GameOptions,
  MetricReduction,
  ObservationView,
  Out,
  ParameterRange,
  StartContext,
  StartResult,
  UpdateResult,
} from "./contract.ts";
export { CONTRACT_VERSION } from "./contract.ts";
export { defineGame } from "./define-game.ts";
export { describe, type GameDescription } from "./description.ts";
export { ConfigurationError, GameError, type GameErrorReport } from "./errors.ts";
export type { GameRandom } from "./random.ts";
export {
  type ActionSpace,
  type BoxSpace,
  box,
  type DictSpace,
  type DiscreteSpace,
  dict,
  discrete,
  type MixedSpace,
  type MultiBinarySpace,
  type MultiDiscreteSpace,
  mixed,
  multiBinary,
  multiDiscrete,
  type NamedAction,
  type ObservationSpace,
  type SetSpace,
  type Space,
  set,
} from "./spaces.ts";
