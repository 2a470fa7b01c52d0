/** The headline numbers, as on a scoreboard, and the smaller ones in a row below. */

import type { FleetView, RunView } from "@attract/schema";
import { Group, Text } from "@mantine/core";
import { Help } from "../components/help.tsx";
import { formatCount, formatDuration, formatNumber } from "../state/format.ts";
import { isOver, speedOf, updatesText } from "../state/run-state.ts";

export function RunStats({ run, fleet }: { run: RunView; fleet: FleetView | null }) {
  const updates = updatesText(run);
  return (
    <section className="card run-stats" aria-label="Score">
      <dl className="scores">
        <Score
          name="Return"
          value={formatNumber(run.episode_return_mean)}
          help="Sum of all rewards in an episode, averaged over the last 100 episodes."
          beside={run.goal === null ? null : `goal ${formatNumber(run.goal)}`}
        />
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
        <Score name="Time" value={formatDuration(run.elapsed_seconds)} />
      </dl>
      <Group component="dl" gap="8px 32px" mt={14} mb={0}>
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
        <Score name="Episodes" value={formatCount(run.episodes)} help="Games played to their end." />
      </Group>
      {run.evaluation !== null && (
        <Text fz={14} mt={14} c="var(--soft)">
          Evaluation of version {run.evaluation.policy_version}: {formatNumber(run.evaluation.return_mean)} ±{" "}
          {formatNumber(run.evaluation.return_std)} over {run.evaluation.episodes} episodes.
        </Text>
      )}
    </section>
  );
}

interface ScoreProps {
  name: string;
  value: string;
  help?: string;
  beside?: string | null;
}

function Score({ name, value, help, beside = null }: ScoreProps) {
  return (
    <div>
      <dt className="label">
        {name}
        {help !== undefined && <Help about={name} text={help} />}
      </dt>
      <dd data-testid={name.toLowerCase().replaceAll(" ", "-")}>
        {value}
        {beside !== null && <small>{beside}</small>}
      </dd>
    </div>
  );
}
