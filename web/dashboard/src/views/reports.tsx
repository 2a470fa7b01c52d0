/** What broke in the game, in the words of the game, and what a person should know of its visitors. */

import type { GameReport, RunView } from "@attract/schema";
import { Anchor, Button, Code, Group, Paper, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { CopyText } from "../components/copy-text.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { Sentence } from "../components/sentence.tsx";
import { ServerButton } from "../components/server-button.tsx";
import { useAnnounce } from "../hooks/use-announce.ts";
import { episodeRoute, formatRoute } from "../routes.ts";
import { firstSeenText, isNotice, issueText, whereText } from "../state/faults.ts";
import { plural } from "../state/format.ts";
import { withoutRules, wordsOf } from "../state/report-text.ts";
import { isOver, reportKey } from "../state/run-state.ts";

const TITLES: Readonly<Record<string, string>> = {
  load: "The game could not be loaded",
  throw: "The game threw an error",
  hang: "The game stopped answering",
  shape: "The game returned the wrong shape",
  nan: "The game returned a number that is not finite",
  invalid: "The game returned something unusable",
  crash: "The worker crashed",
  policy: "A worker cannot run the policy",
  update: "An update was undone",
  verification: "Results were discarded",
  check: "Found by a check of the game",
  audit: "Verification of visitors",
  bounds: "Verification of visitors",
  quarantine: "A browser was banned",
  conduct: "Bans and pauses",
  strangers: "Only visitors are connected",
  federated: "Averaging with other trainers",
};

/** How much of a failed episode is seen before its end, in game time. */
const LEAD_SECONDS = 2;

interface ReportsProps {
  reports: readonly GameReport[];
  run: RunView;
  onChange: (run: RunView) => void;
}

export function Reports({ reports, run, onChange }: ReportsProps) {
  const newest = reports.filter(isNotice).at(-1);
  useAnnounce(newest === undefined ? null : titleOf(newest));
  if (reports.length === 0) return null;
  const faults = reports.filter((report) => !isNotice(report));
  return (
    <Stack component="section" aria-label="Reports" id="reports" gap={10}>
      {faults.map((report, index) => (
        <FaultCard key={reportKey(report)} report={report} run={run} isFirst={index === 0} />
      ))}
      {reports.filter(isNotice).map((report) => (
        <Part key={reportKey(report)} title={titleOf(report)}>
          <Text>
            <Sentence text={withoutRules(report.text)} />
            {report.place !== null && <span className="soft"> {report.place}</span>}
          </Text>
          {report.fix !== null && (
            <Text>
              <Sentence text={report.fix} />
            </Text>
          )}
          {typeof report.rollback_to === "number" && (
            <RollBack run={run} version={report.rollback_to} onChange={onChange} />
          )}
        </Part>
      ))}
    </Stack>
  );
}

/** The newest fault in one line, where its card is further down. */
export function FaultStrip({ reports }: { reports: readonly GameReport[] }) {
  const [fault, ...others] = reports.filter((report) => !isNotice(report));
  if (fault === undefined) return null;
  const where = whereText(fault);
  return (
    <Paper radius="md" px={14} py={8} className="edge" data-tone="bad" data-testid="fault-strip">
      <Group gap="4px 14px">
        <strong>{titleOf(fault)}</strong>
        {where !== "" && <span>{where}</span>}
        {others.length > 0 && <span>{plural(others.length, "other fault")}</span>}
        <Anchor component="button" type="button" ml="auto" onClick={showReports}>
          Show it
        </Anchor>
      </Group>
    </Paper>
  );
}

function showReports(): void {
  document.getElementById("reports")?.scrollIntoView({ block: "start" });
}

/** One fault, however often it came. Only the first is an alert, and its count is no part of that. */
function FaultCard({ report, run, isFirst }: { report: GameReport; run: RunView; isFirst: boolean }) {
  const where = whereText(report);
  const firstSeen = firstSeenText(report);
  return (
    <Part title={titleOf(report)} className="edge" data-tone="bad" data-testid="fault">
      <Text fw={700} role={isFirst ? "alert" : undefined}>
        {wordsOf(report)}
      </Text>
      {where !== "" && <Text data-testid="fault-place">{where}</Text>}
      {run.error !== null && run.state === "failed" && report.run_error === run.error && (
        <Text>It ended the run.</Text>
      )}
      {report.worker_lost && <Text>A worker ended because of it and is not started again.</Text>}
      {firstSeen !== "" && <Text c="dimmed">First seen: {firstSeen}</Text>}
      {report.step_values !== null && <Text c="dimmed">{report.step_values}</Text>}
      {report.fix !== null && <Text>{report.fix}</Text>}
      {report.stack !== null ? (
        <Code block mah={280} mt={8}>
          {report.stack}
        </Code>
      ) : (
        report.kind !== "check" && (
          <Text c="dimmed">{report.kind === "hang" ? "A hang has no stack." : "No stack came with it."}</Text>
        )
      )}
      <Group gap={8} mt={10}>
        {report.episode_id !== null && (
          <Button
            size="xs"
            variant="default"
            component="a"
            href={formatRoute(episodeRoute(run.run_id, report.episode_id, -LEAD_SECONDS))}
          >
            Watch it fail
          </Button>
        )}
        {report.place !== null && <CopyText text={report.place} name={report.place} />}
        <CopyText text={issueText(report, run)} name="for an issue" />
      </Group>
    </Part>
  );
}

/** Back to the version before a guest's first share; only a run that is over can go back. */
function RollBack({
  run,
  version,
  onChange,
}: {
  run: RunView;
  version: number;
  onChange: ReportsProps["onChange"];
}) {
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () => api.rollBack(run.run_id, version),
    onSuccess: onChange,
  });
  useAnnounce(isSuccess ? `The run is back at version ${version} or the nearest one kept` : null);
  if (isSuccess) {
    return (
      <Text>
        The run is back at version {version} or the nearest one kept; what it exported was set aside. It shows
        the numbers from before until you continue it: <br />
        <code>attract train --resume --run-id {run.run_id}</code>
      </Text>
    );
  }
  return (
    <>
      <ServerButton
        variant="default"
        loading={isPending}
        disabled={!isOver(run.state)}
        onClick={() => mutate()}
      >
        Go back to version {version}
      </ServerButton>
      {!isOver(run.state) && <Text c="dimmed">Stop the run first.</Text>}
      <ErrorNotice error={error} />
    </>
  );
}

function titleOf(report: GameReport): string {
  if (report.severity === "warning") return "Advice from a check of the game";
  return TITLES[report.kind] ?? "The game broke";
}
