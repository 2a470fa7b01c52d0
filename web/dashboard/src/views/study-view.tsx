/** One study: what it has come to, its front, its trials, and the winner's file. */

import type { StudyView as Study } from "@attract/schema";
import { Anchor, Group, Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { CopyText } from "../components/copy-text.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { formatRoute, runsRoute } from "../routes.ts";
import { formatCount, formatDuration, formatNumber } from "../state/format.ts";
import { confirmationText, outcomeText, pointsOf } from "../state/study.ts";
import { FrontChart } from "./front-chart.tsx";
import { StudyPill } from "./study-pill.tsx";
import { TrialsTable } from "./trials-table.tsx";

const RELOAD_MS = 2000;

export function StudyView({ name }: { name: string }) {
  const {
    data: study = null,
    error,
    refetch,
  } = useQuery(polled(["study", name], () => api.study(name), RELOAD_MS));
  const { data: runs = NONE } = useQuery(polled(["trials", name], () => trialRuns(name), RELOAD_MS));
  return (
    <main id="content">
      <p className="back">
        <Anchor href={formatRoute({ view: "tuning" })}>All studies</Anchor>
      </p>
      <Group className="study-head" gap={14}>
        <h1>{name}</h1>
        {study !== null && <StudyPill state={study.state} />}
      </Group>
      {error !== null && <ErrorNotice error={error} onRetry={refetch} />}
      {study === null && error === null && <Loader aria-label="Loading the study" />}
      {study !== null && <Parts study={study} runs={runs} />}
    </main>
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
      {study.error !== null && <p className="reports">{study.error}</p>}
      <section className="section card" aria-labelledby="front-title">
        <h2 id="front-title">Score against seconds</h2>
        <p className="soft">On the line no other trial scores as high in fewer seconds.</p>
        <FrontChart points={pointsOf(study.trials)} winner={study.winner} />
      </section>
      {study.confirmations.length > 0 && (
        <section className="section card" aria-labelledby="confirmed-title">
          <h2 id="confirmed-title">On fresh seeds</h2>
          <ul className="confirmed">
            {study.confirmations.map((row) => (
              <li key={row.trial}>{confirmationText(row)}</li>
            ))}
          </ul>
        </section>
      )}
      {study.winner_yaml !== null && <Winner yaml={study.winner_yaml} file={study.file} />}
      <section className="section card" aria-labelledby="trials-title">
        <h2 id="trials-title">Trials</h2>
        <p className="soft">What differs from the defaults is underlined.</p>
        {runs.size > 0 && (
          <p>
            <Anchor href={formatRoute(runsRoute(search.toString()))}>Charts of the trials</Anchor>
          </p>
        )}
        <TrialsTable trials={study.trials} winner={study.winner} runs={runs} />
      </section>
      {study.command !== "" && study.state !== "finished" && (
        <section className="section card" aria-labelledby="command-title">
          <h2 id="command-title">Continue this study</h2>
          <pre className="command">{study.command}</pre>
          <CopyText text={study.command} name="command" />
        </section>
      )}
    </>
  );
}

function Winner({ yaml, file }: { yaml: string; file: string | null }) {
  return (
    <section className="section card" aria-labelledby="winner-title">
      <h2 id="winner-title">The winner's settings</h2>
      {file !== null && (
        <p className="soft">
          They are in <code>{file}</code>. Beside the game, as <code>GAME.train.yaml</code>, every training
          has them; anywhere else, <code>--config</code> names the file.
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <pre className="command" tabIndex={0}>
        {yaml}
      </pre>
      <CopyText text={yaml} name="settings" />
    </section>
  );
}
