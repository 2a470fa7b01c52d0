/** The current run: its game, return, time left and one finding. */

import { Anchor, Box, Flex, Group, Loader, Paper, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { api, fetchModel, policyPath } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { ReturnCurve } from "../components/return-curve.tsx";
import { StatePill } from "../components/state-pill.tsx";
import { useRunRow } from "../hooks/use-run-row.ts";
import { formatRoute, runRoute } from "../routes.ts";
import { titleOfFinding } from "../state/finding-text.ts";
import { formatCount, formatNumber } from "../state/format.ts";
import { lookOf, timeLeftText } from "../state/run-state.ts";
import { policyIdsOf, seatsOf } from "../state/seats.ts";
import { RETURN } from "../state/series.ts";
import { GamePreview } from "./game-preview.tsx";

const RUN_MS = 2000;
const RETURNS_MS = 5000;
const CURVE_POINTS = 60;

export function NowCard({ runId }: { runId: string }) {
  const { data: run, error } = useQuery(polled(["run", runId], () => api.run(runId), RUN_MS));
  const [row] = useRunRow(runId);
  const { data: metrics } = useQuery(
    polled(["returns", runId], () => api.metrics(runId, CURVE_POINTS, { names: [RETURN] }), RETURNS_MS),
  );
  const newest = useCallback(async () => (await fetchModel(policyPath(runId, "latest"))).onnx, [runId]);
  if (run === undefined)
    return (
      <>
        <h1>{row?.name || runId}</h1>
        {error === null ? <Loader aria-label="Loading the run" /> : <ErrorNotice error={error} />}
      </>
    );
  const { game_reference: reference } = run;
  const link = formatRoute(runRoute(runId));
  const isSole = policyIdsOf(seatsOf(run)).length === 1;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const progress = run.progress_share;
  const finding = run.findings[0];
  const facts = [
    `Return ${formatNumber(run.episode_return_mean)}${run.goal === null ? "" : ` of ${formatNumber(run.goal)}`}`,
    `${formatCount(run.agent_steps)} steps`,
    timeLeftText(run),
  ].filter((fact) => fact !== null);
  return (
    <>
      <h1>
        {row?.name || run.title} is {lookOf(run.state)[0].toLowerCase()}
      </h1>
      <Paper component="section" p="lg" mt={14} aria-label="The run that goes on now" data-testid="now">
        <Flex direction={{ base: "column", xs: "row" }} gap={20}>
          {reference !== null && !reference.has_page && run.newest_model !== null && isSole && (
            <Box w={{ base: "100%", xs: 240 }}>
              <GamePreview reference={reference} policy={isStill ? null : newest} isNeeded={false} />
            </Box>
          )}
          <Stack gap={10} flex={{ base: "none", xs: "1 1 240px" }} miw={0}>
            <Group justify="space-between" gap="8px 14px">
              <StatePill state={run.state} />
              <Anchor href={link}>Open the run</Anchor>
            </Group>
            <span className="mono">{facts.join(" · ")}</span>
            <ReturnCurve curves={[metrics?.series[0]?.values ?? []]} />
            {progress !== null && (
              <Progress
                value={progress * 100}
                size="sm"
                aria-label={run.goal === null ? "Progress to the last step" : "Progress to the goal"}
              />
            )}
            {run.error !== null ? (
              <Text c="var(--bad)">{run.error}</Text>
            ) : (
              finding !== undefined && (
                <span>
                  {titleOfFinding(finding)}. <Anchor href={link}>What to try</Anchor>
                </span>
              )
            )}
          </Stack>
        </Flex>
      </Paper>
    </>
  );
}
