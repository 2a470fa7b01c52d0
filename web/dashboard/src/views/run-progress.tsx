/** How far the run is: a bar with what it measures, and the time left where that is known. */

import type { RunView } from "@attract/schema";
import { Progress } from "@mantine/core";
import { progressText, timeLeftText } from "../state/run-state.ts";

/** Nothing where there is nothing to reach. */
export function RunProgress({ run }: { run: RunView }) {
  const [share, text] = [run.progress_share, progressText(run)];
  if (text === null) return null;
  const left = timeLeftText(run);
  return (
    <div className="run-progress" data-testid="progress">
      <span>
        {text}
        {left !== null && <span className="soft">, {left}</span>}
      </span>
      {share !== null && <Progress value={share * 100} size="sm" aria-label={`Progress: ${text}`} />}
    </div>
  );
}
