/** Who plays whom in a run: the policy of each agent. */

import type { RunView } from "@attract/schema";

/** Id of the policy that plays each agent of a run's game; empty: one plays them all. */
export function seatsOf(run: Pick<RunView, "settings">): string[] {
  const collection = run.settings.collection as { seats?: string[] } | undefined;
  return collection?.seats ?? [];
}

/** Each policy once, as the server is asked for it: by its id, or null for a sole one. */
export function policyIdsOf(seats: readonly string[]): (string | null)[] {
  const names = [...new Set(seats)];
  return names.length > 1 ? names : [null];
}

/** What a policy's model is called in an export, so that its `policy.json` finds it. */
export function modelFileOf(policyId: string | null): string {
  return `${policyId ?? "policy"}.onnx`;
}
