/** What the page of a finished run says about the agent in one's own game. */

import type { RunView } from "@attract/schema";
import { formatDuration } from "./format.ts";
import { policyIdsOf, seatsOf } from "./seats.ts";

/** Where the files are to lie, seen from the page of the game. */
export const FOLDER = "policy";

/** What came of it, in one line. */
export function resultOf(
  run: Pick<RunView, "state" | "goal" | "episode_return_mean" | "agent_steps" | "elapsed_seconds">,
): string {
  const effort = `${run.agent_steps.toLocaleString("en")} steps in ${formatDuration(run.elapsed_seconds)}`;
  const mean = run.episode_return_mean;
  if (mean === null) return effort;
  const isSolved = run.state === "finished" && run.goal !== null && mean >= run.goal;
  return `${isSolved ? "Solved: mean" : "Mean"} return ${mean.toFixed(1)} over the last 100 episodes, ${effort}`;
}

/** What writes the page that a game lives in, with the agent in it; null for a game that is played by `update`. */
export function commandOf(run: Pick<RunView, "run_id" | "description">): string | null {
  return run.description?.page ? `attract export ${run.run_id} --out site --page` : null;
}

/** What a page has to do, to be pasted. */
export function snippetOf(run: Pick<RunView, "settings" | "description">): string {
  const [first] = policyIdsOf(seatsOf(run));
  const which = first === null ? "" : `, { policy: "${first}" }`;
  const mask = run.description?.action_mask ? ", () => mask" : "";
  return [
    `import { loadAgent } from "./${FOLDER}/agent.js";`,
    `const agent = await loadAgent("./${FOLDER}/"${which});`,
    `game.update(deltaTime, agent.tick(() => observation${mask}));`,
  ].join("\n");
}
