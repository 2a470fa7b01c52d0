/** What `policy.json` says, as far as playing needs it. */

import type { ActionSpace } from "./choice.ts";
import { AgentError } from "./errors.ts";

/** One input of the model: an entry of the observation, or with no key something beside it. */
export interface InputDescription {
  key?: string;
  shape: (string | number)[];
  /** Whether it takes a row for each thing of a set, with a 1 after its numbers. */
  set?: boolean;
}

interface Model {
  inputs: Record<string, InputDescription>;
}

/** The document of one policy, or of several policies that play one game. */
export interface PolicyDocument {
  format: string;
  format_version: number;
  policy_version: number;
  game: {
    id: string;
    action: ActionSpace;
    action_mask: boolean;
    num_agents: number;
    ticks_per_step: number;
    seconds_per_step: number;
  };
  inputs?: Record<string, InputDescription>;
  /** Which policy plays each agent; with `policies` alone. */
  seats?: string[];
  policies?: Record<string, Model & { file: string }>;
  /** Versions from easy to hard, of `attract export --levels`. */
  levels?: { level: number; file: string; policy_version: number; wins_below: number | null }[];
  /** Number of files (`NAME.1`, `NAME.2`, ...) of each split model, by model name. */
  parts?: Record<string, number>;
}

/** One policy of a document: its file, and what its model takes. */
export interface ChosenPolicy {
  readonly file: string;
  readonly model: Model;
  readonly policyVersion: number;
}

const FORMAT = "attract-policy";
/** 2: of a game with a mask, which is an input of the model. */
const FORMAT_VERSIONS: readonly number[] = [1, 2];

/**
 * The policy of that name; without a name the only one, at that level from easy to hard, or the best.
 *
 * @throws AgentError when the document is no `policy.json` of a known version, or has no such policy or level.
 */
export function choosePolicy(
  document: PolicyDocument,
  name: string | undefined,
  level?: number,
): ChosenPolicy {
  if (document?.format !== FORMAT || !FORMAT_VERSIONS.includes(document.format_version)) {
    const got = `${document?.format} ${document?.format_version}`;
    throw new AgentError(`expected a policy.json of ${FORMAT} ${FORMAT_VERSIONS.join(" or ")}, got ${got}`);
  }
  const { policies, inputs, levels = [] } = document;
  if (policies === undefined) {
    if (name !== undefined) throw new AgentError(`there is one policy, which has no name: got ${name}`);
    if (inputs === undefined) throw new AgentError("policy.json has no inputs: export the policy again");
    const model = { ...document, inputs };
    if (level === undefined) return { file: "policy.onnx", model, policyVersion: document.policy_version };
    const chosen = levels.find((one) => one.level === level);
    if (chosen === undefined) throw new AgentError(`there is no level ${level}: ${levelsOf(levels.length)}`);
    return { file: chosen.file, model, policyVersion: chosen.policy_version };
  }
  if (level !== undefined) throw new AgentError("levels are of one policy, and there are several");
  const names = Object.keys(policies);
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  if (chosen === undefined || !Object.hasOwn(policies, chosen)) {
    const wanted = name === undefined ? "say which one plays" : `there is no policy ${name}`;
    throw new AgentError(`${wanted}: { policy: ${names.map((one) => JSON.stringify(one)).join(" or ")} }`);
  }
  const { file } = policies[chosen];
  return { file, model: policies[chosen], policyVersion: document.policy_version };
}

function levelsOf(count: number): string {
  return count === 0 ? "attract export --levels 3 writes some" : `they are 1 to ${count}`;
}
