/** Some runs or studies, one line each: as many as fit beside other things. */

import type { RunRow } from "@attract/schema";
import { Badge, Box, Group, Paper, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { StatePill } from "../components/state-pill.tsx";
import { formatRoute, runRoute } from "../routes.ts";
import { formatAge, formatCount, formatNumber } from "../state/format.ts";

interface RowProps {
  href: string;
  name: ReactNode;
  /** After the name, in columns. */
  facts: readonly ReactNode[];
  pill: ReactNode;
}

export function Rows({ children }: { children: ReactNode }) {
  return (
    <Paper component="ul" className="rows">
      {children}
    </Paper>
  );
}

export function Row({ href, name, facts, pill }: RowProps) {
  return (
    <li>
      <a className="row" href={href}>
        <Group gap="2px 14px" px={14} py={8}>
          <Box flex="2 1 160px">{name}</Box>
          {facts.map((fact, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they stand in columns
            <Box key={at} flex="1 1 90px">
              {fact}
            </Box>
          ))}
          <Box flex="1 1 90px" ta="right">
            {pill}
          </Box>
        </Group>
      </a>
    </li>
  );
}

export function RunRows({ runs }: { runs: readonly RunRow[] }) {
  return (
    <Rows>
      {runs.map((run) => (
        <Row
          key={run.run_id}
          href={formatRoute(runRoute(run.run_id))}
          name={
            <span title={run.note || undefined}>
              <strong>
                {run.starred && "★ "}
                {run.name || run.title}
              </strong>{" "}
              {run.tags.map((tag) => (
                <Badge key={tag} variant="default" size="md" mr={4}>
                  {tag}
                </Badge>
              ))}
            </span>
          }
          facts={[
            <Text key="age" span c="dimmed">
              {formatAge(run.created, Date.now())}
            </Text>,
            `Return ${formatNumber(run.episode_return_mean)}`,
            <Text key="steps" span c="dimmed">
              {formatCount(run.agent_steps)} steps
            </Text>,
          ]}
          pill={<StatePill state={run.state} />}
        />
      ))}
    </Rows>
  );
}
