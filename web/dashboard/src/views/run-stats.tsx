/** The headline numbers, as on a scoreboard. */

import type { FleetView, RunView } from "@attract/schema";
import { Progress } from "@mantine/core";
import { Help } from "../components/help.tsx";
import { formatCount, formatDuration, formatNumber } from "../state/format.ts";
import { isOver, progressOf, speedOf, updatesText } from "../state/run-state.ts";

export function RunStats({ run, fleet }: { run: RunView; fleet: FleetView | null }) {
  const progress = progressOf(run);
  const updates = updatesText(run);
  return (
    <section className="card" aria-label="Score">
      <dl className="scores">
        <div className="wide">
          <dt className="label">
            Return
            <Help
              about="return"
              text="Sum of all rewards in an episode, averaged over the last 100 episodes."
            />
          </dt>
          <dd data-testid="return">
            {formatNumber(run.episode_return_mean)}
            {run.goal !== null && <small>goal {formatNumber(run.goal)}</small>}
            {progress !== null && (
              <Progress
                value={progress * 100}
                mt={10}
                size="sm"
                aria-label={run.goal !== null ? "Progress to the goal" : "Progress to the last step"}
              />
            )}
          </dd>
        </div>
        <Score
          name="Steps"
          value={formatCount(run.agent_steps)}
          help="Decisions the learner has learned from, of all games together."
        />
        <Score
          name="Steps per second"
          value={formatCount(speedOf(run, fleet))}
          help={
            isOver(run.state)
              ? "On average over the whole run."
              : "Of all workers together, over the last few seconds."
          }
        />
        <Score name="Episodes" value={formatCount(run.episodes)} help="Games played to their end." />
        <Score name="Time" value={formatDuration(run.elapsed_seconds)} />
        <Score
          name="Version"
          value={String(run.policy_version)}
          help="The policy gets a new version after each update; workers always play the newest."
        />
        {updates !== null && (
          <Score
            name="Updates"
            value={updates}
            help="Updates so far. An update that is undone gives no version."
          />
        )}
      </dl>
      {run.evaluation !== null && (
        <p className="soft evaluation">
          Evaluation of version {run.evaluation.policy_version}: {formatNumber(run.evaluation.return_mean)} ±{" "}
          {formatNumber(run.evaluation.return_std)} over {run.evaluation.episodes} episodes.
        </p>
      )}
    </section>
  );
}

function Score({ name, value, help }: { name: string; value: string; help?: string }) {
  return (
    <div>
      <dt className="label">
        {name}
        {help !== undefined && <Help about={name} text={help} />}
      </dt>
      <dd data-testid={name.toLowerCase().replaceAll(" ", "-")}>{value}</dd>
    </div>
  );
}
