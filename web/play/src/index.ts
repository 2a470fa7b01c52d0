/** `loadAgent`: the policy that `attract export` wrote plays in a page of one's own. */

export {
  type ActOptions,
  Agent,
  type AgentOptions,
  loadAgent,
  type Observation,
  type PolicyFiles,
} from "./agent.ts";
export type { Action, ActionSpace, Mask } from "./choice.ts";
export { type AgentController, controllerOf, type Seen } from "./controller.ts";
export type { PolicyDocument } from "./document.ts";
export { AgentError } from "./errors.ts";
