/** One study: what it has come to, its front, its trials, and the winner's file. */

import type { StudyView as Study } from "@attract/schema";
import { Anchor, Code, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { CopyText } from "../components/copy-text.tsx";
import { Page } from "../components/page.tsx";
import { Part } from "../components/part.tsx";
import { StudyPill } from "../components/state-pill.tsx";
import { formatRoute, runsRoute } from "../routes.ts";
import { formatCount, formatDuration, formatNumber } from "../state/format.ts";
import { confirmationText, outcomeText, pointsOf } from "../state/study.ts";
import { FrontChart } from "./front-chart.tsx";
import { TrialsTable } from "./trials-table.tsx";

const RELOAD_MS = 2000;

export function StudyView({ name }: { name: string }) {
  const query = useQuery(polled(["study", name], () => api.study(name), RELOAD_MS));
  const { data: study } = query;
  const { data: runs = NONE } = useQuery(polled(["trials", name], () => trialRuns(name), RELOAD_MS));
  return (
    <Page
      back={{ text: "All studies", href: formatRoute({ view: "tuning" }) }}
      title={name}
      beside={study !== undefined && <StudyPill state={study.state} />}
      query={query}
    >
      {study !== undefined && <Parts study={study} runs={runs} />}
    </Page>
  );
}

const NONE: ReadonlyMap<number, string> = new Map();

/** The runs of trials by number; one that was trained again has the newest. */
async function trialRuns(study: string): Promise<ReadonlyMap<number, string>> {
  const { runs } = await api.runList({ q: trialsOf(study), sort: "created", limit: 1000 });
  return new Map(runs.map(({ name, run_id }) => [Number(/^trial-(\d+)-/.exec(name)?.[1]), run_id]));
}

/** The search that finds the runs of a study's trials. */
function trialsOf(study: string): string {
  return `is:all tag:${study.slice(0, 40)}`;
}

function Parts({ study, runs }: { study: Study; runs: ReadonlyMap<number, string> }) {
  const front = study.trials.flatMap(({ number, on_front }) => (on_front ? (runs.get(number) ?? []) : []));
  const search = new URLSearchParams({ q: trialsOf(study.study), ticked: front.join(",") });
  return (
    <>
      <p className="lede">
        {outcomeText(study)} Trials of {formatCount(study.total_steps)} steps
        {study.goal !== null && `, up to a return of ${formatNumber(study.goal)}`}; {study.parallel} at once;{" "}
        {formatDuration(study.elapsed_seconds)} so far.
      </p>
      {study.error !== null && <Text mb={20}>{study.error}</Text>}
      <Part title="Score against seconds">
        <p className="soft">On the line no other trial scores as high in fewer seconds.</p>
        <FrontChart points={pointsOf(study.trials)} winner={study.winner} />
      </Part>
      {study.confirmations.length > 0 && (
        <Part mt={20} title="On fresh seeds">
          <ul>
            {study.confirmations.map((row) => (
              <li key={row.trial}>{confirmationText(row)}</li>
            ))}
          </ul>
        </Part>
      )}
      {study.winner_yaml !== null && <Winner yaml={study.winner_yaml} file={study.file} />}
      <Part mt={20} title="Trials">
        <p className="soft">What differs from the defaults is underlined.</p>
        {runs.size > 0 && (
          <p>
            <Anchor href={formatRoute(runsRoute(search.toString()))}>Charts of the trials</Anchor>
          </p>
        )}
        <TrialsTable trials={study.trials} winner={study.winner} runs={runs} />
      </Part>
      {study.command !== "" && study.state !== "finished" && (
        <Part mt={20} title="Continue this study">
          <Code block mb={12}>
            {study.command}
          </Code>
          <CopyText text={study.command} name="command" />
        </Part>
      )}
    </>
  );
}

function Winner({ yaml, file }: { yaml: string; file: string | null }) {
  return (
    <Part mt={20} title="The winner's settings">
      {file !== null && (
        <p className="soft">
          They are in <code>{file}</code>. Beside the game, as <code>GAME.train.yaml</code>, every training
          has them; anywhere else, <code>--config</code> names the file.
        </p>
      )}
      <Code block my={12} tabIndex={0}>
        {yaml}
      </Code>
      <CopyText text={yaml} name="settings" />
    </Part>
  );
}
