/** The headline numbers, as on a scoreboard, and the smaller ones in a row below. */

import type { FleetView, RunView } from "@attract/schema";
import { Group, Paper, SimpleGrid, Text } from "@mantine/core";
import { Help } from "../components/help.tsx";
import { formatCount, formatDuration, formatNumber } from "../state/format.ts";
import { isOver, speedOf, updatesText } from "../state/run-state.ts";

export function RunStats({ run, fleet }: { run: RunView; fleet: FleetView | null }) {
  const updates = updatesText(run);
  return (
    <Paper component="section" p="lg" aria-label="Score">
      <SimpleGrid component="dl" cols={{ base: 2, xs: 4 }} spacing={20} m={0}>
        <Score
          isLarge
          name="Return"
          value={formatNumber(run.episode_return_mean)}
          help="Sum of all rewards in an episode, averaged over the last 100 episodes."
          beside={run.goal === null ? null : `goal ${formatNumber(run.goal)}`}
        />
        <Score
          isLarge
          name="Steps"
          value={formatCount(run.agent_steps)}
          help="Decisions the learner has learned from, of all games together."
        />
        <Score
          isLarge
          name="Steps per second"
          value={formatCount(speedOf(run, fleet))}
          help={
            isOver(run.state)
              ? "On average over the whole run."
              : "Of all workers together, over the last few seconds."
          }
        />
        <Score isLarge name="Time" value={formatDuration(run.elapsed_seconds)} />
      </SimpleGrid>
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
        <Text fz={14} mt={14} c="dimmed">
          Evaluation of version {run.evaluation.policy_version}: {formatNumber(run.evaluation.return_mean)} ±{" "}
          {formatNumber(run.evaluation.return_std)} over {run.evaluation.episodes} episodes.
        </Text>
      )}
    </Paper>
  );
}

interface ScoreProps {
  name: string;
  value: string;
  help?: string;
  beside?: string | null;
  isLarge?: boolean;
}

function Score({ name, value, help, beside = null, isLarge = false }: ScoreProps) {
  return (
    <div>
      <dt className="label">
        {name}
        {help !== undefined && <Help about={name} text={help} />}
      </dt>
      <Text
        component="dd"
        m="2px 0 0"
        ff="monospace"
        fz={isLarge ? "clamp(24px, 3vw, 36px)" : 17}
        fw={600}
        lh={1.2}
        data-testid={name.toLowerCase().replaceAll(" ", "-")}
      >
        {value}
        {beside !== null && (
          <Text span ml={8} fz={14} c="dimmed">
            {beside}
          </Text>
        )}
      </Text>
    </div>
  );
}
